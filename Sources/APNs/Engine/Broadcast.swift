package import Clocks

/// One broadcast, ready to be sent: to which channel, how, and the exact bytes.
package struct Broadcast: Sendable {
  package var channelID: ChannelID
  package var priority: PushPriority
  /// Until when APNs may keep it for phones that are offline; nil does not keep it.
  package var keepUntil: UnixTime?
  /// The body, as ``BroadcastPayload/encoded(attributesBytes:)`` makes it.
  package var payload: [UInt8]
  /// Comes back in APNs' answer, and stands in its logs. Made here when nil.
  package var requestID: String?

  /// - Parameters:
  ///   - storage: the channel's policy. With ``ChannelStorage/none`` nothing is kept, whatever
  ///     `keepUntil` says: APNs refuses such a broadcast with `BadExpirationDate`.
  ///   - priority: see ``PushPriority``.
  package init(
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
