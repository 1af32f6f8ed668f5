package import Clocks
package import JSON

/// The body of one broadcast: an update or the end of a Live Activity on every subscribed phone.
///
/// A start cannot be broadcast, so there is no case for it. The content-state travels byte for byte
/// as the caller gave it.
package struct BroadcastPayload: Sendable {
  package enum Event: Sendable, Hashable {
    /// - Parameters:
    ///   - staleDate: when the card shall call itself outdated.
    ///   - relevance: any finite number; the highest of an app's cards is shown in the Island.
    case update(staleDate: UnixTime? = nil, relevance: Double? = nil)
    /// - Parameter dismissalDate: when the card leaves the Lock Screen; a past date means at once,
    ///   none means up to 4 hours, and more than 4 hours are cut to 4.
    case end(dismissalDate: UnixTime? = nil)
  }

  package var event: Event
  /// Whole seconds since 1970; the phone keeps the state with the greatest one.
  package var timestampSeconds: Int64
  package var contentState: JSONText
  package var alert: LiveActivityAlert?

  /// Apple's limit for the whole payload of a broadcast.
  package static let limitBytes = 5_120
  /// ActivityKit's limit for content-state and attributes together, also in updates.
  package static let contentLimitBytes = 4_096

  package init(
    _ event: Event, timestampSeconds: Int64, contentState: JSONText,
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
  package func encoded(attributesBytes: Int = 0) throws(PayloadError) -> [UInt8] {
    guard contentState.root.kind == .object else { throw .notAnObject(name: "content-state") }
    let contentBytes = contentState.bytes.count + attributesBytes
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

  private func written() -> [UInt8] {
    var writer = JSONWriter(reservingCapacity: contentState.bytes.count + 256)
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
      writer.member("content-state", contentState)
      if let staleDate { writer.member("stale-date", staleDate.wholeSeconds) }
      if let relevance {
        writer.key("relevance-score")
        writer.double(relevance)
      }
    case .end(let dismissalDate):
      writer.member("event", "end")
      writer.member("content-state", contentState)
      if let dismissalDate { writer.member("dismissal-date", dismissalDate.wholeSeconds) }
    }
    alert?.write(to: &writer)
  }
}
