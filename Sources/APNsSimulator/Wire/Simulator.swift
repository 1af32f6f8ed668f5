internal import Clocks
package import Crypto
internal import HTTP
package import Transport

/// Starts simulated APNs environments.
package enum Simulator {
  /// Makes keys and certificates, listens, and returns what runs.
  ///
  /// - Parameters:
  ///   - clock: the time that APNs and the phones live in. Deadlines of sockets stay real.
  ///   - loop: does all the work; several simulators may share one.
  ///   - folder: where to write the trust file and the provider key, if anywhere.
  package static func start(
    _ configuration: SimulatorConfiguration, clock: ServiceClock = ServiceClock(),
    loop: EventLoop, folder: String? = nil
  ) async throws(SimulatorStartError) -> RunningSimulator {
    var apns: SimulatedAPNs
    var configuration = configuration
    if configuration.apps.isEmpty { configuration.apps = [.fieldTrips] }
    do { apns = try SimulatedAPNs(configuration) } catch { throw .setting(error) }
    let listening = configuration.listeners
    do {
      let key = try providerKey(listening)
      let teams = Set(configuration.apps.map(\.teamID)).sorted()
      for (index, team) in teams.enumerated() {
        // One key, known to each team under an ID of its own.
        let keyID = index == 0 ? listening.keyID : String("\(index)\(listening.keyID)".prefix(10))
        apns.register(RegisteredKey(keyID: keyID, teamID: team, publicKey: key.publicKey))
      }
      let authority = try SimulatedAuthority()
      let trust = try authority.trustPEM
      let context = try TLSServerContext(
        identity: try authority.server(listening.names), alpn: ["h2"], clientTrustPEM: trust)
      for app in configuration.apps {
        apns.register(RegisteredCertificate(userID: app.bundleID, teamID: app.teamID))
      }
      let starter = Starter(
        apns: apns, clock: clock, loop: loop, context: context, listening: listening,
        authority: authority)
      var access = SimulatorAccess(
        environment: configuration.environment, host: listening.host, pushPort: 0,
        managementPort: 0, trustPEM: trust, providerKeyPEM: try key.pkcs8PEM(),
        keyID: listening.keyID, teamID: teams[0], bundleIDs: configuration.apps.map(\.bundleID),
        seed: configuration.seed, faultSeed: configuration.faultSeed)
      access.clientIdentity = try authority.client(configuration.apps[0].bundleID)
      if let folder { try access.write(into: folder) }
      return try await starter.start(access)
    } catch let error as SimulatorStartError {
      throw error
    } catch let error as SystemError {
      throw .listening(host: listening.host, problem: "\(error)")
    } catch {
      throw .keys("\(error)")
    }
  }

  private static func providerKey(_ settings: ListenerSettings) throws -> P256PrivateKey {
    guard let pem = settings.providerKeyPEM else { return try .generate() }
    return try P256PrivateKey(pem: pem)
  }
}

/// Whose certificates the simulator shows, and which clients' it believes.
struct SimulatedAuthority: Sendable {
  private let authority: CertificateAuthority
  private let validity: CertificateAuthority.Validity

  init() throws(CryptoError) {
    // Certificates live in real time, whatever clock the phones have.
    validity = .days(30, fromSeconds: WallClock.now().wholeSeconds)
    authority = try CertificateAuthority(commonName: "Simulated APNs authority", validity: validity)
  }

  var trustPEM: [UInt8] {
    get throws(CryptoError) { try authority.certificatePEM() }
  }

  func server(_ names: [CertificateAuthority.SubjectName]) throws(CryptoError) -> TLSIdentity {
    Self.identity(try authority.issue(.server, names: names, validity: validity))
  }

  func client(_ userID: String) throws(CryptoError) -> TLSIdentity {
    Self.identity(
      try authority.issueClient(
        commonName: "Simulated push service", userID: userID, validity: validity))
  }

  private static func identity(_ issued: CertificateAuthority.Issued) -> TLSIdentity {
    TLSIdentity(certificateChainPEM: issued.chainPEM, privateKeyPEM: issued.privateKeyPEM)
  }
}

