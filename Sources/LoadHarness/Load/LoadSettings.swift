/// What a load consists of.
package struct LoadSettings: Sendable {
  package var trips = 10
  /// Members and phones of each trip.
  package var phonesPerTrip = 100
  /// Captures a second over all trips, at full rate.
  package var capturesPerSecond = 10.0
  /// How long captures come.
  package var seconds = 30.0
  /// The rate rises over the first so many seconds.
  package var rampSeconds = 0.0
  package var shape = CaptureSchedule.Shape.poisson
  /// Captures take turns at them.
  package var doors: [ServiceDoors.Door] = ServiceDoors.Door.allCases
  /// Joins a second while captures come, and as many leaves.
  package var churnPerSecond = 0.0
  package var seed: UInt64 = 1
  /// Requests that REST may have under way at once; further captures wait in the harness, and
  /// their waits count.
  package var restConnections = 64
  /// Requests under way at once while trips are made and members join.
  package var setUpConnections = 32
  /// How long the phones may take after the last capture to show everything.
  package var patienceSeconds = 120.0
  /// How long the processes are watched before anything is captured.
  package var idleSeconds = 3.0
  /// Ends the trips afterwards, so that their channels are deleted. A service that is thrown away
  /// needs it not.
  package var endsTrips = true

  package init() {}

  /// One span of the report's plots, in nanoseconds.
  var spanNanoseconds: Int64 { Int64(max(1, (seconds / 240).rounded(.up)) * 1e9) }
}
