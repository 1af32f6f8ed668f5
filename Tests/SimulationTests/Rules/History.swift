import Clocks
import FieldTrips
import TripStore

/// What the logs have taken in, in their order, nothing of it ever trimmed.
struct History {
  struct Entry {
    let trip: TripID
    let kind: LogEntry.Kind
    let id: String
    let body: Bytes
    let acceptedAt: UnixTime
  }

  private(set) var triggers: [TripID: [Entry]] = [:]
  private(set) var ids: [TripID: Set<String>] = [:]

  /// - Returns: whether its ID is new.
  mutating func add(_ entry: Entry) -> Bool {
    triggers[entry.trip, default: []].append(entry)
    return ids[entry.trip, default: []].insert(entry.id).inserted
  }

  func has(_ id: String, of trip: TripID) -> Bool { ids[trip]?.contains(id) == true }

  /// The content-state that a trip must come to by all that was taken in.
  func state(of trip: TripID, from first: Bytes, mapper: Mapper) throws -> Bytes {
    var card = Card(state: try ContentState(stored: first))
    for entry in triggers[trip] ?? [] where entry.kind != .end {
      let kind: Trigger.Kind = entry.kind == .note ? .note : .state
      let trigger = try Trigger.read(entry.body, kind: kind, trip: trip)
      _ = mapper.apply(trigger, acceptedAt: entry.acceptedAt, to: &card)
    }
    return card.state.bytes
  }
}
