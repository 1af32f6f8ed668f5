import Clocks
import Crypto
import HTTP
import Testing
import Transport

@testable import APNs

@Suite(.timeLimit(.minutes(1))) struct `A certificate of an app` {
  private static let bundleID = "com.example.trains"

  private func make(
    topics: [String] = [bundleID, "\(bundleID).voip"], extensions: [String] = []
  ) async throws -> PushCertificates {
    try await PushCertificates.make(
      userID: Self.bundleID, topics: topics, extensions: extensions)
  }

  private func expectReadable(_ certificate: ClientCertificate) {
    #expect(certificate.name == "Apple Push Services: com.example.trains")
    #expect(certificate.topics == ["com.example.trains", "com.example.trains.voip"])
    #expect(certificate.environments == [.development, .production])
    let now = WallClock.now()
    #expect(certificate.validFrom <= now && now < certificate.expires)
  }

  @Test func `is read from each form in which it is handed around`() async throws {
    let files = try await make()
    let password = PushCertificates.password
    for bytes in [files.pkcs12, files.oldPKCS12] {
      expectReadable(try ClientCertificate(pkcs12: bytes, password: password))
    }
    let (chain, key) = (files.chainPEM, files.keyPEM)
    expectReadable(try ClientCertificate(certificatesPEM: chain, privateKeyPEM: key))
    // All in one text, the wrong way round.
    let mixed = key + files.rootPEM + chain
    expectReadable(try ClientCertificate(certificatesPEM: mixed, privateKeyPEM: mixed))
    expectReadable(
      try ClientCertificate(
        certificatesPEM: chain, privateKeyPEM: files.encryptedKeyPEM, password: password))
  }

  @Test func `is refused with a reason when it cannot be used`() async throws {
    let files = try await make()
    let other = try P256PrivateKey.generate().pkcs8PEM()
    #expect(throws: IdentityError.wrongPassword) {
      try ClientCertificate(pkcs12: files.pkcs12, password: "no")
    }
    #expect(throws: IdentityError.notPKCS12) {
      try ClientCertificate(pkcs12: files.chainPEM, password: "no")
    }
    #expect(throws: IdentityError.keyDoesNotFit(certificates: 2)) {
      try ClientCertificate(certificatesPEM: files.chainPEM, privateKeyPEM: other)
    }
    #expect(throws: IdentityError.noPrivateKey) {
      try ClientCertificate(certificatesPEM: files.chainPEM, privateKeyPEM: files.chainPEM)
    }
    #expect(throws: IdentityError.noCertificate) {
      try ClientCertificate(certificatesPEM: files.keyPEM, privateKeyPEM: files.keyPEM)
    }
    for (password, expected) in [(nil, IdentityError.needsPassword), ("x", .wrongPassword)] {
      #expect(throws: expected) {
        try ClientCertificate(
          certificatesPEM: files.chainPEM, privateKeyPEM: files.encryptedKeyPEM,
          password: password)
      }
    }
  }

  @Test func `belongs to the environments that it names`() async throws {
    let files = try await make(extensions: ["1.2.840.113635.100.6.3.1=DER:0500"])
    let certificate = try ClientCertificate(
      certificatesPEM: files.chainPEM, privateKeyPEM: files.keyPEM)
    #expect(certificate.environments == [.development])
    #expect(throws: APNsSetupError.self) {
      try check(certificate, environment: .production)
    }
    try check(certificate, environment: .development)
  }

  private func check(
    _ certificate: ClientCertificate, _ bundleID: String = bundleID,
    environment: APNsEnvironment = .development, at now: UnixTime = WallClock.now()
  ) throws {
    let app = APNsApp(bundleID: try BundleID(bundleID), environment: environment)
    try APNsCredentials.certificate(certificate).check(for: app, at: now)
  }

  @Test func `is refused for another app, too early and too late`() async throws {
    let files = try await make()
    let certificate = try ClientCertificate(
      certificatesPEM: files.chainPEM, privateKeyPEM: files.keyPEM)
    let name = certificate.name
    let app = APNsApp(bundleID: try BundleID("com.example.ships"), environment: .development)
    #expect(
      throws: APNsSetupError.certificateForOtherTopics(
        name: name, topics: certificate.topics, app)
    ) { try check(certificate, "com.example.ships") }
    #expect(throws: APNsSetupError.certificateExpired(name: name, at: certificate.expires)) {
      try check(certificate, at: certificate.expires)
    }
    #expect(
      throws: APNsSetupError.certificateNotYetValid(name: name, from: certificate.validFrom)
    ) { try check(certificate, at: certificate.validFrom - .seconds(1)) }
    try check(certificate)
  }

  @Test func `opens connections without a token, with its chain`() async throws {
    let files = try await make()
    // The server knows the root alone, so the issuer in between has to come with the certificate.
    let server = try await ScriptedAPNs.start(clientTrustPEM: files.rootPEM)
    let certificate = try ClientCertificate(
      pkcs12: files.pkcs12, password: PushCertificates.password)
    try await withBench(server, credentials: .certificate(certificate)) { bench in
      try await bench.expectAccepted()
      let token = try #require(DeviceToken(String(repeating: "ab", count: 32)))
      let result = await bench.client.push(
        Push(try PushOptions(.voip), payload: Array("{}".utf8)), to: token)
      #expect(result.isAccepted)
      let channel = await bench.client.createChannel(storage: .none)
      guard case .malformed = channel else {
        Issue.record("\(channel)")
        return
      }
      let requests = await server.requests()
      #expect(requests.count == 3)
      #expect(requests.allSatisfy { $0.request.fields["authorization"] == nil })
      #expect(requests.allSatisfy { $0.subject?.contains("UID=com.example.trains") == true })
      #expect(requests[1].request.fields["apns-topic"] == "com.example.trains.voip")
    }
  }

  @Test func `cannot carry what only tokens can`() async throws {
    let files = try await make()
    let server = try await ScriptedAPNs.start(clientTrustPEM: files.rootPEM)
    let certificate = try ClientCertificate(
      certificatesPEM: files.chainPEM, privateKeyPEM: files.keyPEM)
    try await withBench(server, credentials: .certificate(certificate)) { bench in
      let token = try #require(DeviceToken(String(repeating: "ab", count: 32)))
      let result = await bench.client.push(
        Push(try PushOptions(.location), payload: Array("{}".utf8)), to: token)
      guard case .notSent(.rule(.needsToken(.location))) = result else {
        Issue.record("\(result)")
        return
      }
      #expect(await server.requests().isEmpty)
    }
  }

  @Test func `ends an app's sends when APNs no longer takes it`() async throws {
    let files = try await make()
    let server = try await ScriptedAPNs.start(clientTrustPEM: files.rootPEM) { _, _ in
      ScriptedAPNs.refusal(403, "BadCertificate")
    }
    let certificate = try ClientCertificate(
      certificatesPEM: files.chainPEM, privateKeyPEM: files.keyPEM)
    try await withBench(server, credentials: .certificate(certificate)) { bench in
      #expect(try await bench.broadcast().refusal?.reason == .badCertificate)
      guard case .credentialsRefused? = try await bench.broadcast().notSent else {
        Issue.record("was sent")
        return
      }
      #expect(await server.requests().count == 1)
    }
  }

  @Test func `that expired since the client was made is named, and nothing is sent`() async throws {
    let files = try await make()
    let server = try await ScriptedAPNs.start(clientTrustPEM: files.rootPEM)
    let certificate = try ClientCertificate(
      certificatesPEM: files.chainPEM, privateKeyPEM: files.keyPEM)
    let (loop, now) = (try EventLoop(name: "client"), WallClock.now())
    let later = ServiceClock(speed: 1, startingAt: now + .seconds(3 * 86_400), at: now)
    let answer = await Task(executorPreference: loop.tasks) {
      let exchange = AuthorizedExchange(
        credentials: .certificate(certificate), clock: later, loop: loop)
      let pool = ConnectionPool(
        host: server.host, tls: nil, configuration: ConnectionPoolConfiguration(), loop: loop)
      let template = CachedTemplate { _ throws(ExchangeFailure) in
        try RequestTemplate(HTTPRequest(method: "POST", authority: "a", path: "/"))
      }
      return await exchange.send(
        over: pool, template, values: [], body: [], deadline: loop.now + .seconds(5))
    }.value
    guard case .notSent(.setup(.certificateExpired)) = answer else {
      Issue.record("\(answer)")
      return
    }
    #expect(await server.connectionCount() == 0)
    server.stop()
    loop.stop()
  }

  @Test(
    arguments: [
      [], [0x30], [0x30, 0x05, 0x0C], [0x0C, 0x01, 0x61], [0x30, 0x83, 0, 0, 1, 0], [0x30, 0x80],
      [0x30, 0x03, 0x0C, 0x09, 0x61],
    ] as [[UInt8]])
  func `has no topics in bytes that are no list of them`(der: [UInt8]) {
    #expect(TopicList.read(der) == [])
  }
}

