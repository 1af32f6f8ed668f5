internal import Clocks
internal import Crypto
internal import JSON

// The management interface: create, read, delete and list the channels of an app.
extension SimulatedAPNs {
  private enum Operation: Equatable {
    case create, read, delete, list
  }

  mutating func channelRequest(
    _ request: SimulatedRequest, connection: inout ConnectionMemory, now: UnixTime
  ) -> SimulatedAnswer {
    let authentication = authenticate(request, &connection, now: now)
    guard let credential = authentication.credential else {
      return refusal(authentication.reason ?? .forbidden, request, isDevice: false)
    }
    let route: (bundleID: String, operation: Operation)
    switch Self.route(request) {
    case .success(let found): route = found
    case .failure(let refused): return refusal(refused.reason, request, isDevice: false)
    }
    if let reason = commonRefusal(request, bundleID: route.bundleID, credential: credential) {
      return refusal(reason, request, isDevice: false)
    }
    switch route.operation {
    case .create: return create(request, route.bundleID, now: now)
    case .read: return read(request, route.bundleID)
    case .delete: return delete(request, route.bundleID, now: now)
    case .list: return list(request, route.bundleID)
    }
  }

  struct Refused: Error {
    var reason: Reason
    init(_ reason: Reason) { self.reason = reason }
  }

  private static func route(
    _ request: SimulatedRequest
  ) -> Result<(bundleID: String, operation: Operation), Refused> {
    let parts = request.path.split(separator: "/", omittingEmptySubsequences: false)
    guard parts.count == 5, parts[0].isEmpty, parts[1] == "1", parts[2] == "apps",
      !parts[3].isEmpty
    else { return .failure(Refused(.badPath)) }
    let bundleID = String(parts[3])
    guard ["GET", "POST", "DELETE"].contains(request.method) else {
      let isKnown = parts[4] == "channels" || parts[4] == "all-channels"
      return .failure(Refused(isKnown ? .methodNotAllowed : .badPath))
    }
    // A known method on the wrong path is a bad pair, which Apple's table files under BadPath.
    switch (request.method, parts[4]) {
    case ("POST", "channels"): return .success((bundleID, .create))
    case ("GET", "channels"): return .success((bundleID, .read))
    case ("DELETE", "channels"): return .success((bundleID, .delete))
    case ("GET", "all-channels"): return .success((bundleID, .list))
    default: return .failure(Refused(.badPath))
    }
  }

  /// What channel management and broadcasts check alike, once path and method are right.
  func commonRefusal(
    _ request: SimulatedRequest, bundleID: String, credential: ProviderCredential
  ) -> Reason? {
    if PushTopic.hasSuffix(bundleID) { return .topicDisallowed }
    guard let app = apps[bundleID], app.settings.teamID == credential.teamID,
      credential.covers(bundleID)
    else { return .topicMismatch }
    if !app.settings.hasBroadcastCapability { return .featureNotEnabled }
    if request.repeatedField != nil { return .duplicateHeaders }
    if let requestID = broadcastRequestID(request), !RequestSyntax.isUUID(requestID) {
      return .badMessageID
    }
    return nil
  }

  /// The ID in the header, checked for its shape only.
  func channelID(_ request: SimulatedRequest) -> Result<String, Refused> {
    guard let text = request.value("apns-channel-id"), !text.isEmpty else {
      return .failure(Refused(.missingChannelID))
    }
    guard text.utf8.count <= configuration.channels.channelIDLimit,
      Base64.standard.decode(text) != nil
    else { return .failure(Refused(.badChannelID)) }
    return .success(text)
  }

