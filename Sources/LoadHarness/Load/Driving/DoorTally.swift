/// What became of captures at the doors, and how punctual the harness was.
package struct DoorTally: Sendable {
  package struct Door: Sendable, Equatable {
    package var handedOver = 0
    /// Refused, unanswered to the end, or published while nobody listened.
    package var failed = 0

    package init() {}
  }

  package var doors: [ServiceDoors.Door: Door] = [:]
  /// From the schedule to the moment at which a capture's bytes were handed to the system.
  package var lateness = LatencyHistogram()
  /// Captures that failed, by trip: no card can show them.
  package var failedByTrip: [Int: Int] = [:]
  /// Sent once more, because the answer did not come or said to try again.
  package var repeated = 0
  /// The first failures' texts.
  package private(set) var problems: [String] = []

  package init() {}

  package var handedOver: Int { doors.values.reduce(0) { $0 + $1.handedOver } }
  package var failed: Int { doors.values.reduce(0) { $0 + $1.failed } }

  mutating func fail(_ door: ServiceDoors.Door, trip: Int, _ problem: String) {
    doors[door, default: Door()].failed += 1
    failedByTrip[trip, default: 0] += 1
    if problems.count < 5, !problems.contains(problem) { problems.append(problem) }
  }
}
