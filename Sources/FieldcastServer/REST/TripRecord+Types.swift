internal import FieldTrips
internal import JSON
internal import TripStore

/// What the store holds of a trip as it may leave the service: its type may have changed since that
/// was stored, and withhold what it showed then.
extension TripRecord {
  /// - Throws: what would not decode on the phone as the type is now.
  func contentState(as type: ActivityType) throws(Refusal) -> ContentState {
    try type.adopting(try ContentState(stored: contentState))
  }

  /// Writes `contentState` and `attributes`; null where the type is not known here, or where they do
  /// not fit it any more.
  func writeCard(
    as type: ActivityType?, withAttributes: Bool = true, to writer: inout JSONWriter
  ) {
    if withAttributes {
      writer.key("attributes")
      if let type, let stored = try? JSONText(stored: definition.attributes) {
        writer.raw(type.attributes(adopting: stored))
      } else {
        writer.null()
      }
    }
    writer.key("contentState")
    if let state = type.flatMap({ try? contentState(as: $0) }) {
      writer.raw(state.text)
    } else {
      writer.null()
    }
  }
}
