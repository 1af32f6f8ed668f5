internal import Clocks
internal import FieldTrips
internal import FieldcastServer
internal import LoadHarness
internal import Transport

/// Replays trips through a service of their own, all at the same time.
enum CoalescingStage {
  /// - Parameter progress: called now and then with the share of the longest trip that is over.
  static func play(
    _ trips: [ReplayTrip], _ kind: CoalescingReport.Pool.Kind, _ budget: ReplayBudget,
    speed: Double, progress: @escaping @Sendable (Double) -> Void
  ) async throws -> ServiceCoalescing {
    let length = Duration.seconds(trips.map(\.end).max() ?? 0)
    let plain = try plainType()
    let log = ServiceLog.standardError(minimum: .warning, format: .text)
    let stage = try await DemoStage.open(speed: speed, length: length, log: log) {
      $0.policy = budget.applied(to: $0.policy)
      $0.activityTypes.append(plain)
    }
    do {
      let loop = stage.loop
      let played = try await Task(executorPreference: loop.tasks) {
        try await withThrowingTaskGroup(of: [ServiceCoalescing.Played].self) { group in
          group.addTask { try await play(trips, on: stage, plain: plain.name) }
          group.addTask {
            let start = stage.clock.now
            while !Task.isCancelled {
              progress(min(1, (stage.clock.now - start) / length))
              try? await loop.sleep(for: .seconds(1))
            }
            return []
          }
          defer { group.cancelAll() }
          return try await group.next() ?? []
        }
      }.value
      await stage.close()
      return ServiceCoalescing(kind, budget, speed: speed, played)
    } catch {
      await stage.close()
      throw error
    }
  }

  private static func play(
    _ trips: [ReplayTrip], on stage: DemoStage, plain: String
  ) async throws -> [ServiceCoalescing.Played] {
    try await withThrowingTaskGroup(of: (Int, ServiceCoalescing.Played).self) { group in
      for (index, trip) in trips.enumerated() {
        group.addTask {
          async let even = replay(trip, on: stage, type: plain)
          async let marked = replay(trip, on: stage, type: ActivityType.fieldTrip.name)
          return (
            index,
            ServiceCoalescing.Played(trip: trip, plain: try await even, marked: try await marked)
          )
        }
      }
      var played: [Int: ServiceCoalescing.Played] = [:]
      for try await (index, trip) in group { played[index] = trip }
      return trips.indices.compactMap { played[$0] }
    }
  }

  private static func replay(
    _ trip: ReplayTrip, on stage: DemoStage, type: String
  ) async throws -> ServiceReplay.Record {
    try await ServiceReplay(
      trip, doors: stage.doors, phones: stage.phones, clock: stage.clock,
      settings: ServiceReplay.Settings(type: type, name: "\(trip.name) (\(type))"),
      loop: stage.loop
    ).run()
  }

  /// The built-in field trip, but with no note more urgent than another.
  private static func plainType() throws(Refusal) -> ActivityType {
    var definition = ActivityType.fieldTrip.definition
    definition.name = "even-field-trip"
    definition.significance = SignificanceRules(firstNote: false)
    return try ActivityType(definition)
  }
}
