/// Keys made with the openssl command for these tests; they protect nothing.
enum KeySamples {
  static let sec1 = """
    -----BEGIN EC PRIVATE KEY-----
    MHcCAQEEIC/1v1yR+LeIRb9ElaiLSeJqeGP4dSj4PKlOPCdBgif/oAoGCCqGSM49
    AwEHoUQDQgAE5ZN1wBNXyUpWNCK/hR7IPtrhphNNbQFDe7+NQQ0pzQTfSx8ipRpK
    LiquebnpKqyZ76vNOi3qzswKkgQ6hdtY8w==
    -----END EC PRIVATE KEY-----
    """

  static let rsa = """
    -----BEGIN PRIVATE KEY-----
    MIICdgIBADANBgkqhkiG9w0BAQEFAASCAmAwggJcAgEAAoGBAMTaQGh3KA58dFad
    08KmbnO/wXPd66YsJCWCPoBBG2+6eiP9Y0dJar9OmNb28mB3Ap2fl9WIRLz92g2/
    GUq6e2YrGc/20FaIJC/NfKY6sIbOyMxuUJBkb1ZBUyQhnBuFnLxr1fmm9ogI2t36
    JhK0kr2n9xqpMYc4qwdkuV6CUd9jAgMBAAECgYAVz0yFhnYkrLtDAXd9wGzKXDt1
    t+es4IUctsJv+Uat6U4xAJjoRAUUrwOWBYQzFdxvVEhBOzjKa6GmFj8aHXEgXbhG
    jEcvIHqb4vF0FTsbWiNcuqdZ3oyK7drSis5GHpS9aEFNE5M4mgBPt28jjvEE19oq
    fGSsgXyvc81E8zMcAQJBAPeoHjySCfCz+5kwnkdbZ8kP34s4cOh9rOdi5uDTtThG
    A9+BBUP9+tpawZ5zm5K5HWoV88nJS8Zaq34P/QRBzWMCQQDLe/rUqQHk6CuMAQnv
    n7RBhy6/DxQrlD/QROmH+Q6EhUus2VUZu1/nbPnr1Q128JXzhcERAgayVWchetm8
    rUYBAkAT/3NRmMlMsnvihtaBFJRw2+NFLq2PWHaZyJa0GORNQvoVFioCr4OOFj4E
    OXmag3AonNUuuh5wSeoHJ+taaKXZAkEAsktf7RZpYnlMLtB6NExrVT9t5lsAAW9U
    utinB01jOxrQxBNqTbGwxsbl9Y4ozh7gRRDdqllsJLZQNzW9s2TgAQJAMSIFKcnw
    5VXh2UTpdA39E9oS0Yssa7+Or6ntYAuYB+vEaC4tFO09kBQhuUKbW24RhXW2JkVE
    350rgD5qgMEhTw==
    -----END PRIVATE KEY-----
    """

  static let p384 = """
    -----BEGIN PRIVATE KEY-----
    MIG2AgEAMBAGByqGSM49AgEGBSuBBAAiBIGeMIGbAgEBBDARrYzVlCMr2uaCNPyA
    uy+orBVvYeOV5eKQGlNtvTxGw6UzwBkVtkwP20cJ+sqTW3KhZANiAASbWKJkAVzL
    82P1/3JUoeKc661Lpn0BCvHuTzCxcOm2JjNyP+J860UmLx39YfO1rKqp3QoiRYw/
    M/aAWf9ri8Epg+mZo++ObmC86soRE1xTyTSSi1XECJ3+43fdcjPoxWs=
    -----END PRIVATE KEY-----
    """

  static let encrypted = """
    -----BEGIN ENCRYPTED PRIVATE KEY-----
    MIHsMFcGCSqGSIb3DQEFDTBKMCkGCSqGSIb3DQEFDDAcBAiWk5tmqfVfpwICCAAw
    DAYIKoZIhvcNAgkFADAdBglghkgBZQMEASoEEG1qS9Ar94o+aQMvXUotbuMEgZBK
    lQobpRYaVP/D9x1O+O+ksgYpAu6GHPDUlnDe4ZGpjIhM7F47S73LGVVAO/K5PDAN
    itCJSrTVH8mdj6+qSS+otGLwxVtP9VSRUMG1zMbh9T+o3XjRtnAcVmah6U0UwNqx
    AD8fri1EVXS5qOCt6Sta8q3Vs/mF+j0rpNM82VycHolLqClkxhUfkWbAie1KJ5g=
    -----END ENCRYPTED PRIVATE KEY-----
    """

  static let encryptedSEC1 = """
    -----BEGIN EC PRIVATE KEY-----
    Proc-Type: 4,ENCRYPTED
    DEK-Info: AES-128-CBC,FAE504CCFD3E85AAF85C629F61495ACD

    2ZYlT44CJ2xixGznrkQRFskS2pXofKN9Yd1ukTsgLwxof1MB8JIgO2Kzo3iIpKb2
    7tuynm7BRVgjFsdxeYHygQB+eYeBKVzyDpNN+j+nEP+PSccV5Te5k6rHhlFIGXVG
    xj9m8fCwu7KEzVFxcGMcCn3VrilU0A5p4j+6YWovAkg=
    -----END EC PRIVATE KEY-----
    """
}
