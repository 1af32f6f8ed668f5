internal import Clocks
internal import FieldTrips
internal import TripStore

extension Owner {
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
