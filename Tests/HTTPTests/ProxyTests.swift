import Clocks
import Crypto
import Testing
import Transport

@testable import HTTP

private func url(_ rest: String) -> String { "http:" + "//" + rest }

@Suite(.timeLimit(.minutes(1))) struct `A tunnel through a proxy` {
  private static let name = "push.example"

  /// A server whose certificate is for a name that only the proxy knows.
  private func withServer(
    _ body: (ScriptedServer, TLSClientContext) async throws -> Void
  ) async throws {
    let validity = CertificateAuthority.Validity.days(1, fromSeconds: WallClock.now().wholeSeconds)
    let authority = try CertificateAuthority(commonName: "Test authority", validity: validity)
    let issued = try authority.issue(.server, names: [.dns(Self.name)], validity: validity)
    let identity = TLSIdentity(
      certificateChainPEM: issued.chainPEM, privateKeyPEM: issued.privateKeyPEM)
    let server = try await ScriptedServer.start(
      tls: try TLSServerContext(identity: identity, alpn: ["h2"]))
    let trust = TLSTrust.pem(try authority.certificatePEM())
    try await body(server, try TLSClientContext(trust: trust, alpn: ["h2"]))
    server.stop()
  }

  private func withLoop(_ body: (EventLoop) async throws -> Void) async throws {
    let loop = try EventLoop(name: "client")
    defer { loop.stop() }
    try await body(loop)
  }

  private func connect(
    through proxy: HTTPProxy, tls: TLSClientContext? = nil, deadline: Duration = .seconds(10),
    on loop: EventLoop
  ) async throws(HTTP2ConnectError) -> HTTP2Client {
    var configuration = HTTP2ClientConfiguration()
    configuration.proxy = proxy
    configuration.connect.deadline = deadline
    return try await HTTP2Client.connect(
      to: .tcp(host: Self.name, port: 2_196), tls: tls, configuration: configuration, on: loop)
  }

  private func problem(
    with deed: ScriptedProxy.Deed, user: String? = nil, deadline: Duration = .seconds(10)
  ) async throws -> String {
    var message = ""
    try await ScriptedProxy.run(deed) { proxy in
      let address = try HTTPProxy(host: "127.0.0.1", port: proxy.port, user: user, password: "pw")
      try await withLoop { loop in
        let error = await #expect(throws: HTTP2ConnectError.self) {
          _ = try await connect(through: address, deadline: deadline, on: loop)
        }
        message = error.map { "\($0)" } ?? ""
        #expect(!message.contains("pw"))
      }
    }
    return message
  }

  @Test func `carries TLS and HTTP/2 to a host that only the proxy can resolve`() async throws {
    try await withServer { server, tls in
      try await ScriptedProxy.run(.open(server.endpoint)) { proxy in
        let address = try HTTPProxy(url: url("us%65r:p%3Aw%20d@127.0.0.1:\(proxy.port)/"))
        try await withLoop { loop in
          let client = try await connect(through: address, tls: tls, on: loop)
          let outcome = await client.send(
            HTTPRequest(method: "POST", authority: "a", path: "/", body: [1, 2, 3]),
            deadline: .seconds(10))
          #expect(outcome.response?.status == 200)
          await client.close()
        }
        // By the reference's own words: base64 of "user:p:w d".
        #expect(
          proxy.requests == [
            "CONNECT push.example:2196 HTTP/1.1\r\nhost: push.example:2196\r\n"
              + "proxy-authorization: Basic dXNlcjpwOncgZA==\r\n\r\n"
          ])
      }
    }
  }

  @Test func `checks the certificate of the far side`() async throws {
    try await withServer { server, _ in
      let other = try CertificateAuthority(
        commonName: "Other", validity: .days(1, fromSeconds: WallClock.now().wholeSeconds))
      let tls = try TLSClientContext(trust: .pem(try other.certificatePEM()), alpn: ["h2"])
      try await ScriptedProxy.run(.open(server.endpoint)) { proxy in
        let address = try HTTPProxy(host: "127.0.0.1", port: proxy.port)
        try await withLoop { loop in
          let error = await #expect(throws: HTTP2ConnectError.self) {
            _ = try await connect(through: address, tls: tls, on: loop)
          }
          let message = error.map { "\($0)" } ?? ""
          #expect(message.contains("push.example:2196 through the proxy 127.0.0.1"))
          #expect(message.contains("Test authority"))
        }
      }
    }
  }

  @Test func `asks for credentials, and tells missing ones from wrong ones`() async throws {
    let answer =
      "HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: Basic realm=\"x\"\r\n"
      + "Content-Length: 3\r\n\r\nno!"
    let missing = try await problem(with: .answer(answer))
    #expect(missing.hasSuffix("wants a user and a password (407, Basic)"))
    let wrong = try await problem(with: .answer(answer), user: "me")
    #expect(wrong.hasSuffix("does not accept the user and password (407, Basic)"))
  }

  @Test func `names a scheme that it does not speak`() async throws {
    let answer = "HTTP/1.1 407 No\r\nProxy-Authenticate: NTLM\r\n\r\n"
    #expect(try await problem(with: .answer(answer)).contains("NTLM, and we speak Basic only"))
  }

  @Test(arguments: [
    ("403 Forbidden", "does it allow CONNECT to this host and port?"),
    ("502 Bad Gateway", "502 Bad Gateway; can it reach that host?"),
    ("504 Gateway Timeout", "can it reach that host?"), ("500 Oops", "500 Internal Server Error"),
  ])
  func `says what the proxy refused`(status: String, expected: String) async throws {
    let message = try await problem(
      with: .answer("HTTP/1.1 \(status)\r\nContent-Length: 0\r\n\r\n"))
    #expect(message.contains("opens no tunnel to push.example:2196"))
    #expect(message.contains(expected))
  }

  @Test func `gives up on a proxy that is silent`() async throws {
    let message = try await problem(with: .silence, deadline: .milliseconds(50))
    #expect(message.hasSuffix("did not open a tunnel to push.example:2196 within 0.05 s"))
  }

  @Test func `names a proxy that closes, babbles or is not there`() async throws {
    #expect(try await problem(with: .close).contains("closed the connection instead"))
    #expect(try await problem(with: .answer("SSH-2.0-x\r\n\r\n")).contains("as a proxy does"))
    #expect(
      try await problem(with: .answer("HTTP/1.1 200 OK\r\n\r\nhello"))
        .contains("bytes follow its answer at once"))
    try await withLoop { loop in
      let nobody = try HTTPProxy(host: "127.0.0.1", port: 1)
      let error = await #expect(throws: HTTP2ConnectError.self) {
        _ = try await connect(through: nobody, on: loop)
      }
      let message = error.map { "\($0)" } ?? ""
      #expect(message.hasPrefix("the proxy 127.0.0.1:1 cannot be reached"))
    }
  }
}

