internal import Clocks

/// All settings of one simulated APNs environment, with the values that Apple documents, or that
/// were seen in the field, as defaults.
package struct SimulatorConfiguration: Sendable {
  package var environment = APNsEnvironment.development
  /// Seeds everything random: IDs, tokens, delivery, faults. The same seed repeats a run.
  package var seed: UInt64 = 1
  /// Seeds the faults alone; nil: `seed` does.
  package var faultSeed: UInt64?
  /// Whether the IDs of accepted requests are kept, for whoever compares them with what a client
  /// believes. They are never forgotten.
  package var keepsAcceptedIDs = false
  /// Whether each accepted push and broadcast is kept as it came off the wire. It grows without end:
  /// for tests that read what was sent.
  package var keepsAcceptedPushes = false
  package var apps: [SimulatedAppSettings] = []

  package var listeners = ListenerSettings()
  package var connections = ConnectionSettings()
  package var tokens = ProviderTokenSettings()
  package var channels = ChannelSettings()
  package var devices = DevicePushSettings()
  package var delivery = DeliveryModel()
  package var phones = PhoneRules()
  package var spelling = ReasonSpelling()
  /// The shapes that virtual phones can decode, by `attributes-type`.
  package var schemas: [ActivitySchema] = [.fieldTrip]
  package var faults = SimulatorFaults()

  package init() {}

  /// - Throws: ``InvalidSetting`` for the first setting out of its range.
  package func validate() throws(InvalidSetting) {
    try listeners.validate()
    try connections.validate()
    try tokens.validate()
    try channels.validate()
    try devices.validate()
    try delivery.validate()
    try phones.validate()
    try faults.validate()
    for app in apps where app.bundleID.isEmpty || app.teamID.utf8.count != 10 {
      throw InvalidSetting(
        "apps", app.bundleID, "a bundle ID, and a team ID of 10 characters (\(app.teamID) is not)")
    }
  }
}

/// A setting that was refused, in words for the person who wrote it.
package struct InvalidSetting: Error, Sendable, Equatable, CustomStringConvertible {
  package var name: String
  package var value: String
  package var expected: String

  init(_ name: String, _ value: some CustomStringConvertible, _ expected: String) {
    self.name = name
    self.value = "\(value)"
    self.expected = expected
  }

  package var description: String { "\(name)=\(value): expected \(expected)" }
}

func require<Value: Comparable>(
  _ name: String, _ value: Value, in range: ClosedRange<Value>, _ unit: String
) throws(InvalidSetting) {
  guard range.contains(value) else {
    throw InvalidSetting(
      name, "\(value)", "\(range.lowerBound)...\(range.upperBound)\(unit.isEmpty ? "" : " ")\(unit)"
    )
  }
}

/// One app ID as the developer portal knows it.
package struct SimulatedAppSettings: Sendable, Equatable {
  package var bundleID: String
  /// 10 characters.
  package var teamID: String
  /// The App ID's broadcast capability. Switching it off deletes all channels.
  package var hasBroadcastCapability = true
  /// Whether this is no bundle ID but the UID in a management certificate, the topic of pushes of
  /// type `mdm`.
  package var isManagementTopic = false

  package init(bundleID: String, teamID: String) {
    self.bundleID = bundleID
    self.teamID = teamID
  }
}

extension SimulatedAppSettings {
  /// The app of the demo.
  package static let fieldTrips = SimulatedAppSettings(
    bundleID: "com.example.fieldtrips", teamID: "FIELDCAST1")
}

/// How listeners treat a connection.
package struct ConnectionSettings: Sendable, Equatable {
  /// Streams allowed until a provider token was accepted. Apple documents 1.
  package var streamsBeforeToken = 1
  /// Streams allowed afterwards. Apple documents no number; 1000 was seen in 2021.
  package var streamsAfterToken = 1000
  /// Refusals in a row (429, 410 and 5xx do not count) after which streams fall back to 1 until a
  /// request is accepted; nil switches this off.
  package var slowDownAfterRefusals: Int? = 10
  /// Refusals in a row after which the connection is closed by GOAWAY; nil switches this off.
  package var disconnectAfterRefusals: Int? = 100
  /// A connection without any request for so long is closed with `IdleTimeout`. Apple documents
  /// no duration.
  package var idleTimeout: Duration = .seconds(3600)
  /// Largest request body that a listener reads at all; more is a reset stream. In bytes.
  package var bodyLimitBytes = 1 << 20

  package init() {}

  func validate() throws(InvalidSetting) {
    try require("connections.streamsBeforeToken", streamsBeforeToken, in: 1...100_000, "streams")
    try require("connections.streamsAfterToken", streamsAfterToken, in: 1...100_000, "streams")
    try require(
      "connections.slowDownAfterRefusals", slowDownAfterRefusals ?? 1, in: 1...1_000_000,
      "refusals")
    try require(
      "connections.disconnectAfterRefusals", disconnectAfterRefusals ?? 1, in: 1...1_000_000,
      "refusals")
    try require(
      "connections.idleTimeout", idleTimeout, in: .milliseconds(1) ... .seconds(604_800), "")
    try require("connections.bodyLimitBytes", bodyLimitBytes, in: 5121...(1 << 26), "bytes")
  }
}

