internal import Clocks
internal import JSON

// What a device push is refused for. Apple documents the reasons and not their order, which is in
// ``DevicePushSettings/order``.
extension SimulatedAPNs {
  func checkPath(_ request: SimulatedRequest) throws(DeviceRefusal) {
    let parts = request.path.split(separator: "/", omittingEmptySubsequences: false)
    guard parts.count == 4 || parts.count == 3, parts[1] == "3", parts[2] == "device" else {
      throw DeviceRefusal(.badPath)
    }
    if parts.count == 3 || parts[3].isEmpty { throw DeviceRefusal(.missingDeviceToken) }
  }

  func checkHeaders(
    _ request: SimulatedRequest, _ draft: inout DevicePushDraft
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
    _ request: SimulatedRequest, _ draft: inout DevicePushDraft
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
    // With a certificate for one topic alone, that one is meant where none is named.
    guard let topic = request.value("apns-topic") ?? draft.credential?.onlyTopic, !topic.isEmpty
    else { throw DeviceRefusal(.missingTopic) }
    draft.topic = topic
  }

  mutating func checkToken(
    _ request: SimulatedRequest, _ draft: inout DevicePushDraft, now: UnixTime
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
    case .unregistered(let since): throw gone(.unregistered, token, since)
    case .expired(let since): throw gone(.expiredToken, token, since)
    }
  }

  private mutating func gone(
    _ reason: Reason, _ token: DeviceToken, _ since: UnixTime
  ) -> DeviceRefusal {
    deviceTokens[token.text]?.timesGone += 1
    return DeviceRefusal(reason, since: since)
  }

  /// How often the provider sent to the same dead token, at most: one is to be sent to once.
  package var mostPushesToADeadToken: Int { deviceTokens.values.map(\.timesGone).max() ?? 0 }

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

  func checkTopic(_ draft: inout DevicePushDraft) throws(DeviceRefusal) {
    guard let topic = draft.topic, let token = draft.token else {
      throw DeviceRefusal(.missingTopic)
    }
    let (bundleID, suffix) = PushTopic.split(topic)
    // A topic that nobody has, or one that belongs to another push type.
    guard let app = apps[bundleID] else { throw DeviceRefusal(.badTopic) }
    if let expected = draft.pushTopic {
      guard expected.suffix == suffix,
        (expected.pushType == "mdm") == app.settings.isManagementTopic
      else { throw DeviceRefusal(.badTopic) }
    }
    if let credential = draft.credential,
      app.settings.teamID != credential.teamID
        || !credential.covers(topic: topic, bundleID: bundleID)
    {
      throw DeviceRefusal(.topicDisallowed)
    }
    guard token.bundleID == bundleID, token.topicSuffix == suffix else {
      throw DeviceRefusal(.deviceTokenNotForTopic)
    }
  }

  mutating func checkPayload(
    _ request: SimulatedRequest, _ draft: inout DevicePushDraft, now: UnixTime
  ) throws(DeviceRefusal) {
    if request.body.isEmpty { throw DeviceRefusal(.payloadEmpty) }
    let limit = draft.pushTopic?.limitBytes ?? 4096
    if request.body.count > limit { throw DeviceRefusal(.payloadTooLarge) }
    if RequestSyntax.isCompressed(request) { throw DeviceRefusal(.badRequestPayload) }
    draft.body = try? JSONValue.parse(request.body)
    guard draft.body?.object == nil else { return }
    if configuration.devices.refusesMalformedPayload { throw DeviceRefusal(.badRequestPayload) }
    complaints.add("device push: the body is not a JSON object", now)
  }
}