@Suite struct `The address of a proxy` {
  @Test(arguments: [
    ("proxy.example:3128", "proxy.example:3128", false),
    ("u:p@proxy.example:3128/", "proxy.example:3128", true),
    ("u@[::1]:8080", "[::1]:8080", true), ("a@b:c@h:1", "h:1", true),
  ])
  func `is read from a URL`(rest: String, shown: String, hasCredentials: Bool) throws {
    let proxy = try HTTPProxy(url: url(rest))
    #expect(try HTTPProxy(url: "HTTP" + url(rest).dropFirst(4)) == proxy)
    #expect("\(proxy)" == shown)
    #expect((proxy.authorization != nil) == hasCredentials)
  }

  @Test(arguments: [
    "", "proxy.example:3128", "https://proxy.example:3128", url("proxy.example"), url(":3128"),
    url("h:0"), url("h:65536"), url("h:x"), url("a b:1"), url("u%4:p@h:1"), url("u%3Av:p@h:1"),
    url("u:p%0a@h:1"),
  ])
  func `is refused when it is none, without repeating it`(url: String) {
    let error = #expect(throws: HTTPProxyAddressError.self) { try HTTPProxy(url: url) }
    #expect(error.map { "\($0)".contains(":p@") } == false)
  }

  @Test func `hides its password in every description`() throws {
    let proxy = try HTTPProxy(url: url("me:secret@h:1"))
    var dumped = ""
    dump(proxy, to: &dumped)
    for text in ["\(proxy)", String(reflecting: proxy), dumped] {
      #expect(!text.contains("secret") && !text.contains("Basic"))
    }
  }
}
