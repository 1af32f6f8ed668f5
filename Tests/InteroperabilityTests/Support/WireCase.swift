import APNsSimulator

/// One request as any client may send it, and what APNs has to answer.
struct WireCase: Sendable {
  enum Port: String, Sendable { case push, management }

  var name: String
  var port = Port.push
  var method = "POST"
  var path: String
  var fields: [(name: String, value: String)]
  var body: String
  var status: Int
  /// In the body of a refusal; nil where there is none.
  var reason: String?
  /// Whether the answer depends on what the connection saw before: with a connection of its own
  /// the request is accepted.
  var needsHistory = false

  /// Fields that the answer must have.
  var answers: [String] {
    let id = path.hasPrefix("/3/") ? "apns-id" : "apns-request-id"
    return reason == nil ? [id] : [id, "content-type"]
  }
}

extension WireCase {
  /// Device pushes, broadcasts and channel management, right and wrong.
  static func all(_ site: Site) -> [WireCase] {
    accepted(site) + headers(site) + targets(site) + bodies(site) + credentials(site)
      + channels(site) + broadcasts(site)
  }

  private static let alert = #"{"aps":{"alert":{"title":"Tide","body":"falls until 16:40 🌊"}}}"#

  private static func push(
    _ name: String, _ site: Site, _ status: Int, _ reason: String? = nil, token: String? = nil,
    type: String? = "alert", topic: String? = "", adding more: [(String, String)] = [],
    bearer: String? = "", body: String = alert
  ) -> WireCase {
    var fields: [(String, String)] = []
    if let bearer { fields.append(("authorization", bearer.isEmpty ? site.bearers.good : bearer)) }
    if let type { fields.append(("apns-push-type", type)) }
    if let topic { fields.append(("apns-topic", topic.isEmpty ? site.bundleID : topic)) }
    return WireCase(
      name: name, path: "/3/device/\(token ?? site.phones.device)", fields: fields + more,
      body: body, status: status, reason: reason)
  }