@Suite struct `A signing key` {
  private let everywhere = APNsEnvironment.allCases

  private func works(_ scope: ProviderKeyScope, _ bundleID: String, _ environment: APNsEnvironment)
    throws -> Bool
  {
    let key = try ProviderKey(
      teamID: "TEAM123456", keyID: "KEY1234567", key: .generate(), scope: scope)
    let credentials = ProviderCredentials(key: key, clock: ServiceClock())
    let app = APNsApp(bundleID: try BundleID(bundleID), environment: environment)
    do {
      try APNsCredentials.token(credentials).check(for: app, at: WallClock.now())
      return true
    } catch {
      #expect("\(error)".contains("KEY1234567"))
      return false
    }
  }

  @Test func `of the old kind covers all`() throws {
    for environment in everywhere {
      #expect(try works(.everything, "com.example.trains", environment))
    }
  }

  @Test func `of a team covers one environment`() throws {
    #expect(try works(.team(.production), "com.example.trains", .production))
    #expect(try !works(.team(.production), "com.example.trains", .development))
  }

  @Test func `of topics covers those in one environment`() throws {
    let scope = ProviderKeyScope.topics([try BundleID("com.example.trains")], in: .development)
    #expect(try works(scope, "com.example.trains", .development))
    #expect(try !works(scope, "com.example.ships", .development))
    #expect(try !works(scope, "com.example.trains", .production))
  }
}
