import APNsSimulator
import Clocks
import Crypto
import HTTP
import Testing
import Transport

/// A simulator on real sockets, and a provider's connections to it.
struct LiveWorld {
  static let patience: Duration = .seconds(20)

  let loop: EventLoop
  let simulator: RunningSimulator
  let tls: TLSClientContext
  let bearer: String
  var bundleID: String { simulator.access.bundleIDs[0] }

  /// Runs a test against a simulator that is stopped afterwards.
  static func with(
    _ configuration: SimulatorConfiguration = configured(),
    _ body: (LiveWorld) async throws -> Void
  ) async throws {
    let loop = try EventLoop(name: "simulator")
    defer { loop.stop() }
    let world = try await LiveWorld(configuration, loop)
    do {
      try await body(world)
    } catch {
      await world.simulator.stop()
      throw error
    }
    await world.simulator.stop()
  }

  private init(_ configuration: SimulatorConfiguration, _ loop: EventLoop) async throws {
    self.loop = loop
    simulator = try await Simulator.start(configuration, loop: loop)
    let access = simulator.access
    tls = try TLSClientContext(trust: .pem(access.trustPEM), alpn: ["h2"])
    let signer = ProviderSigner(
      key: try P256PrivateKey(pem: access.providerKeyPEM), keyID: access.keyID,
      teamID: access.teamID)
    bearer = "bearer \(try signer.token(await simulator.now.wholeSeconds))"
  }

  func connect(
    _ port: SimulatedPort, onEvent: @escaping @Sendable (HTTP2ClientEvent) -> Void = { _ in }
  )
    async throws -> HTTP2Client
  {
    let number = port == .push ? simulator.access.pushPort : simulator.access.managementPort
    return try await HTTP2Client.connect(
      to: .tcp(host: "127.0.0.1", port: number), tls: tls, on: loop, onEvent: onEvent)
  }

  func request(
    _ method: String, _ path: String, _ fields: [(String, String)] = [], body: String = ""
  ) -> HTTPRequest {
    var all = HTTPFields()
    all.append("authorization", bearer)
    for (name, value) in fields { all.append(name, value) }
    return HTTPRequest(
      method: method, scheme: "https", authority: "127.0.0.1", path: path, fields: all,
      body: Array(body.utf8))
  }

  func createChannel(_ client: HTTP2Client, policy: Int = 1) async throws -> String {
    let outcome = await client.send(
      request(
        "POST", "/1/apps/\(bundleID)/channels",
        body: #"{"message-storage-policy":\#(policy),"push-type":"LiveActivity"}"#),
      deadline: Self.patience)
    let response = try #require(outcome.response)
    return try #require(response.fields["apns-channel-id"], "\(response.text)")
  }

  func broadcast(_ channelID: String, timestamp: Int64, notes: Int) -> HTTPRequest {
    request(
      "POST", "/4/broadcasts/apps/\(bundleID)",
      [
        ("apns-channel-id", channelID), ("apns-push-type", "liveactivity"),
        ("apns-priority", "10"), ("apns-expiration", "0"),
      ],
      body:
        #"{"aps":{"timestamp":\#(timestamp),"event":"update","content-state":{"notesCaptured":\#(notes)}}}"#
    )
  }

  var list: HTTPRequest { request("GET", "/1/apps/\(bundleID)/all-channels") }
}

/// The defaults, changed as a test wants them.
func configured(
  _ change: (inout SimulatorConfiguration) -> Void = { _ in }
) -> SimulatorConfiguration {
  var configuration = SimulatorConfiguration()
  configuration.listeners.introspectionPort = nil
  change(&configuration)
  return configuration
}

extension GoAway {
  var reasonText: String { String(decoding: debugData, as: UTF8.self) }
}
