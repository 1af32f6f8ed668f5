internal import Clocks
internal import JSON

// Pushes to one device token.
extension SimulatedAPNs {
  /// What the checks have found so far; later ones build on it.
  private struct Draft {
    var key: RegisteredKey?
    var topic: String?
    var pushTopic: PushTopic?
    var token: DeviceToken?
    var expirationSeconds: Int64?
    var priority = 10
    var body: JSONValue?
  }

  private struct DeviceRefusal: Error {
    var reason: Reason
    var since: UnixTime?
    init(_ reason: Reason, since: UnixTime? = nil) {
      self.reason = reason
      self.since = since
    }
  }

  mutating func devicePush(
    _ request: SimulatedRequest, connection: inout ConnectionMemory, now: UnixTime
  ) -> SimulatedAnswer {
    advance(to: now)
    var draft = Draft()
    do throws(DeviceRefusal) {
      for check in configuration.devices.order {
        try apply(check, to: request, &draft, &connection, now: now)
      }
      try takeTokenBudget(draft, now: now)
    } catch {
      return refusal(error.reason, request, isDevice: true, timestamp: error.since)
    }
    deliver(request, draft, now: now)
    var fields: [SimulatedField] = []
    if configuration.environment == .development {
      fields.append(SimulatedField("apns-unique-id", random.uuid()))
    }
    return acceptance(200, request, isDevice: true, fields: fields)
  }

  private mutating func apply(
    _ check: DevicePushSettings.Check, to request: SimulatedRequest, _ draft: inout Draft,
    _ connection: inout ConnectionMemory, now: UnixTime
  ) throws(DeviceRefusal) {
    switch check {
    case .authentication:
      let authentication = authenticate(request, &connection, now: now)
      guard let key = authentication.key else {
        throw DeviceRefusal(authentication.reason ?? .forbidden)
      }
      draft.key = key
    case .path: try checkPath(request)
    case .method: if request.method != "POST" { throw DeviceRefusal(.methodNotAllowed) }
    case .headers: try checkHeaders(request, &draft)
    case .token: try checkToken(request, &draft, now: now)
    case .topic: try checkTopic(&draft)
    case .payload: try checkPayload(request, &draft, now: now)
    }
  }

  private func checkPath(_ request: SimulatedRequest) throws(DeviceRefusal) {
    let parts = request.path.split(separator: "/", omittingEmptySubsequences: false)
    guard parts.count == 4 || parts.count == 3, parts[1] == "3", parts[2] == "device" else {
      throw DeviceRefusal(.badPath)
    }
    if parts.count == 3 || parts[3].isEmpty { throw DeviceRefusal(.missingDeviceToken) }
  }

  private func checkHeaders(
    _ request: SimulatedRequest, _ draft: inout Draft
  ) throws(DeviceRefusal) {
    if request.repeatedField != nil { throw DeviceRefusal(.duplicateHeaders) }
    if let messageID = request.value("apns-id"), !RequestSyntax.isUUID(messageID) {
      throw DeviceRefusal(.badMessageID)
    }
    if let collapseID = request.value("apns-collapse-id"), collapseID.utf8.count > 64 {
      throw DeviceRefusal(.badCollapseID)
    }
    if let text = request.value("apns-expiration") {
      guard let seconds = RequestSyntax.epochSeconds(text) else {
        throw DeviceRefusal(.badExpirationDate)
      }
      draft.expirationSeconds = seconds
    }
    if let text = request.value("apns-priority") {
      guard let priority = RequestSyntax.priority(text) else { throw DeviceRefusal(.badPriority) }
      draft.priority = priority
    }
    try checkPushType(request, &draft)
  }

  private func checkPushType(
    _ request: SimulatedRequest, _ draft: inout Draft
  ) throws(DeviceRefusal) {
    if let text = request.value("apns-push-type") {
      guard let pushTopic = PushTopic.named(text) else { throw DeviceRefusal(.invalidPushType) }
      draft.pushTopic = pushTopic
    } else if configuration.devices.requiresPushType {
      throw DeviceRefusal(.missingPushType)
    }
    let type = draft.pushTopic?.pushType
    if type == "background", draft.priority == 10 { throw DeviceRefusal(.badPriority) }
    if type == "liveactivity", draft.priority == 1 { throw DeviceRefusal(.badPriority) }
    guard let topic = request.value("apns-topic"), !topic.isEmpty else {
      throw DeviceRefusal(.missingTopic)
    }
    draft.topic = topic
  }

  private mutating func checkToken(
    _ request: SimulatedRequest, _ draft: inout Draft, now: UnixTime
  ) throws(DeviceRefusal) {
    let text = request.path.split(separator: "/").last.map(String.init) ?? ""
    let isHexadecimal = text.utf8.allSatisfy {
      RequestSyntax.isLowerHexadecimal($0) || (UInt8(ascii: "A")...UInt8(ascii: "F")).contains($0)
    }
    guard isHexadecimal, text.utf8.count % 2 == 0, let token = deviceTokens[text.lowercased()]
    else { throw DeviceRefusal(.badDeviceToken) }
    switch state(of: token, now: now) {
    case .active, .zombie: draft.token = token
    case .wrongEnvironment: throw DeviceRefusal(.badDeviceToken)
    case .unregistered(let since): throw DeviceRefusal(.unregistered, since: since)
    case .expired(let since): throw DeviceRefusal(.expiredToken, since: since)
    }
  }

