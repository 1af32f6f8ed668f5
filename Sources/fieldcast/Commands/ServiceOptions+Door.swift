internal import FieldcastServer
internal import HTTP

/// Who is let in to REST, how, and how much of the service one may take.
extension ServiceOptions {
  static let tlsCertificate = Option<String?>.text(
    "tls-certificate", "FILE", environment: "FIELDCAST_TLS_CERTIFICATE",
    help: """
      PEM file with REST's certificate chain, its own first. It is read again when it changes, and \
      on SIGHUP. Without it, REST is not encrypted.
      """)
  static let tlsKey = Option<String?>.text(
    "tls-key", "FILE", environment: "FIELDCAST_TLS_KEY",
    help: "PEM file with the private key of --tls-certificate.")
  static let membersIssuer = Option<String?>.text(
    "members-issuer", "NAME", environment: "FIELDCAST_MEMBERS_ISSUER",
    help: """
      Lets members call with JWTs of the product's own backend whose iss is this: each joins, \
      leaves, registers its tokens and hands in its notes, and those of nobody else. Their sub is \
      the member. Without it, no JWT is taken.
      """)
  static let membersAudience = Option<String>.text(
    "members-audience", "NAME", default: "fieldcast", environment: "FIELDCAST_MEMBERS_AUDIENCE",
    help: "What those JWTs must have as their aud, or among it.")
  static let membersKeys = Option<String?>.text(
    "members-keys", "FILE|URL", environment: "FIELDCAST_MEMBERS_KEYS",
    help: """
      The public keys of those JWTs as a JSON Web Key Set (ES256 and RS256): a file, or an https \
      URL. They are read again when a JWT names another key, and every 10 minutes at least.
      """)
  static let membersTrust = Option<String?>.text(
    "members-trust", "FILE", environment: "FIELDCAST_MEMBERS_TRUST",
    help: "PEM file of authorities to trust for that URL, beside the machine's own.")
  static let membersSkew = Option<Double>.number(
    "members-skew", in: 0...300, unit: "s", default: 60, environment: "FIELDCAST_MEMBERS_SKEW",
    help: "How far the clock of whoever makes those JWTs may differ.")
  static let memberRate = Option<Double>.number(
    "member-rate", in: 0...10_000, unit: "requests a second", default: 5,
    environment: "FIELDCAST_MEMBER_RATE",
    help: "How often one member may call; ten seconds' worth may come at once. 0 sets no limit.")
  static let callerRate = Option<Double>.number(
    "caller-rate", in: 0...1_000_000, unit: "requests a second", default: 0,
    environment: "FIELDCAST_CALLER_RATE",
    help: """
      How often the holder of a token may call or, without --tokens, one address; ten seconds' \
      worth may come at once. 0 sets no limit.
      """)
  static let maxConnections = Option<Int>.integer(
    "max-connections", in: 16...100_000, unit: "", default: 4_096,
    environment: "FIELDCAST_MAX_CONNECTIONS",
    help: "To REST at a time. Those beyond it are told 503 and closed.")
  static let addressConnections = Option<Int>.integer(
    "address-connections", in: 1...100_000, unit: "", default: 1_024,
    environment: "FIELDCAST_ADDRESS_CONNECTIONS",
    help: "From one address to REST at a time. A proxy in front of it is one address.")
  static let requestTime = Option<Double>.number(
    "request-time", in: 1...300, unit: "s", default: 10, environment: "FIELDCAST_REQUEST_TIME",
    help: """
      How long a client may take to send a request's head, and its body unless that comes at 1 KB \
      a second or more.
      """)
  static let idleTime = Option<Double>.number(
    "idle-time", in: 1...3_600, unit: "s", default: 60, environment: "FIELDCAST_IDLE_TIME",
    help: "How long a connection is kept open for its next request.")

  static let door: [OptionSpec] = [
    tlsCertificate.spec, tlsKey.spec, membersIssuer.spec, membersAudience.spec, membersKeys.spec,
    membersTrust.spec, membersSkew.spec, memberRate.spec, callerRate.spec, maxConnections.spec,
    addressConnections.spec, requestTime.spec, idleTime.spec,
  ]

  static func readDoor(
    from arguments: ParsedArguments, into configuration: inout ServiceConfiguration
  ) throws(CommandFailure) {
    configuration.access = try arguments[tokens].map { path throws(CommandFailure) in
      try access(from: path)
    }
    configuration.certificate = try both(tlsCertificate, tlsKey, in: arguments).map {
      CertificateFiles(chain: $0, key: $1)
    }
    configuration.members = try both(membersIssuer, membersKeys, in: arguments).map {
      MemberAccess(
        rules: MemberTokenRules(
          issuer: $0, audience: arguments[membersAudience],
          skew: arguments.duration(of: membersSkew)),
        keys: $1.lowercased().hasPrefix("https://")
          ? .url($1, trustFile: arguments[membersTrust]) : .file($1))
    }
    func limit(_ option: Option<Double>) -> Double? {
      arguments[option] > 0 ? arguments[option] : nil
    }
    configuration.memberRate = limit(memberRate)
    configuration.callerRate = limit(callerRate)
    configuration.http.maxConnections = arguments[maxConnections]
    configuration.http.maxConnectionsOfOnePeer = arguments[addressConnections]
    configuration.http.headDeadline = arguments.duration(of: requestTime)
    configuration.http.bodyGrace = arguments.duration(of: requestTime)
    configuration.http.idleTimeout = arguments.duration(of: idleTime)
  }

  /// Two settings that mean something together only.
  private static func both(
    _ first: Option<String?>, _ second: Option<String?>, in arguments: ParsedArguments
  ) throws(CommandFailure) -> (String, String)? {
    switch (arguments[first], arguments[second]) {
    case (let one?, let other?): return (one, other)
    case (nil, nil): return nil
    case (let one, _):
      let (given, missing) = one == nil ? (second, first) : (first, second)
      throw CommandFailure(
        .configuration, "--\(given.spec.name) is given and --\(missing.spec.name) is not.")
    }
  }
}
