internal import Clocks
internal import JSON

// Broadcasts: one request, every phone of a channel.
extension SimulatedAPNs {
  /// Largest payload of a broadcast, in bytes. Apple: 5 KB.
  static let broadcastLimitBytes = 5120

  mutating func broadcastRequest(
    _ request: SimulatedRequest, connection: inout ConnectionMemory, now: UnixTime
  ) -> SimulatedAnswer {
    let authentication = authenticate(request, &connection, now: now)
    guard let credential = authentication.credential else {
      return refusal(authentication.reason ?? .forbidden, request, isDevice: false)
    }
    let parts = request.path.split(separator: "/", omittingEmptySubsequences: false)
    guard parts.count == 5, parts[0].isEmpty, parts[1] == "4", parts[2] == "broadcasts",
      parts[3] == "apps", !parts[4].isEmpty
    else { return refusal(.badPath, request, isDevice: false) }
    guard request.method == "POST" else {
      return refusal(.methodNotAllowed, request, isDevice: false)
    }
    let bundleID = String(parts[4])
    switch broadcast(request, bundleID, credential, now: now) {
    case .failure(let refused):
      noteRefusedBroadcast(request, bundleID, refused.reason)
      return refusal(refused.reason, request, isDevice: false)
    case .success:
      return acceptance(
        200, request, isDevice: false, fields: [SimulatedField("apns-unique-id", random.uuid())])
    }
  }

  private struct Headers {
    var channelID: String
    var expirationSeconds: Int64
    var priority: Int
  }

  private mutating func broadcast(
    _ request: SimulatedRequest, _ bundleID: String, _ credential: ProviderCredential,
    now: UnixTime
  ) -> Result<Void, Refused> {
    if let reason = commonRefusal(request, bundleID: bundleID, credential: credential) {
      return .failure(Refused(reason))
    }
    let headers: Headers
    switch broadcastHeaders(request) {
    case .success(let read): headers = read
    case .failure(let refused): return .failure(refused)
    }
    // Only the policy is read out: a copy of the channel would make every change to it copy.
    guard let policy = apps[bundleID]?.channels[headers.channelID]?.policy else {
      return .failure(Refused(.channelNotRegistered))
    }
    if policy == .noMessageStored, headers.expirationSeconds != 0 {
      return .failure(Refused(.badExpirationDate))
    }
    let body: JSONValue
    switch Self.broadcastBody(request) {
    case .success(let parsed): body = parsed
    case .failure(let refused): return .failure(refused)
    }
    guard takeBudget(bundleID, headers.channelID, policy, now: now) else {
      return .failure(Refused(.tooManyRequests))
    }
    complainAboutHeaders(request, now: now)
    publish(body, headers, bundleID, now: now)
    return .success(())
  }

  private func broadcastHeaders(_ request: SimulatedRequest) -> Result<Headers, Refused> {
    let channelID: String
    switch self.channelID(request) {
    case .success(let text): channelID = text
    case .failure(let refused): return .failure(refused)
    }
    guard let pushType = request.value("apns-push-type") else {
      return .failure(Refused(.missingPushType))
    }
    // Apple prints the value in three ways, so its case cannot matter.
    guard pushType.lowercased() == "liveactivity" else {
      return .failure(Refused(.invalidPushType))
    }
    guard let expiration = request.value("apns-expiration").flatMap(RequestSyntax.epochSeconds)
    else { return .failure(Refused(.badExpirationDate)) }
    guard let priority = request.value("apns-priority").flatMap(RequestSyntax.priority) else {
      return .failure(Refused(.badPriority))
    }
    return .success(
      Headers(channelID: channelID, expirationSeconds: expiration, priority: priority))
  }

  private static func broadcastBody(_ request: SimulatedRequest) -> Result<JSONValue, Refused> {
    if request.body.isEmpty { return .failure(Refused(.payloadEmpty)) }
    if request.body.count > broadcastLimitBytes { return .failure(Refused(.payloadTooLarge)) }
    if RequestSyntax.isCompressed(request) { return .failure(Refused(.badRequestPayload)) }
    guard let value = try? JSONValue.parse(request.body) else {
      return .failure(Refused(.badRequestPayload))
    }
    return .success(value)
  }

  private mutating func takeBudget(
    _ bundleID: String, _ channelID: String, _ policy: StoragePolicy, now: UnixTime
  ) -> Bool {
    let settings = configuration.channels
    let rate = policy == .noMessageStored ? settings.notStoringBudget : settings.storingBudget
    guard let rate else { return true }
    return apps[bundleID]?.channels[channelID]?.budget.take(now, rate) ?? true
  }

  private mutating func complainAboutHeaders(_ request: SimulatedRequest, now: UnixTime) {
    for name in ["apns-topic", "apns-collapse-id"] where request.value(name) != nil {
      complaints.add("\(name) is no part of a broadcast", now)
    }
    if request.value("apns-priority") == "1" {
      complaints.add("priority 1 is on the broadcast page but not on ActivityKit's", now)
    }
  }

  private mutating func noteRefusedBroadcast(
    _ request: SimulatedRequest, _ bundleID: String, _ reason: Reason
  ) {
    guard let channelID = request.value("apns-channel-id") else { return }
    if reason == .tooManyRequests {
      apps[bundleID]?.channels[channelID]?.ledger.throttle()
    } else {
      apps[bundleID]?.channels[channelID]?.ledger.refused += 1
    }
  }

  private mutating func publish(
    _ body: JSONValue, _ headers: Headers, _ bundleID: String, now: UnixTime
  ) {
    let payload = ActivityPayload(
      body, path: .broadcast, nowSeconds: now.wholeSeconds, schemas: configuration.schemas)
    for text in payload.complaints { complaints.add("broadcast: \(text)", now) }
    let push = ActivityPush(
      number: takePushNumber(), acceptedAt: now, priority: headers.priority,
      storage: storage(headers.expirationSeconds, now: now), payload: payload)
    let limit = ledgerLimit
    let references = apps[bundleID]?.channels[headers.channelID]?.publish(push, keeping: limit)
    journal.accept(.init(bundleID: bundleID, channelID: headers.channelID, push: push))
    foldCrowds(bundleID, headers.channelID, now: now)
    for reference in references ?? [] {
      dispatch(push, to: .subscribed(reference.activityID), phone: reference.phone, now: now)
    }
  }

  /// A policy of no storage has been checked to come with an expiration of 0.
  private func storage(_ expirationSeconds: Int64, now: UnixTime) -> ActivityPush.Storage {
    guard expirationSeconds != 0 else { return .none }
    let wish = UnixTime(wholeSeconds: min(expirationSeconds, 1 << 33))
    return .until(min(wish, now + configuration.channels.storageLimit))
  }

  /// How many broadcasts one channel may keep.
  private var ledgerLimit: Int {
    let share = configuration.channels.retainedBroadcastsInAll / max(1, channelCount)
    return max(4, min(configuration.channels.retainedBroadcasts, share))
  }
}

extension Channel {
  /// - Returns: the single phones' activities that are to get it.
  mutating func publish(_ push: ActivityPush, keeping limit: Int) -> [ActivityReference] {
    ledger.accept(push, keeping: limit)
    if case .until = push.storage { stored = push }
    if !crowds.isEmpty { inFlight.append(push) }
    return subscribers
  }
}
