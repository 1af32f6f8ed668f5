public import Clocks
public import JSON

/// The body of one broadcast: an update or the end of a Live Activity on every subscribed phone.
///
/// A start cannot be broadcast, so there is no case for it. The content-state travels byte for byte
/// as the caller gave it.
public struct BroadcastPayload: Sendable {
  /// What happens to the card.
  public enum Event: Sendable, Hashable {
    /// - Parameters:
    ///   - staleDate: when the card shall call itself outdated.
    ///   - relevance: any finite number; the highest of an app's cards is shown in the Island.
    case update(staleDate: UnixTime? = nil, relevance: Double? = nil)
    /// - Parameter dismissalDate: when the card leaves the Lock Screen; a past date means at once,
    ///   none means up to 4 hours, and more than 4 hours are cut to 4.
    case end(dismissalDate: UnixTime? = nil)
  }

  /// What happens to the card.
  public var event: Event
  /// Whole seconds since 1970; the phone keeps the state with the greatest one.
  public var timestampSeconds: Int64
  /// Only an end may be without one; the card then keeps what it shows.
  public var contentState: JSONText?
  /// Lights the phone up; none changes the card quietly.
  public var alert: LiveActivityAlert?

  /// Apple's limit for the whole payload of a broadcast.
  public static let limitBytes = 5_120
  /// ActivityKit's limit for content-state and attributes together, also in updates.
  public static let contentLimitBytes = 4_096

  /// Nothing is checked before ``encoded(attributesBytes:)``.
  public init(
    _ event: Event, timestampSeconds: Int64, contentState: JSONText?,
    alert: LiveActivityAlert? = nil
  ) {
    self.event = event
    self.timestampSeconds = timestampSeconds
    self.contentState = contentState
    self.alert = alert
  }

  /// The bytes to send.
  ///
  /// - Parameter attributesBytes: size of the activity's attributes, which share the phone's 4 KB
  ///   with the content-state although an update does not carry them.
  public func encoded(attributesBytes: Int = 0) throws(PayloadError) -> [UInt8] {
    try Self.check(timestampSeconds: timestampSeconds)
    let isEnd = if case .end = event { true } else { false }
    guard contentState?.root.kind == .object || (isEnd && contentState == nil) else {
      throw .notAnObject(name: "content-state")
    }
    let contentBytes = (contentState?.bytes.count ?? 0) + attributesBytes
    guard contentBytes <= Self.contentLimitBytes else {
      throw .contentTooLarge(bytes: contentBytes, limit: Self.contentLimitBytes)
    }
    if case .update(_, let relevance?) = event, !relevance.isFinite {
      throw .outOfRange(name: "relevance-score", allowed: "a finite number")
    }
    try alert?.validate()
    let bytes = written()
    guard bytes.count <= Self.limitBytes else {
      throw .tooLarge(bytes: bytes.count, limit: Self.limitBytes)
    }
    return bytes
  }

  /// Milliseconds would lie so far ahead that phones drop the message.
  static func check(timestampSeconds: Int64) throws(PayloadError) {
    guard (0..<10_000_000_000).contains(timestampSeconds) else {
      throw .outOfRange(name: "timestamp", allowed: "whole seconds since 1970")
    }
  }

  private func written() -> [UInt8] {
    var writer = JSONWriter(reservingCapacity: (contentState?.bytes.count ?? 0) + 256)
    writer.object {
      $0.key("aps")
      $0.object { writeMembers(to: &$0) }
    }
    return writer.finish()
  }

  private func writeMembers(to writer: inout JSONWriter) {
    writer.member("timestamp", timestampSeconds)
    switch event {
    case .update(let staleDate, let relevance):
      writer.member("event", "update")
      if let contentState { writer.member("content-state", contentState) }
      if let staleDate { writer.member("stale-date", staleDate.wholeSeconds) }
      if let relevance {
        writer.key("relevance-score")
        writer.double(relevance)
      }
    case .end(let dismissalDate):
      writer.member("event", "end")
      if let contentState { writer.member("content-state", contentState) }
      if let dismissalDate { writer.member("dismissal-date", dismissalDate.wholeSeconds) }
    }
    alert?.write(to: &writer)
  }
}