  private mutating func create(
    _ request: SimulatedRequest, _ bundleID: String, now: UnixTime
  ) -> SimulatedAnswer {
    let policy: StoragePolicy
    switch Self.policy(in: request) {
    case .success(let wanted): policy = wanted
    case .failure(let refused): return refusal(refused.reason, request, isDevice: false)
    }
    guard let app = apps[bundleID], app.channels.count < configuration.channels.limitPerApp else {
      return refusal(.cannotCreateChannelConfig, request, isDevice: false)
    }
    if request.value("apns-channel-id") != nil {
      complaints.add("apns-channel-id on create: APNs chooses the ID", now)
    }
    let channelID = Base64.standard.encodeText(random.bytes(16))
    let channel = Channel(channelID: channelID, policy: policy, createdAt: now)
    apps[bundleID]?.channels[channelID] = channel
    apps[bundleID]?.channelOrder.append(channelID)
    channelCount += 1
    return acceptance(
      201, request, isDevice: false, fields: [SimulatedField("apns-channel-id", channelID)])
  }

  private static func policy(in request: SimulatedRequest) -> Result<StoragePolicy, Refused> {
    if request.body.isEmpty { return .failure(Refused(.payloadEmpty)) }
    if RequestSyntax.isCompressed(request) { return .failure(Refused(.badRequestPayload)) }
    guard let body = (try? JSONValue.parse(request.body))?.object else {
      return .failure(Refused(.badRequestPayload))
    }
    let known = ["message-storage-policy", "push-type"]
    guard body.keys.allSatisfy(known.contains),
      let number = body["message-storage-policy"]?.int64,
      let policy = StoragePolicy(rawValue: Int(clamping: number)),
      let pushType = body["push-type"]?.string
    else { return .failure(Refused(.badRequestParams)) }
    guard pushType == "LiveActivity" else { return .failure(Refused(.invalidPushType)) }
    return .success(policy)
  }

  private mutating func read(_ request: SimulatedRequest, _ bundleID: String) -> SimulatedAnswer {
    switch channelID(request) {
    case .failure(let refused): return refusal(refused.reason, request, isDevice: false)
    case .success(let channelID):
      guard let channel = apps[bundleID]?.channels[channelID] else {
        return refusal(.channelNotRegistered, request, isDevice: false)
      }
      let body =
        "{\"message-storage-policy\":\(channel.policy.rawValue),\"push-type\":\"LiveActivity\"}"
      return acceptance(
        200, request, isDevice: false,
        fields: [SimulatedField("content-type", "application/json")], body: Array(body.utf8))
    }
  }

  private mutating func delete(
    _ request: SimulatedRequest, _ bundleID: String, now: UnixTime
  ) -> SimulatedAnswer {
    switch channelID(request) {
    case .failure(let refused): return refusal(refused.reason, request, isDevice: false)
    case .success(let channelID):
      guard var channel = apps[bundleID]?.channels.removeValue(forKey: channelID) else {
        return refusal(.channelNotRegistered, request, isDevice: false)
      }
      // Messages that are stored or on their way may still arrive, so the channel is kept aside.
      channel.deletedAt = now
      apps[bundleID]?.remember(channel)
      channelCount -= 1
      return acceptance(204, request, isDevice: false)
    }
  }

  private mutating func list(_ request: SimulatedRequest, _ bundleID: String) -> SimulatedAnswer {
    var writer = JSONWriter()
    let channelIDs = orderedChannelIDs(of: bundleID)
    writer.object { writer in
      writer.key("channels")
      writer.array { writer in
        for channelID in channelIDs { writer.string(channelID) }
      }
    }
    return acceptance(
      200, request, isDevice: false,
      fields: [SimulatedField("content-type", "application/json")], body: writer.finish())
  }

  /// In the order of creation. Deleted IDs are swept out here, not one by one.
  mutating func orderedChannelIDs(of bundleID: String) -> [String] {
    guard let app = apps[bundleID] else { return [] }
    if app.channelOrder.count != app.channels.count {
      let living = app.channelOrder.filter { app.channels[$0] != nil }
      apps[bundleID]?.channelOrder = living
      return living
    }
    return app.channelOrder
  }
}
