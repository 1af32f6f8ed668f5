package import Clocks
internal import HTTP

/// One APNs environment without sockets: requests in, answers out, time from outside.
///
/// It is as strict as Apple's pages, and where they are silent it is as strict as a reading
/// allows. Requests must come with times that do not go back; phones are brought up to date by
/// whatever asks about them.
package struct SimulatedAPNs: Sendable {
  package internal(set) var configuration: SimulatorConfiguration
  package internal(set) var statistics = SimulatorStatistics()
  /// What Apple would have let pass silently although its pages do not allow it.
  package internal(set) var complaints = ComplaintLog()
  /// How often a request with this `apns-id` or `apns-request-id` was accepted, if that is kept.
  package private(set) var acceptedIDs: [String: Int] = [:]
  /// Accepted pushes and broadcasts in their order, if they are kept.
  package private(set) var acceptedPushes: [SimulatedRequest] = []

  var tokenCheck: ProviderTokenCheck
  /// By the UID in their subjects.
  private var certificates: [String: RegisteredCertificate] = [:]
  var apps: [String: SimulatedApp] = [:]
  var deviceTokens: [String: DeviceToken] = [:]
  var phones: [Int: Phone] = [:]
  var crowds = CrowdDirectory()
  var journal = BroadcastJournal()
  var deliveries = DeliveryQueue()
  var random: SeededRandom
  /// The last date that was written: most answers share it.
  private var date = (second: Int64.min, text: "")
  var nextPhone = 1
  var nextActivity = 1
  var nextPush: UInt64 = 1
  /// Channels of all apps, deleted ones not among them.
  package internal(set) var channelCount = 0

  package init(_ configuration: SimulatorConfiguration) throws(InvalidSetting) {
    try configuration.validate()
    self.configuration = configuration
    random = SeededRandom(seed: configuration.seed)
    tokenCheck = ProviderTokenCheck(
      settings: configuration.tokens, environment: configuration.environment)
    for app in configuration.apps { apps[app.bundleID] = SimulatedApp(settings: app) }
  }

  /// Adds a key, or replaces the one with its ID.
  package mutating func register(_ key: RegisteredKey) {
    tokenCheck.keys[key.keyID] = key
    tokenCheck.keysChanged()
  }

  package mutating func revokeKey(_ keyID: String) {
    tokenCheck.keys[keyID]?.isRevoked = true
    tokenCheck.keysChanged()
  }

  /// Adds a certificate, or replaces the one with its UID.
  package mutating func register(_ certificate: RegisteredCertificate) {
    certificates[certificate.userID] = certificate
  }

  package mutating func revokeCertificate(_ userID: String) {
    certificates[userID]?.isRevoked = true
  }

  package mutating func register(_ app: SimulatedAppSettings) {
    if apps[app.bundleID] == nil {
      apps[app.bundleID] = SimulatedApp(settings: app)
    } else {
      apps[app.bundleID]?.settings = app
    }
    if !app.hasBroadcastCapability { removeAllChannels(of: app.bundleID) }
  }

  /// Takes the App ID's broadcast capability away, or gives it. Without it all channels are gone,
  /// irreversibly.
  package mutating func setBroadcastCapability(_ bundleID: String, _ isOn: Bool) {
    guard var settings = apps[bundleID]?.settings else { return }
    settings.hasBroadcastCapability = isOn
    register(settings)
  }

  /// Changes how much may be published to channels, present ones included; nil never throttles.
  package mutating func setBudgets(storing: BucketRate?, notStoring: BucketRate?) {
    configuration.channels.storingBudget = storing
    configuration.channels.notStoringBudget = notStoring
  }

  private mutating func removeAllChannels(of bundleID: String) {
    let removed = apps[bundleID]?.channels.count ?? 0
    apps[bundleID]?.channels.removeAll()
    apps[bundleID]?.channelOrder.removeAll()
    channelCount -= removed
  }

  /// Answers one request.
  ///
  /// - Parameters:
  ///   - connection: what APNs remembers of the connection that it came on.
  ///   - now: the true time. Provider tokens are judged by APNs' own clock, which the faults may
  ///     have put wrong.
  package mutating func answer(
    _ request: SimulatedRequest, on port: SimulatedPort, connection: inout ConnectionMemory,
    now: UnixTime
  ) -> SimulatedAnswer {
    var answer =
      switch port {
      case .push where request.path.hasPrefix("/3/"):
        devicePush(request, connection: &connection, now: now)
      case .push: broadcastRequest(request, connection: &connection, now: now)
      case .management: channelRequest(request, connection: &connection, now: now)
      }
    answer.fields.append(SimulatedField("date", dateText(ownTime(now))))
    answer.effects += connection.note(answer.reason, configuration.connections)
    statistics.count(answer, request: request, port: port)
    if configuration.keepsAcceptedIDs, answer.reason == nil, let id = answer.fields.first?.value {
      acceptedIDs[id, default: 0] += 1
    }
    if configuration.keepsAcceptedPushes, answer.reason == nil, port == .push {
      acceptedPushes.append(request)
    }
    return answer
  }

  private mutating func dateText(_ time: UnixTime) -> String {
    if time.wholeSeconds != date.second { date = (time.wholeSeconds, HTTPDate.text(time)) }
    return date.text
  }

  /// What a request that never reached the rules gets: a fault's answer.
  package mutating func answer(
    _ request: SimulatedRequest, refusedFor reason: Reason, on port: SimulatedPort
  ) -> SimulatedAnswer {
    let isDevice = port == .push && request.path.hasPrefix("/3/")
    let answer = refusal(reason, request, isDevice: isDevice)
    statistics.count(answer, request: request, port: port)
    return answer
  }

  /// APNs' own clock.
  func ownTime(_ now: UnixTime) -> UnixTime { now + configuration.faults.clockSkew }

  mutating func authenticate(
    _ request: SimulatedRequest, _ connection: inout ConnectionMemory, now: UnixTime
  ) -> (credential: ProviderCredential?, reason: Reason?) {
    if let userID = connection.certificateUserID {
      if let reason = problem(ofCertificate: userID) { return (nil, reason) }
      return (certificates[userID].map { .certificate($0) }, nil)
    }
    if request.fields.count(where: { $0.name == "authorization" }) > 1 {
      return (nil, .duplicateHeaders)
    }
    let verdict = tokenCheck.check(
      request.value("authorization"), connection: &connection, now: ownTime(now),
      expiry: configuration.faults.tokenExpiry)
    switch verdict {
    case .refused(let reason): return (nil, reason)
    case .accepted(let key, let texts):
      for text in texts { complaints.add(text, now) }
      return (.key(key), nil)
    }
  }

  /// Why a connection with this client certificate may not be used; nil if it may.
  func problem(ofCertificate userID: String) -> Reason? {
    guard let certificate = certificates[userID], !certificate.isRevoked else {
      return .badCertificate
    }
    return certificate.environments.contains(configuration.environment)
      ? nil : .badCertificateEnvironment
  }

  mutating func refusal(
    _ reason: Reason, _ request: SimulatedRequest, isDevice: Bool, timestamp: UnixTime? = nil
  ) -> SimulatedAnswer {
    let text = configuration.spelling.text(of: reason, forDevice: isDevice)
    let body =
      timestamp.map { "{\"reason\":\"\(text)\",\"timestamp\":\($0.milliseconds)}" }
      ?? "{\"reason\":\"\(text)\"}"
    return SimulatedAnswer(
      status: reason.status,
      fields: [
        echo(request, isDevice: isDevice), SimulatedField("content-type", "application/json"),
      ],
      body: Array(body.utf8), reason: reason)
  }

  mutating func acceptance(
    _ status: Int, _ request: SimulatedRequest, isDevice: Bool, fields: [SimulatedField] = [],
    body: [UInt8] = []
  ) -> SimulatedAnswer {
    SimulatedAnswer(
      status: status, fields: [echo(request, isDevice: isDevice)] + fields, body: body)
  }

  /// The request's own ID back, or one made here. A malformed one is not repeated.
  private mutating func echo(_ request: SimulatedRequest, isDevice: Bool) -> SimulatedField {
    let name = isDevice ? "apns-id" : "apns-request-id"
    let given = isDevice ? request.value("apns-id") : broadcastRequestID(request)
    if let given, RequestSyntax.isUUID(given) { return SimulatedField(name, given) }
    return SimulatedField(name, random.uuid())
  }

  /// Apple documents `apns-request-id`, and sends `apns-id` in one of its samples.
  func broadcastRequestID(_ request: SimulatedRequest) -> String? {
    request.value("apns-request-id") ?? request.value("apns-id")
  }

  mutating func takePushNumber() -> UInt64 {
    defer { nextPush += 1 }
    return nextPush
  }
}

/// An App ID with its channels.
struct SimulatedApp: Sendable {
  var settings: SimulatedAppSettings
  var channels: [String: Channel] = [:]
  /// Deleted ones, for whoever still has phones on them.
  private(set) var deletedChannels: [String: Channel] = [:]
  private var deletionOrder: [String] = []
  /// IDs in the order of creation, for the list.
  var channelOrder: [String] = []

  /// Enough for twice the channels that an app may have.
  private static let deletedLimit = 20_000

  init(settings: SimulatedAppSettings) { self.settings = settings }

  /// Keeps a deleted channel aside, and forgets the oldest ones when there are too many.
  mutating func remember(_ channel: Channel) {
    deletedChannels[channel.channelID] = channel
    deletionOrder.append(channel.channelID)
    guard deletionOrder.count > Self.deletedLimit + 1000 else { return }
    for channelID in deletionOrder.prefix(1000) { deletedChannels[channelID] = nil }
    deletionOrder.removeFirst(1000)
  }
}