  /// An update token dies with its activity, after a while.
  private func state(of token: DeviceToken, now: UnixTime) -> DeviceToken.State {
    guard token.state == .active, token.kind == .update, let activityID = token.activityID,
      let lag = configuration.phones.tokenExpiryLag, let phone = phones[token.phone],
      let index = phone.index(of: activityID)
    else { return token.state }
    var card = phone.activities[index].card
    card.settle(at: now, configuration.phones)
    guard let endedAt = card.endedAt, endedAt + lag <= now else { return token.state }
    return .expired(since: endedAt + lag)
  }

  private func checkTopic(_ draft: inout Draft) throws(DeviceRefusal) {
    guard let topic = draft.topic, let token = draft.token else {
      throw DeviceRefusal(.missingTopic)
    }
    let (bundleID, suffix) = PushTopic.split(topic)
    // A topic that nobody has, or one that belongs to another push type.
    guard let app = apps[bundleID] else { throw DeviceRefusal(.badTopic) }
    if let expected = draft.pushTopic?.suffix, expected != suffix {
      throw DeviceRefusal(.badTopic)
    }
    if let key = draft.key, app.settings.teamID != key.teamID || !key.covers(bundleID) {
      throw DeviceRefusal(.topicDisallowed)
    }
    let isActivityToken = token.kind != .device
    guard token.bundleID == bundleID, isActivityToken == (suffix == ".push-type.liveactivity")
    else { throw DeviceRefusal(.deviceTokenNotForTopic) }
  }

  private mutating func checkPayload(
    _ request: SimulatedRequest, _ draft: inout Draft, now: UnixTime
  ) throws(DeviceRefusal) {
    if request.body.isEmpty { throw DeviceRefusal(.payloadEmpty) }
    let limit = draft.pushTopic?.limitBytes ?? 4096
    if request.body.count > limit { throw DeviceRefusal(.payloadTooLarge) }
    if RequestSyntax.isCompressed(request) { throw DeviceRefusal(.badRequestPayload) }
    draft.body = try? JSONValue.parse(request.body)
    if draft.body?.object == nil {
      complaints.add("device push: the body is not a JSON object", now)
    }
  }

  private mutating func takeTokenBudget(_ draft: Draft, now: UnixTime) throws(DeviceRefusal) {
    guard let rate = configuration.devices.tokenBudget, let token = draft.token else { return }
    guard deviceTokens[token.text]?.budget.take(now, rate) ?? true else {
      throw DeviceRefusal(.tooManyRequests)
    }
  }

  private mutating func deliver(_ request: SimulatedRequest, _ draft: Draft, now: UnixTime) {
    guard let token = draft.token else { return }
    let number = takePushNumber()
    guard token.state != .zombie else {
      phones[token.phone]?.note(
        PhoneEvent(at: now, push: number, outcome: .dropped(.zombieToken)))
      return
    }
    guard token.kind != .device else {
      let notification = SimulatedNotification(
        number: number, acceptedAt: now, pushType: draft.pushTopic?.pushType ?? "alert",
        priority: draft.priority, collapseID: request.value("apns-collapse-id"),
        storage: storage(draft.expirationSeconds, now: now), body: request.body)
      complain(about: notification, draft.body, now: now)
      dispatch(notification, phone: token.phone, now: now)
      return
    }
    let payload = ActivityPayload(
      draft.body ?? .null, path: .device, nowSeconds: now.wholeSeconds,
      schemas: configuration.schemas)
    for text in payload.complaints { complaints.add("device push: \(text)", now) }
    let push = ActivityPush(
      number: number, acceptedAt: now, priority: draft.priority,
      storage: storage(draft.expirationSeconds, now: now), payload: payload)
    let target = token.activityID.map(DeliveryTarget.activity) ?? .start
    dispatch(push, to: target, phone: token.phone, now: now)
  }

  /// Without an expiration APNs keeps a push for thirty days, which is also the most.
  private func storage(_ expirationSeconds: Int64?, now: UnixTime) -> ActivityPush.Storage {
    let limit = now + .seconds(30 * 86_400)
    guard let expirationSeconds else { return .until(limit) }
    if expirationSeconds == 0 { return .none }
    return .until(min(limit, UnixTime(wholeSeconds: min(expirationSeconds, 1 << 33))))
  }

  private mutating func complain(
    about notification: SimulatedNotification, _ body: JSONValue?, now: UnixTime
  ) {
    guard let aps = body?["aps"]?.object else {
      complaints.add("device push: the payload has no aps object", now)
      return
    }
    let visible = ["alert", "badge", "sound"].contains { aps[$0] != nil }
    switch notification.pushType {
    case "alert" where !visible:
      complaints.add("device push: an alert push without alert, badge or sound", now)
    case "background" where visible || aps["content-available"]?.int64 != 1:
      complaints.add(
        "device push: a background push is content-available 1 without alert, badge, sound", now)
    default: break
    }
    for key in aps.keys where !Self.alertKeys.contains(key) {
      complaints.add("device push: aps.\(key) is unknown to notifications", now)
    }
  }

  private static let alertKeys: Set<String> = [
    "alert", "badge", "sound", "thread-id", "category", "content-available", "mutable-content",
    "target-content-id", "interruption-level", "relevance-score", "filter-criteria",
  ]
}
