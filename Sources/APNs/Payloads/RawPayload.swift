public import JSON

/// A payload that the caller wrote, checked against the rules of its push type and then sent byte
/// for byte.
///
/// What is checked is what APNs refuses or a phone silently drops; members that nobody here knows
/// pass.
public struct RawPayload: PushPayload {
  public let type: PushType
  let bytes: [UInt8]

  /// The bytes as the caller gave them.
  public func encoded() -> [UInt8] { bytes }

  /// - Throws: ``PayloadError`` that names the rule.
  public init(_ text: JSONText, for type: PushType) throws(PayloadError) {
    bytes = text.bytes
    self.type = type
    let limit = type.payloadLimitBytes
    guard bytes.count <= limit else { throw .tooLarge(bytes: bytes.count, limit: limit) }
    let root = text.root
    guard root.kind == .object else { throw .notAnObject(name: "The payload") }
    let aps = root["aps"]
    if let aps, aps.kind != .object { throw .notAnObject(name: "aps") }
    switch type {
    case .alert: try Self.checkAlert(aps)
    case .background: try Self.checkBackground(aps)
    case .liveActivity: try Self.checkLiveActivity(aps)
    case .mdm:
      guard root["mdm"]?.string != nil else {
        throw .conflict("A push of type mdm has the device's PushMagic as mdm.")
      }
    case .fileProvider:
      guard root["container-identifier"]?.string != nil else {
        throw .conflict("A push of type fileprovider names the container in container-identifier.")
      }
    case .widgets, .controls, .location, .voip, .pushToTalk, .complication, .accessory: break
    }
  }

  /// Checks the body of a broadcast that the caller wrote.
  static func checkBroadcast(_ text: JSONText) throws(PayloadError) {
    let limit = BroadcastPayload.limitBytes
    guard text.bytes.count <= limit else { throw .tooLarge(bytes: text.bytes.count, limit: limit) }
    guard text.root.kind == .object else { throw .notAnObject(name: "The payload") }
    let aps = text.root["aps"]
    if aps?["event"]?.string == "start" {
      throw .conflict("A start cannot be broadcast; push it to the push-to-start tokens.")
    }
    try checkLiveActivity(aps)
  }

  private static func checkAlert(_ aps: JSONSlice?) throws(PayloadError) {
    guard let aps, ["alert", "badge", "sound"].contains(where: { aps[$0] != nil }) else {
      throw .conflict("A push of type alert has alert, badge or sound in its aps object.")
    }
  }

  private static func checkBackground(_ aps: JSONSlice?) throws(PayloadError) {
    guard let aps, aps["content-available"]?.number?.int64 == 1 else {
      throw .conflict("A push of type background has \"content-available\": 1 in its aps object.")
    }
    for key in ["alert", "badge", "sound"] where aps[key] != nil {
      throw .conflict("A push of type background has no \(key); send it with type alert.")
    }
  }

  private static func checkLiveActivity(_ aps: JSONSlice?) throws(PayloadError) {
    guard let aps, let event = aps["event"]?.string, ["start", "update", "end"].contains(event)
    else {
      throw .conflict("A push of type liveactivity has the event start, update or end in its aps.")
    }
    for key in ["timestamp", "stale-date", "dismissal-date"] {
      try checkSeconds(aps[key], key, isRequired: key == "timestamp")
    }
    if event != "end" || aps["content-state"] != nil {
      guard aps["content-state"]?.kind == .object else { throw .notAnObject(name: "content-state") }
    }
    if event == "start" { try checkStart(aps) }
    let contentBytes =
      (aps["content-state"]?.range.count ?? 0) + (aps["attributes"]?.range.count ?? 0)
    guard contentBytes <= BroadcastPayload.contentLimitBytes else {
      throw .contentTooLarge(bytes: contentBytes, limit: BroadcastPayload.contentLimitBytes)
    }
  }

  private static func checkStart(_ aps: JSONSlice) throws(PayloadError) {
    guard let type = aps["attributes-type"]?.string, !type.isEmpty else {
      throw .conflict("A start names the app's ActivityAttributes struct in attributes-type.")
    }
    guard aps["attributes"]?.kind == .object else { throw .notAnObject(name: "attributes") }
    guard let alert = aps["alert"], alert["title"] != nil, alert["body"] != nil else {
      throw .incompleteAlert
    }
    if aps["input-push-token"] != nil && aps["input-push-channel"] != nil {
      throw .conflict(
        "An activity is updated by token or by channel: give one of "
          + "input-push-token and input-push-channel.")
    }
  }

  /// Milliseconds lie so far ahead that a phone drops the push.
  private static func checkSeconds(
    _ value: JSONSlice?, _ name: String, isRequired: Bool
  ) throws(PayloadError) {
    if value == nil && !isRequired { return }
    guard let seconds = value?.number?.int64, (0..<10_000_000_000).contains(seconds) else {
      throw .outOfRange(name: name, allowed: "whole seconds since 1970")
    }
  }
}
