internal import Clocks
internal import FieldTrips
internal import Transport
internal import TripStore

/// Appends triggers from every door to the logs of their partitions.
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
  private let news: LogNews
  private let clock: ServiceClock
  private let times: StageTimes
  private(set) var counts = Counts()

  init(news: LogNews, times: StageTimes, clock: ServiceClock, loop: EventLoop) {
    self.news = news
    self.times = times
    self.clock = clock
    self.loop = loop
  }

  /// A trigger with the message that it came in.
  struct Incoming: Sendable {
    let trigger: Trigger
    let source: [UInt8]
    /// The message is this trigger and nothing else, so the log can keep it as it is.
    let isWhole: Bool
  }

  /// Appends triggers, each to the log of its trip's partition, in the order given.
  ///
  /// - Returns: an outcome for each trigger, at its place.
  func append(_ incoming: [Incoming]) async -> [Outcome] {
    await append(
      incoming.map { incoming in
        let trigger = incoming.trigger
        return NewTrigger(
          trip: trigger.trip, kind: trigger.kind.inLog, id: trigger.id,
          body: incoming.isWhole ? incoming.source : trigger.written(), trigger: trigger)
      })
  }

  /// Appends triggers, each to the log of its trip's partition, in the order given.
  ///
  /// - Parameter ifRevision: takes them in only if their trip is at this revision.
  /// - Returns: an outcome for each trigger, at its place.
  func append(_ triggers: [Trigger], ifRevision: Revision? = nil) async -> [Outcome] {
    await append(
      triggers.map { trigger in
        NewTrigger(
          trip: trigger.trip, kind: trigger.kind.inLog, id: trigger.id, body: trigger.written(),
          ifRevision: ifRevision, trigger: trigger)
      })
  }

  private func append(_ new: [NewTrigger]) async -> [Outcome] {
    let began = MonotonicClock.now()
    let outcomes = await news.append(new, at: clock.wall)
    times.record(MonotonicClock.now() - began, in: .append)
    for outcome in outcomes { count(outcome) }
    return outcomes
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
