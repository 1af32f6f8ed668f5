internal import Clocks
internal import FieldTrips
internal import TripStore

extension Owner {
  /// Why a trip's phones show what they show; nil if there is no such trip. Of a trip of another
  /// node's it lacks the present.
  nonisolated func timeline(of trip: TripID) async throws(StoreError) -> TripTimeline? {
    // The broadcasts first: what is accepted meanwhile is then missing among them, and not among
    // what waits.
    let sends = try await store.timeline(of: trip).compactMap { SendRecord(stored: $0) }
    guard let record = try await store.trip(trip) else { return nil }
    return TripTimeline(
      record: record, type: settings.activityTypes[record.definition.typeName], sends: sends,
      present: await present(of: trip), now: clock.wall)
  }

  /// What waits of a trip, and what for; nil when its partition is another node's.
  func present(of id: TripID) -> TripTimeline.Present? {
    guard let holding = holdings[store.partition(of: id)] else { return nil }
    var present = TripTimeline.Present(waiting: TriggerNotes(), isQueued: false)
    guard let trip = holding.trips[id] else { return present }
    let (now, wall) = (clock.now, clock.wall)
    present.waiting = trip.waiting
    present.isQueued = trip.queuedSince != nil
    present.stop = trip.publisher.stop
    if let (hold, until) = trip.publisher.hold(at: now, wall: wall), until > now {
      present.hold = hold
      if hold != .answer { present.until = wall + (until - now) }
    }
    return present
  }

  /// Leaves the triggers that wait for the next owner's timeline.
  func leaveWaiting() async {
    var answers: [(answer: AnswerRecord, owner: Ownership)] = []
    for holding in holdingsInOrder {
      for trip in holding.trips.values.sorted(by: { $0.id < $1.id }) where !trip.waiting.isEmpty {
        let record = AnswerRecord(trip: trip.id, waiting: trip.waiting.stored())
        answers.append((record, holding.ownership))
      }
    }
    // Nothing depends on them but an explanation.
    if !answers.isEmpty { _ = await store.record(answers) }
  }
}
