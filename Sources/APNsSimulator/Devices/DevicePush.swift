internal import Clocks
internal import JSON

/// What the checks of a device push have found so far; later ones build on it.
struct DevicePushDraft {
  var credential: ProviderCredential?
  var topic: String?
  var pushTopic: PushTopic?
  var token: DeviceToken?
  var expirationSeconds: Int64?
  var priority = 10
  var body: JSONValue?
}

struct DeviceRefusal: Error {
  var reason: Reason
  /// When APNs learnt that the token is dead.
  var since: UnixTime?

  init(_ reason: Reason, since: UnixTime? = nil) {
    self.reason = reason
    self.since = since
  }
}

// Pushes to one device token.
extension SimulatedAPNs {
  mutating func devicePush(
    _ request: SimulatedRequest, connection: inout ConnectionMemory, now: UnixTime
  ) -> SimulatedAnswer {
    advance(to: now)
    var draft = DevicePushDraft()
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
    _ check: DevicePushSettings.Check, to request: SimulatedRequest, _ draft: inout DevicePushDraft,
    _ connection: inout ConnectionMemory, now: UnixTime
  ) throws(DeviceRefusal) {
    switch check {
    case .authentication:
      let authentication = authenticate(request, &connection, now: now)
      guard let credential = authentication.credential else {
        throw DeviceRefusal(authentication.reason ?? .forbidden)
      }
      draft.credential = credential
    case .path: try checkPath(request)
    case .method: if request.method != "POST" { throw DeviceRefusal(.methodNotAllowed) }
    case .headers: try checkHeaders(request, &draft)
    case .token: try checkToken(request, &draft, now: now)
    case .topic: try checkTopic(&draft)
    case .payload: try checkPayload(request, &draft, now: now)
    }
  }

  private mutating func takeTokenBudget(_ draft: DevicePushDraft, now: UnixTime)
    throws(DeviceRefusal)
  {
    guard let rate = configuration.devices.tokenBudget, let token = draft.token else { return }
    guard deviceTokens[token.text]?.budget.take(now, rate) ?? true else {
      throw DeviceRefusal(.tooManyRequests)
    }
  }

  private mutating func deliver(
    _ request: SimulatedRequest, _ draft: DevicePushDraft, now: UnixTime
  ) {
    guard let token = draft.token else { return }
    let number = takePushNumber()
    guard token.state != .zombie else {
      phones[token.phone]?.note(
        PhoneEvent(at: now, push: number, outcome: .dropped(.zombieToken)))
      return
    }
    guard token.kind.isForActivities else {
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
    // Pushes of other types are for the app alone, which need not look for aps.
    guard ["alert", "background"].contains(notification.pushType) else { return }
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
