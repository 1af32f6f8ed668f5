public import Clocks
public import JSON

/// One broadcast, ready to be sent: to which channel, how, and the exact bytes.
public struct Broadcast: Sendable {
  /// Who is addressed: the phones that are subscribed to it.
  public var channelID: ChannelID
  /// What it may cost the phones.
  public var priority: PushPriority
  /// Until when APNs may keep it for phones that are offline; nil does not keep it.
  public var keepUntil: UnixTime?
  /// The body, as ``BroadcastPayload/encoded(attributesBytes:)`` makes it.
  public var payload: [UInt8]
  /// Comes back in APNs' answer, and stands in its logs. Made here when nil.
  public var requestID: String?

  /// - Parameters:
  ///   - storage: the channel's policy; see the other initialiser.
  ///   - payload: what to say; at most 5,120 bytes.
  /// - Throws: ``PayloadError`` that names the rule which the payload breaks.
  public init(
    to channelID: ChannelID, storage: ChannelStorage, priority: PushPriority,
    keepUntil: UnixTime? = nil, _ payload: BroadcastPayload, requestID: String? = nil
  ) throws(PayloadError) {
    self.init(
      to: channelID, storage: storage, priority: priority, keepUntil: keepUntil,
      payload: try payload.encoded(), requestID: requestID)
  }

  /// - Parameters:
  ///   - storage: the channel's policy; see the other initialiser.
  ///   - raw: the whole body, `aps` included, which is sent byte for byte.
  /// - Throws: ``PayloadError`` that names the rule which the payload breaks.
  public init(
    to channelID: ChannelID, storage: ChannelStorage, priority: PushPriority,
    keepUntil: UnixTime? = nil, raw: JSONText, requestID: String? = nil
  ) throws(PayloadError) {
    try RawPayload.checkBroadcast(raw)
    self.init(
      to: channelID, storage: storage, priority: priority, keepUntil: keepUntil,
      payload: raw.bytes, requestID: requestID)
  }

  /// - Parameters:
  ///   - storage: the channel's policy. With ``ChannelStorage/none`` nothing is kept, whatever
  ///     `keepUntil` says: APNs refuses such a broadcast with `BadExpirationDate`.
  ///   - priority: see ``PushPriority``.
  public init(
    to channelID: ChannelID, storage: ChannelStorage, priority: PushPriority,
    keepUntil: UnixTime? = nil, payload: [UInt8], requestID: String? = nil
  ) {
    self.channelID = channelID
    self.priority = priority
    self.keepUntil = storage == .mostRecent ? keepUntil : nil
    self.payload = payload
    self.requestID = requestID
  }

  /// The `apns-expiration` field: Unix seconds, 0 for "try once".
  var expiration: String { keepUntil.map { String($0.wholeSeconds) } ?? "0" }
}
