import APNsSimulator
import Clocks
import Crypto
import Foundation
import Testing
import Transport

/// A simulator with phones in every state, and the credentials that a client may have or lack.
struct Site {
  static let patience: Duration = .seconds(60)
  static let otherBundleID = "com.example.other"
  static let strangersBundleID = "com.stranger.app"

  let loop: EventLoop
  let simulator: RunningSimulator
  let folder: Folder
  let phones: Phones
  let channels: Channels
  let bearers: Bearers

  var access: SimulatorAccess { simulator.access }
  var bundleID: String { access.bundleIDs[0] }
  var trustFile: String { folder.path("simulated-apns-ca.pem") }

  /// Tokens of phones, by what APNs knows of them.
  struct Phones: Sendable {
    var device: String
    var start: String
    var calls: String
    var unregistered: String
    var expired: String
    var wrongEnvironment: String
    /// Its budget is spent.
    var busy: String
    var ofOtherApp: String
  }

  struct Channels: Sendable {
    var storing: String
    var notStoring: String
    var doomed: String
  }

  /// Values of `authorization`.
  struct Bearers: Sendable {
    var good: String
    var newer: String
    var expired: String
    var forged: String
    var unknownKey: String
    var otherEnvironment: String
    var otherTopics: String
  }

  static func configured(
    _ change: (inout SimulatorConfiguration) -> Void = { _ in }
  ) -> SimulatorConfiguration {
    var configuration = SimulatorConfiguration()
    configuration.listeners.introspectionPort = nil
    configuration.devices.tokenBudget = BucketRate(capacity: 100, interval: .seconds(3600))
    let team = SimulatedAppSettings.fieldTrips.teamID
    configuration.apps = [
      .fieldTrips, .init(bundleID: otherBundleID, teamID: team),
      .init(bundleID: strangersBundleID, teamID: "STRANGERS1"),
    ]
    change(&configuration)
    return configuration
  }

  /// Runs a test against a site that is cleared away afterwards.
  static func with(
    _ configuration: SimulatorConfiguration = configured(), _ body: (Site) async throws -> Void
  ) async throws {
    let loop = try EventLoop(name: "simulator")
    defer { loop.stop() }
    let folder = try Folder()
    defer { folder.remove() }
    let simulator = try await Simulator.start(configuration, loop: loop, folder: folder.path)
    do {
      try await body(try await Site(simulator, loop, folder))
    } catch {
      await simulator.stop()
      throw error
    }
    await simulator.stop()
  }

  private init(_ simulator: RunningSimulator, _ loop: EventLoop, _ folder: Folder) async throws {
    self.loop = loop
    self.simulator = simulator
    self.folder = folder
    let access = simulator.access
    let signers = try Signers(access)
    let now = await simulator.now.wholeSeconds
    bearers = try signers.bearers(now)
    let good = bearers.good
    (phones, channels) = try await simulator.run { apns, now throws(PhoneError) in
      for key in signers.registered { apns.register(key) }
      return (
        try Self.addPhones(&apns, good, access.bundleIDs[0], now),
        Self.addChannels(&apns, good, access.bundleIDs[0], now)
      )
    }
  }