/// How provider tokens are judged.
package struct ProviderTokenSettings: Sendable, Equatable {
  /// A token whose `iat` lies further from now, either way, is refused. Apple: one hour.
  package var lifetime: Duration = .seconds(3600)
  /// The least time between two changes of the token on one connection. Apple: 20 minutes.
  package var changeInterval: Duration = .seconds(1200)

  package init() {}

  func validate() throws(InvalidSetting) {
    try require("tokens.lifetime", lifetime, in: .seconds(1) ... .seconds(86_400), "")
    try require("tokens.changeInterval", changeInterval, in: .zero ... .seconds(86_400), "")
  }
}

/// Channels and what may be published to them.
package struct ChannelSettings: Sendable, Equatable {
  /// Channels of one app in this environment. Apple: 10,000.
  package var limitPerApp = 10_000
  /// Longest channel ID that is looked at, in characters; more is `BadChannelId`. Apple states no
  /// size.
  package var channelIDLimit = 256
  /// Publishing budget of a channel that stores its most recent message; nil never throttles.
  ///
  /// Apple publishes no number. A forum reply gives one update a second as a rule of thumb.
  package var storingBudget: BucketRate? = BucketRate(capacity: 10, interval: .seconds(1))
  /// The same without message storage: Apple says that it is higher.
  package var notStoringBudget: BucketRate? = BucketRate(
    capacity: 20, interval: .milliseconds(500))
  /// Longest time for which a message is stored. Apple: 8 hours.
  package var storageLimit: Duration = .seconds(8 * 3600)
  /// Whether a phone that subscribes gets the stored message. Others say so, Apple does not.
  package var newSubscribersGetStoredMessage = true
  /// Accepted broadcasts of one channel that stay readable; older ones are only counted.
  package var retainedBroadcasts = 256
  /// The same over all channels: with many channels each keeps fewer, at least four.
  package var retainedBroadcastsInAll = 200_000

  package init() {}

  func validate() throws(InvalidSetting) {
    try require("channels.limitPerApp", limitPerApp, in: 0...1_000_000, "channels")
    try require("channels.channelIDLimit", channelIDLimit, in: 24...65_536, "characters")
    for (name, budget) in [("storing", storingBudget), ("notStoring", notStoringBudget)] {
      try require(
        "channels.\(name)Budget.capacity", budget?.capacity ?? 1, in: 1...1_000_000, "broadcasts")
      try require(
        "channels.\(name)Budget.interval", budget?.interval ?? .seconds(1),
        in: .microseconds(1) ... .seconds(86_400), "")
    }
    try require("channels.storageLimit", storageLimit, in: .zero ... .seconds(604_800), "")
    try require("channels.retainedBroadcasts", retainedBroadcasts, in: 4...1_000_000, "broadcasts")
    try require(
      "channels.retainedBroadcastsInAll", retainedBroadcastsInAll, in: 4...100_000_000,
      "broadcasts")
  }
}

/// What the device path checks, in which order, and how much one token may get.
package struct DevicePushSettings: Sendable, Equatable {
  /// The steps of a check. Apple documents no order; this is the recommended one.
  package enum Check: String, Sendable, CaseIterable {
    case authentication, path, method, headers, token, topic, payload
  }

  package var order: [Check] = Check.allCases
  /// Pushes that one device token may get; more is `TooManyRequests`. nil never throttles.
  package var tokenBudget: BucketRate? = BucketRate(capacity: 30, interval: .seconds(1))
  /// Whether a request without `apns-push-type` is refused. Apple: may give an error.
  package var requiresPushType = true
  /// Whether a body that is no JSON object is refused with `BadRequestPayload`, as channel
  /// management does. Apple's page on device pushes names no reason for it.
  package var refusesMalformedPayload = true

  package init() {}

  func validate() throws(InvalidSetting) {
    guard Set(order) == Set(Check.allCases), order.count == Check.allCases.count else {
      throw InvalidSetting(
        "devices.order", order.map(\.rawValue).joined(separator: ","), "each check once")
    }
    guard let payload = order.firstIndex(of: .payload), let topic = order.firstIndex(of: .topic),
      let token = order.firstIndex(of: .token), let headers = order.firstIndex(of: .headers),
      headers < payload, headers < topic, token < topic
    else {
      throw InvalidSetting(
        "devices.order", order.map(\.rawValue).joined(separator: ","),
        "headers before topic and payload, and token before topic")
    }
    try require(
      "devices.tokenBudget.capacity", tokenBudget?.capacity ?? 1, in: 1...1_000_000, "pushes")
    try require(
      "devices.tokenBudget.interval", tokenBudget?.interval ?? .seconds(1),
      in: .microseconds(1) ... .seconds(86_400), "")
  }
}
