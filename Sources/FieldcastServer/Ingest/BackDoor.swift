internal import Clocks
internal import FieldTrips
internal import Transport
internal import TripStore

/// What the pub/sub door and the stream door share: nobody waits for an answer there, so what
/// cannot be taken goes to the dead letters with its reason, and what Redis does not take now is
/// tried again until it does.
struct BackDoor: Sendable {
  /// Messages as they were read: what goes to the logs, and what cannot.
  struct Batch: Sendable {
    fileprivate(set) var triggers: [TriggerIntake.Incoming] = []
    fileprivate(set) var dead: [DeadLetter] = []
  }

  let name: String
  let intake: TriggerIntake
  let store: TripStore
  let clock: ServiceClock
  let loop: EventLoop
  let log: ServiceLog

  // MARK: Serving

  /// Takes in batches until there are no more, several at once: while Redis appends some, the
  /// answers to others are read and the next one is parsed.
  ///
  /// A partition belongs to one lane, so its triggers enter its log as they came.
  ///
  /// - Parameters:
  ///   - next: waits for a batch and makes it ready, with what `finish` has to know of it; nil when
  ///     there will be none.
  ///   - finish: every message of a batch is in a log or among the dead letters.
  /// - Returns: when there will be none, or one was cut off by cancellation.
  func serve<Receipt: Sendable>(
    next: () async -> (Batch, Receipt)?, finish: @escaping @Sendable (Receipt) async -> Void
  ) async {
    await Lanes.run(
      Self.laneCount, mostBatches: 2, next: next,
      split: { parts(of: $0.0) },
      work: { part throws(CancellationError) in try await append(part) },
      finish: { batch, refused throws(CancellationError) in
        try await bury(batch.0.dead + refused.flatMap { $0 })
        await finish(batch.1)
      })
  }

  private static let laneCount = 4

  private func parts(of batch: Batch) -> [(lane: Int, part: [TriggerIntake.Incoming])] {
    var parts = [[TriggerIntake.Incoming]](repeating: [], count: Self.laneCount)
    for incoming in batch.triggers {
      parts[store.partition(of: incoming.trigger.trip).number % Self.laneCount].append(incoming)
    }
    return parts.enumerated().filter { !$0.element.isEmpty }.map { ($0.offset, $0.element) }
  }

  // MARK: One batch

  /// Reads messages, each by itself.
  func read(_ bodies: [[UInt8]]) -> Batch {
    var batch = Batch()
    batch.triggers.reserveCapacity(bodies.count)
    for body in bodies { read(body, into: &batch) }
    return batch
  }

  /// Returns when every message is in a log or among the dead letters.
  ///
  /// - Throws: `CancellationError` when the task was cancelled before that.
  func admit(_ batch: Batch) async throws(CancellationError) {
    let refused = try await append(batch.triggers)
    try await bury(batch.dead + refused)
  }

  /// Returns when every trigger is in a log or cannot be.
  ///
  /// - Returns: those that cannot be.
  private func append(
    _ incoming: [TriggerIntake.Incoming]
  ) async throws(CancellationError) -> [DeadLetter] {
    var incoming = incoming
    var dead: [DeadLetter] = []
    var retry = Retry(longest: .seconds(2))
    while !incoming.isEmpty {
      var again: [TriggerIntake.Incoming] = []
      for (trigger, outcome) in zip(incoming, await intake.append(incoming)) {
        switch outcome {
        case .failure: again.append(trigger)
        case .success(.accepted), .success(.duplicate): break
        case .success(let verdict):
          if let problem = verdict.problem(of: trigger.trigger.trip) {
            dead.append(letter(trigger.source, Refusal(problem)))
          } else {
            again.append(trigger)
          }
        }
      }
      incoming = again
      if incoming.isEmpty { break }
      if retry.isFirst {
        log.warning("triggers wait for Redis", ["door": name, "count": "\(incoming.count)"])
      }
      try await retry.pause(on: loop)
    }
    return dead
  }

  private func read(_ body: [UInt8], into batch: inout Batch) {
    do throws(Refusal) {
      let message = try Trigger.readMessage(body)
      for result in message.triggers {
        switch result {
        case .success(let trigger):
          batch.triggers.append(
            TriggerIntake.Incoming(
              trigger: trigger, source: body, isWhole: message.isOneTrigger))
        case .failure(let refusal): batch.dead.append(letter(body, refusal))
        }
      }
    } catch {
      batch.dead.append(letter(body, error))
    }
  }

  private func bury(_ letters: [DeadLetter]) async throws(CancellationError) {
    var retry = Retry(longest: .seconds(2))
    while !letters.isEmpty {
      do throws(StoreError) {
        return try await store.bury(letters)
      } catch {
        guard error.isTransient else {
          // A door must not stand still for ever because its waste has no place.
          return log.error(
            "dead letters cannot be kept",
            ["door": name, "count": "\(letters.count)", "reason": "\(error)"])
        }
        try await retry.pause(on: loop)
      }
    }
  }

  private func letter(_ body: [UInt8], _ refusal: Refusal) -> DeadLetter {
    DeadLetter(
      reason: refusal.code.rawValue, message: refusal.description, door: name, excerpt: body,
      at: clock.wall)
  }
}

extension AppendOutcome {
  /// What is wrong with a trigger that the log did not take, as callers read it; nil when nothing
  /// is: it was taken in, or there is no room for it now.
  func problem(of trip: TripID) -> Problem? {
    switch self {
    case .accepted, .duplicate, .logFull: nil
    case .unknownTrip:
      Problem(.unknownTrip, at: "/trip", "There is no trip \(trip). Was it created, or forgotten?")
    case .ended:
      Problem(.endedTrip, at: "/trip", "The trip \(trip) has ended and takes no more triggers.")
    case .revisionMismatch(let current):
      Problem(
        .badValue, "The trip is at revision \(current), not at the one asked for; read it again.")
    }
  }
}
