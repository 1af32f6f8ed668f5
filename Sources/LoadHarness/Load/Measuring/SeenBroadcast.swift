/// A broadcast that APNs accepted, as the simulator tells of it.
package struct SeenBroadcast: Sendable, Equatable {
  /// 0 ..< trips.
  package var trip: Int
  /// Since the beginning of the load, by the simulator's clock; negative for those before it.
  package var acceptedAt: Int64
  package var priority: Int
  /// What the card counts; nil when the event carries no content-state.
  package var notes: Int?
  package var isEnd = false
  package var phones: Int
  package var lost = 0
  /// At equal shares of the phones, rising; in microseconds after acceptance.
  package var delays: [Int]
  package var lastDelay: Int?

  package init(
    trip: Int, acceptedAt: Int64, priority: Int, notes: Int?, phones: Int, delays: [Int],
    lastDelay: Int?
  ) {
    self.trip = trip
    self.acceptedAt = acceptedAt
    self.priority = priority
    self.notes = notes
    self.phones = phones
    self.delays = delays
    self.lastDelay = lastDelay
  }

  var reached: Int { phones - lost }

  /// 0 where there are no phones.
  var meanDelayNanoseconds: Int64 {
    delays.isEmpty ? 0 : Int64(delays.reduce(0, +)) * 1_000 / Int64(delays.count)
  }
}