  private static func accepted(_ site: Site) -> [WireCase] {
    let start =
      #"{"aps":{"timestamp":1790000000,"event":"start","attributes-type":"FieldTripAttributes","#
      + #""attributes":{"name":"n","notebook":"b","tripID":"1"},"content-state":"#
      + #"{"notesCaptured":0},"alert":{"title":"t","body":"b"}}}"#
    return [
      push("an alert", site, 200),
      push(
        "an alert with every header", site, 200,
        adding: [
          ("apns-id", "0a020a52-6f0c-4cf3-9f2e-0123456789ab"), ("apns-priority", "5"),
          ("apns-expiration", "1790000000"),
          ("apns-collapse-id", String(repeating: "c", count: 64)),
        ]),
      push(
        "a background push", site, 200, type: "background", adding: [("apns-priority", "5")],
        body: #"{"aps":{"content-available":1}}"#),
      push(
        "a start of a Live Activity", site, 200, token: site.phones.start, type: "liveactivity",
        topic: site.bundleID + ".push-type.liveactivity", body: start),
      push("a push of 4096 bytes", site, 200, body: filled(4096)),
      push(
        "a call of 5120 bytes", site, 200, token: site.phones.calls, type: "voip",
        topic: site.bundleID + ".voip", body: filled(5120)),
    ]
  }

  private static func headers(_ site: Site) -> [WireCase] {
    [
      push("no topic", site, 400, "MissingTopic", topic: nil),
      push("a topic that nobody has", site, 400, "BadTopic", topic: "com.example.nobody"),
      push("a topic of another type", site, 400, "BadTopic", topic: site.bundleID + ".voip"),
      push(
        "another team's topic", site, 400, "TopicDisallowed", topic: Site.strangersBundleID),
      push("no push type", site, 400, "MissingPushType", type: nil),
      push("an unknown push type", site, 400, "InvalidPushType", type: "Alert"),
      push("priority 7", site, 400, "BadPriority", adding: [("apns-priority", "7")]),
      push("background at priority 10", site, 400, "BadPriority", type: "background"),
      push(
        "a date in words", site, 400, "BadExpirationDate", adding: [("apns-expiration", "soon")]),
      push("an ID that is no UUID", site, 400, "BadMessageId", adding: [("apns-id", "abc")]),
      push(
        "a collapse ID of 65 bytes", site, 400, "BadCollapseId",
        adding: [("apns-collapse-id", String(repeating: "c", count: 65))]),
      push(
        "a header twice", site, 400, "DuplicateHeaders",
        adding: [("apns-priority", "5"), ("apns-priority", "5")]),
    ]
  }

  private static func targets(_ site: Site) -> [WireCase] {
    var wrongPath = push("a wrong path", site, 404, "BadPath")
    wrongPath.path = "/3/devices/\(site.phones.device)"
    var get = push("GET", site, 405, "MethodNotAllowed", body: "")
    get.method = "GET"
    var put = push("PUT", site, 405, "MethodNotAllowed")
    put.method = "PUT"
    return [
      wrongPath, get, put,
      push("no token", site, 400, "MissingDeviceToken", token: ""),
      push("a token that is no hex", site, 400, "BadDeviceToken", token: "xyz0"),
      push(
        "half a token", site, 400, "BadDeviceToken", token: String(site.phones.device.prefix(31))),
      push("a token that was never issued", site, 400, "BadDeviceToken", token: "00112233aabbccdd"),
      push(
        "a token of the other environment", site, 400, "BadDeviceToken",
        token: site.phones.wrongEnvironment),
      push(
        "a token of another app", site, 400, "DeviceTokenNotForTopic", topic: Site.otherBundleID),
      push(
        "an alert to a start token", site, 400, "DeviceTokenNotForTopic", token: site.phones.start),
      push("a deleted app", site, 410, "Unregistered", token: site.phones.unregistered),
      push("an expired token", site, 410, "ExpiredToken", token: site.phones.expired),
      push("one push too many", site, 429, "TooManyRequests", token: site.phones.busy),
    ]
  }

  private static func bodies(_ site: Site) -> [WireCase] {
    [
      push("no body", site, 400, "PayloadEmpty", body: ""),
      push("half a body", site, 400, "BadRequestPayload", body: #"{"aps":{"al"#),
      push("a list", site, 400, "BadRequestPayload", body: "[1]"),
      push(
        "a compressed body", site, 400, "BadRequestPayload", adding: [("content-encoding", "gzip")]),
      push("a push of 4097 bytes", site, 413, "PayloadTooLarge", body: filled(4097)),
      push("a push of 100 kB", site, 413, "PayloadTooLarge", body: filled(100_000)),
      push(
        "a call of 5121 bytes", site, 413, "PayloadTooLarge", token: site.phones.calls,
        type: "voip", topic: site.bundleID + ".voip", body: filled(5121)),
    ]
  }

  private static func credentials(_ site: Site) -> [WireCase] {
    let bearers = site.bearers
    var renewed = push(
      "a token that was renewed too soon", site, 429, "TooManyProviderTokenUpdates",
      bearer: bearers.newer)
    renewed.needsHistory = true
    var unrelated = push(
      "another key than the first", site, 403, "UnrelatedKeyIdInToken",
      token: site.phones.ofOtherApp, topic: Site.otherBundleID, bearer: bearers.otherTopics)
    unrelated.needsHistory = true
    return [
      push("no provider token", site, 403, "MissingProviderToken", bearer: nil),
      push("another scheme", site, 403, "MissingProviderToken", bearer: "Basic YTpi"),
      push("a token of nonsense", site, 403, "InvalidProviderToken", bearer: "bearer a.b.c"),
      push("a forged token", site, 403, "InvalidProviderToken", bearer: bearers.forged),
      push("an unknown key", site, 403, "InvalidProviderToken", bearer: bearers.unknownKey),
      push("an old token", site, 403, "ExpiredProviderToken", bearer: bearers.expired),
      push(
        "a key for production", site, 403, "BadEnvironmentKeyIdInToken",
        bearer: bearers.otherEnvironment),
      renewed, unrelated,
    ]
  }

  private static func filled(_ bytes: Int) -> String {
    alert + String(repeating: " ", count: bytes - alert.utf8.count)
  }

  private static func manage(
    _ name: String, _ site: Site, _ method: String, _ status: Int, _ reason: String? = nil,
    path: String = "channels", channel: String? = nil, body: String = ""
  ) -> WireCase {
    var fields = [("authorization", site.bearers.good)]
    if let channel { fields.append(("apns-channel-id", channel)) }
    return WireCase(
      name: name, port: .management, method: method, path: "/1/apps/\(site.bundleID)/\(path)",
      fields: fields, body: body, status: status, reason: reason)
  }

  private static func channels(_ site: Site) -> [WireCase] {
    let settings = #"{"message-storage-policy":1,"push-type":"LiveActivity"}"#
    return [
      manage("a new channel", site, "POST", 201, body: settings),
      manage(
        "a channel with a word too many", site, "POST", 400, "BadRequestParams",
        body: #"{"message-storage-policy":1,"push-type":"LiveActivity","x":1}"#),
      manage("half a channel", site, "POST", 400, "BadRequestPayload", body: #"{"message"#),
      manage("a channel's settings", site, "GET", 200, channel: site.channels.storing),
      manage("no channel's settings", site, "GET", 400, "MissingChannelId"),
      manage("an unknown channel", site, "GET", 400, "ChannelNotRegistered", channel: "AAAA"),
      manage("a channel that is no base64", site, "GET", 400, "BadChannelId", channel: "a?b"),
      manage("all channels", site, "GET", 200, path: "all-channels"),
      manage("a deletion", site, "DELETE", 204, channel: site.channels.doomed),
      manage(
        "a second deletion", site, "DELETE", 400, "ChannelNotRegistered",
        channel: site.channels.doomed),
      manage("a bad pair", site, "POST", 404, "BadPath", path: "all-channels", body: settings),
      manage("PUT", site, "PUT", 405, "MethodNotAllowed", body: settings),
    ]
  }

  private static func broadcast(
    _ name: String, _ site: Site, _ status: Int, _ reason: String? = nil, app: String? = nil,
    changing changes: [String: String?] = [:], body: String? = nil
  ) -> WireCase {
    var fields = [
      ("authorization", site.bearers.good), ("apns-channel-id", site.channels.storing),
      ("apns-push-type", "liveactivity"), ("apns-priority", "5"), ("apns-expiration", "0"),
    ]
    for (name, value) in changes {
      fields.removeAll { $0.0 == name }
      if let value { fields.append((name, value)) }
    }
    let update =
      #"{"aps":{"timestamp":1790000000,"event":"update","content-state":{"notesCaptured":1}}}"#
    return WireCase(
      name: name, path: "/4/broadcasts/apps/\(app ?? site.bundleID)", fields: fields,
      body: body ?? update, status: status, reason: reason)
  }

  private static func broadcasts(_ site: Site) -> [WireCase] {
    [
      broadcast("a broadcast", site, 200),
      broadcast("a broadcast of 5120 bytes", site, 200, body: filled(5120)),
      broadcast("a broadcast of 5121 bytes", site, 413, "PayloadTooLarge", body: filled(5121)),
      broadcast(
        "a broadcast to no channel", site, 400, "MissingChannelId",
        changing: ["apns-channel-id": nil]),
      broadcast(
        "a broadcast to an unknown channel", site, 400, "ChannelNotRegistered",
        changing: ["apns-channel-id": "AAAA"]),
      broadcast(
        "a broadcast to be stored where nothing is", site, 400, "BadExpirationDate",
        changing: ["apns-channel-id": site.channels.notStoring, "apns-expiration": "1790000000"]),
      broadcast(
        "a broadcast to a topic", site, 400, "TopicDisallowed",
        app: site.bundleID + ".push-type.liveactivity"),
      broadcast(
        "a broadcast to another team's app", site, 403, "TopicMismatch",
        app: Site.strangersBundleID),
      broadcast("a broadcast that is no JSON", site, 400, "BadRequestPayload", body: "x"),
    ]
  }
}