  private static func addPhones(
    _ apns: inout SimulatedAPNs, _ bearer: String, _ bundleID: String, _ now: UnixTime
  ) throws(PhoneError) -> Phones {
    let first = try apns.addPhone(PhoneSettings(bundleID: bundleID))
    let calls = try apns.registerForPushes(ofType: "voip", phone: first.phone)
    var others: [String] = []
    for _ in 1...4 {
      others.append(try apns.addPhone(PhoneSettings(bundleID: bundleID)).deviceToken)
    }
    let since = UnixTime(milliseconds: 1_790_000_000_123)
    apns.setState(.unregistered(since: since), ofToken: others[0])
    apns.setState(.expired(since: since), ofToken: others[1])
    apns.setState(.wrongEnvironment, ofToken: others[2])
    var connection = ConnectionMemory(apns.configuration.connections)
    let push = SimulatedRequest(
      method: "POST", path: "/3/device/\(others[3])",
      fields: [
        .init("authorization", bearer), .init("apns-topic", bundleID),
        .init("apns-push-type", "alert"),
      ], body: Array(#"{"aps":{"alert":"x"}}"#.utf8))
    for _ in 1...100 { _ = apns.answer(push, on: .push, connection: &connection, now: now) }
    return Phones(
      device: first.deviceToken, start: first.pushToStartToken ?? "", calls: calls,
      unregistered: others[0], expired: others[1], wrongEnvironment: others[2], busy: others[3],
      ofOtherApp: try apns.addPhone(PhoneSettings(bundleID: otherBundleID)).deviceToken)
  }

  private static func addChannels(
    _ apns: inout SimulatedAPNs, _ bearer: String, _ bundleID: String, _ now: UnixTime
  ) -> Channels {
    var connection = ConnectionMemory(apns.configuration.connections)
    let made = [1, 0, 1].map { policy in
      let body = #"{"message-storage-policy":\#(policy),"push-type":"LiveActivity"}"#
      let request = SimulatedRequest(
        method: "POST", path: "/1/apps/\(bundleID)/channels",
        fields: [.init("authorization", bearer)], body: Array(body.utf8))
      let answer = apns.answer(request, on: .management, connection: &connection, now: now)
      return answer.value("apns-channel-id") ?? "none"
    }
    return Channels(storing: made[0], notStoring: made[1], doomed: made[2])
  }
}

/// Keys that the portal knows, and one that it does not.
private struct Signers {
  let access: SimulatorAccess
  let own: P256PrivateKey
  let stranger: P256PrivateKey

  init(_ access: SimulatorAccess) throws {
    self.access = access
    own = try P256PrivateKey(pem: access.providerKeyPEM)
    stranger = try P256PrivateKey.generate()
  }

  var registered: [RegisteredKey] {
    [
      RegisteredKey(
        keyID: "PRODUCTION", teamID: access.teamID, publicKey: own.publicKey,
        environments: [.production]),
      RegisteredKey(
        keyID: "OTHERTOPIC", teamID: access.teamID, publicKey: own.publicKey,
        scope: .topics([Site.otherBundleID])),
    ]
  }

  func bearers(_ now: Int64) throws -> Site.Bearers {
    Site.Bearers(
      good: try bearer(now - 60), newer: try bearer(now - 1),
      expired: try bearer(now - 3_660), forged: try bearer(now, by: stranger),
      unknownKey: try bearer(now, keyID: "NOSUCHKEY1"),
      otherEnvironment: try bearer(now, keyID: "PRODUCTION"),
      otherTopics: try bearer(now, keyID: "OTHERTOPIC"))
  }

  private func bearer(
    _ issuedAt: Int64, keyID: String? = nil, by key: P256PrivateKey? = nil
  ) throws -> String {
    let head = #"{"alg":"ES256","kid":"\#(keyID ?? access.keyID)"}"#
    let claims = #"{"iss":"\#(access.teamID)","iat":\#(issuedAt)}"#
    let text = Base64.url.encodeText(head.utf8) + "." + Base64.url.encodeText(claims.utf8)
    let signature = try (key ?? own).signature(of: Array(text.utf8))
    return "bearer " + text + "." + Base64.url.encodeText(signature.raw)
  }
}

/// A directory for one test.
struct Folder: Sendable {
  let path: String

  init() throws {
    path =
      FileManager.default.temporaryDirectory
      .appendingPathComponent("fieldcast-interop-\(UUID().uuidString.prefix(8))").path
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
  }

  func path(_ name: String) -> String { "\(path)/\(name)" }

  func write(_ bytes: some Sequence<UInt8>, as name: String) throws {
    try Data(bytes).write(to: URL(fileURLWithPath: path(name)))
  }

  func read(_ name: String) throws -> [UInt8] {
    Array(try Data(contentsOf: URL(fileURLWithPath: path(name))))
  }

  func remove() { try? FileManager.default.removeItem(atPath: path) }
}