/// The listeners' ports are known only when they listen, and they need the simulator that needs
/// the ports: connections that come in between wait for it on the loop.
private struct Starter {
  var apns: SimulatedAPNs
  var clock: ServiceClock
  var loop: EventLoop
  var context: TLSServerContext
  var listening: ListenerSettings
  var authority: SimulatedAuthority

  /// Reaches the simulator once there is one. Only touched on the loop, and set before any client
  /// can know the ports.
  final class Reference: @unchecked Sendable {
    weak var simulator: RunningSimulator?
    var introspection: Router?
  }

  func start(_ access: SimulatorAccess) async throws -> RunningSimulator {
    let reference = Reference()
    var access = access
    let push = try await listen(.push, port: listening.pushPort, reference)
    let management = try await listen(.management, port: listening.managementPort, reference)
    access.pushPort = push.port
    access.managementPort = management.port
    let introspection = try await introspect(reference)
    access.introspectionPort = await introspection?.port()
    let simulator = RunningSimulator(
      apns, clock: clock, access: access, authority: authority, loop: loop)
    await simulator.adopt([push, management], introspection) {
      reference.simulator = simulator
      reference.introspection = IntrospectionListener(simulator: simulator).router()
    }
    return simulator
  }

  private func introspect(_ reference: Reference) async throws(SystemError) -> HTTPServer? {
    guard let port = listening.introspectionPort else { return nil }
    return try await HTTPServer.start(
      on: .tcp(host: listening.host, port: port), loop: loop
    ) { request, context in
      guard let router = reference.introspection else {
        return .response(HTTPProblem.response(status: 503, detail: "The simulator is starting."))
      }
      return await router.handle(request, context)
    }
  }

  private func listen(
    _ port: SimulatedPort, port number: Int, _ reference: Reference
  ) async throws(SystemError) -> StreamListener {
    try await StreamListener.bind(
      .tcp(host: listening.host, port: number), tls: context, on: loop
    ) { stream in
      guard let simulator = reference.simulator else { return stream.abort() }
      simulator.assumeIsolated { $0.accepted(stream, on: port) }
    }
  }
}

extension RunningSimulator {
  fileprivate func adopt(
    _ listeners: [StreamListener], _ introspection: HTTPServer?, then body: @Sendable () -> Void
  ) {
    self.listeners += listeners
    self.introspection = introspection
    body()
  }
}

/// Where a simulator listens, and with which key.
package struct ListenerSettings: Sendable {
  /// An address of this machine.
  package var host = "127.0.0.1"
  /// 0 lets the system choose; Apple's are 443 and 2197.
  package var pushPort = 0
  /// Apple's are 2195 (development) and 2196 (production).
  package var managementPort = 0
  /// Of the introspection listener; nil for none.
  package var introspectionPort: Int? = 0
  /// Names that the server's certificate is for.
  package var names: [CertificateAuthority.SubjectName] = [
    .dns("localhost"), .ip("127.0.0.1"), .ip("::1"),
  ]
  /// 10 characters.
  package var keyID = "SIMULATED1"
  /// A `.p8` to use instead of a new key, so that restarts keep it.
  package var providerKeyPEM: [UInt8]?

  package init() {}

  func validate() throws(InvalidSetting) {
    try require("listeners.pushPort", pushPort, in: 0...65_535, "")
    try require("listeners.managementPort", managementPort, in: 0...65_535, "")
    try require("listeners.introspectionPort", introspectionPort ?? 0, in: 0...65_535, "")
    guard keyID.utf8.count == 10 else {
      throw InvalidSetting("listeners.keyID", keyID, "10 characters")
    }
    if names.isEmpty { throw InvalidSetting("listeners.names", "[]", "at least one name") }
  }
}

/// Why a simulator did not start.
package enum SimulatorStartError: Error, Sendable, CustomStringConvertible {
  case setting(InvalidSetting)
  case listening(host: String, problem: String)
  case keys(String)
  case file(path: String, problem: String)

  package var description: String {
    switch self {
    case .setting(let setting): "\(setting)"
    case .listening(let host, let problem): "The simulator cannot listen on \(host): \(problem)"
    case .keys(let problem): "The simulator cannot make its keys: \(problem)"
    case .file(let path, let problem): "The simulator cannot write \(path): \(problem)."
    }
  }
}
