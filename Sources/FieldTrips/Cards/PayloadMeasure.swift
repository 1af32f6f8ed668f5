import Clocks
package import JSON

/// Whether a state fits every way that it may have to go, found by building the payloads.
///
/// A trip may have members on its channel and members by token, and one may join at any time; so a
/// state must fit a remote start and an update by token too, and not just the roomier broadcast.
package struct PayloadMeasure: Sendable {
  private let type: ActivityType
  private let attributes: JSONText

  /// - Parameter attributes: as the trip has them; a start may say in them when it is.
  package init(type: ActivityType, attributes: JSONText) {
    self.type = type
    self.attributes = type.attributes(
      attributes, startingAt: UnixTime(wholeSeconds: latestDate))
  }

  /// By how many bytes a state is over the tightest limit; zero or less if it fits.
  package func excessBytes(of state: ContentState) -> Int {
    // Alerts have at most 1,536 bytes and twice that escaped, so small states need no measuring.
    if type.definition.envelope == .plain, state.bytes.count + attributes.bytes.count <= 512 {
      return 0
    }
    let wire = type.definition.envelope.wrap(state.text)
    let sources = [state.object, attributes.value.object ?? [:]]
    let alerts = type.definition.alerts
    let start = startBytes(wire, alert: alerts.start.filled(from: sources))
    var excess = max(
      attributes.bytes.count + wire.bytes.count - LiveActivityLimits.stateBytes,
      start - LiveActivityLimits.tokenPayloadBytes)
    for alert in [nil] + alerts.updates.values.map(Optional.some) {
      let update = updateBytes(wire, alert: alert?.filled(from: sources))
      excess = max(
        excess, update - LiveActivityLimits.tokenPayloadBytes,
        update - LiveActivityLimits.broadcastPayloadBytes)
    }
    return excess
  }

  /// Bytes of a remote start with everything that one may carry.
  package func startBytes(_ wireState: JSONText, alert: AlertText) -> Int {
    payload(event: "start", wireState, alert: alert) {
      $0.member("attributes-type", type.attributesType)
      $0.member("attributes", attributes)
      // The longest channel ID that was seen has 24 characters; Apple promises no size.
      $0.member("input-push-channel", String(repeating: "A", count: 64))
    }
  }

  /// Bytes of an update or an end.
  package func updateBytes(_ wireState: JSONText, alert: AlertText?) -> Int {
    payload(event: "update", wireState, alert: alert) { _ in }
  }

  private func payload(
    event: String, _ wireState: JSONText, alert: AlertText?,
    _ more: (inout JSONWriter) -> Void
  ) -> Int {
    var writer = JSONWriter(reservingCapacity: wireState.bytes.count + 1_024)
    writer.object {
      $0.key("aps")
      $0.object {
        $0.member("timestamp", latestDate)
        $0.member("event", event)
        $0.member("content-state", wireState)
        $0.member("stale-date", latestDate)
        $0.member("relevance-score", 100)
        more(&$0)
        if let alert { write(alert, to: &$0) }
      }
    }
    return writer.count
  }

  private func write(_ alert: AlertText, to writer: inout JSONWriter) {
    writer.key("alert")
    writer.object {
      $0.member("title", alert.title)
      $0.member("body", alert.body)
      if let sound = alert.sound { $0.member("sound", sound) }
    }
  }
}

/// Ten digits, like every date until the year 2286; one that a ``UnixTime`` can hold.
private let latestDate: Int64 = 9_000_000_000
