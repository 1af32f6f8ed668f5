internal import Clocks
internal import FieldTrips
internal import Transport
internal import TripStore

/// Takes triggers from every door into the logs of their partitions.
///
/// It remembers nothing: when a call's outcome is unknown, the door asks again, and what was taken
/// in already comes back as a duplicate.
actor TriggerIntake {
  nonisolated var unownedExecutor: UnownedSerialExecutor {
    loop.serial.asUnownedSerialExecutor()
  }

  /// What became of one trigger.
  typealias Outcome = Result<AppendOutcome, StoreError>

  struct Counts: Sendable {
    var accepted = 0
    var duplicates = 0
    var refused = 0
    var failed = 0
  }

  private nonisolated let loop: EventLoop
  private let store: TripStore
  private let clock: ServiceClock
  private(set) var counts = Counts()

  init(store: TripStore, clock: ServiceClock, loop: EventLoop) {
    self.store = store
    self.clock = clock
    self.loop = loop
  }

  /// Appends triggers, each to the log of its trip's partition, in the order given.
  ///
  /// - Parameter ifRevision: takes them in only if their trip is at this revision.
  /// - Returns: an outcome for each trigger, at its place.
  func take(_ triggers: [Trigger], ifRevision: Revision? = nil) async -> [Outcome] {
    let now = clock.wall
    let groups = groupedByPartition(triggers, ifRevision: ifRevision)
    var outcomes: [Outcome?] = Array(repeating: nil, count: triggers.count)
    if groups.count == 1, let only = groups.first {
      place(await append(only, at: now), of: only, into: &outcomes)
    } else {
      // All groups leave in one write: the client gathers what is asked for in one turn.
      await withTaskGroup(of: (Group, [Outcome]).self) { tasks in
        for group in groups {
          tasks.addTask { (group, await self.append(group, at: now)) }
        }
        for await (group, answers) in tasks { place(answers, of: group, into: &outcomes) }
      }
    }
    return outcomes.map { outcome in
      guard let outcome else { preconditionFailure("every trigger is in one group") }
      count(outcome)
      return outcome
    }
  }

  private struct Group: Sendable {
    let partition: Partition
    var places: [Int] = []
    var triggers: [NewTrigger] = []
  }

  private func groupedByPartition(_ triggers: [Trigger], ifRevision: Revision?) -> [Group] {
    var groups: [Group] = []
    var indices: [Partition: Int] = [:]
    for (place, trigger) in triggers.enumerated() {
      let partition = store.partition(of: trigger.trip)
      let index: Int
      if let known = indices[partition] {
        index = known
      } else {
        index = groups.count
        indices[partition] = index
        groups.append(Group(partition: partition))
      }
      groups[index].places.append(place)
      groups[index].triggers.append(
        NewTrigger(
          trip: trigger.trip, kind: trigger.kind.inLog, id: trigger.id, body: trigger.written(),
          ifRevision: ifRevision))
    }
    return groups
  }

  private func append(_ group: Group, at now: UnixTime) async -> [Outcome] {
    do throws(StoreError) {
      return try await store.append(group.triggers, to: group.partition, at: now)
        .map { .success($0) }
    } catch {
      return group.triggers.map { _ in .failure(error) }
    }
  }

  private func place(_ answers: [Outcome], of group: Group, into outcomes: inout [Outcome?]) {
    for (place, answer) in zip(group.places, answers) { outcomes[place] = answer }
  }

  private func count(_ outcome: Outcome) {
    switch outcome {
    case .success(.accepted): counts.accepted += 1
    case .success(.duplicate): counts.duplicates += 1
    case .success: counts.refused += 1
    case .failure: counts.failed += 1
    }
  }
}

extension Trigger.Kind {
  fileprivate var inLog: LogEntry.Kind {
    switch self {
    case .note: .note
    case .state: .state
    case .phase: .phase
    case .end: .end
    }
  }
}
