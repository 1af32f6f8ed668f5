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
    fileprivate(set) var triggers: [Trigger] = []
    /// The message that each of the triggers stood in.
    fileprivate(set) var sources: [[UInt8]] = []
    fileprivate(set) var dead: [DeadLetter] = []
  }

  let name: String
  let intake: TriggerIntake
  let store: TripStore
  let clock: ServiceClock
  let loop: EventLoop
  let log: ServiceLog

  /// Reads messages, each by itself.
  func read(_ bodies: [[UInt8]]) -> Batch {
    var batch = Batch()
    batch.triggers.reserveCapacity(bodies.count)
    batch.sources.reserveCapacity(bodies.count)
    for body in bodies { read(body, into: &batch) }
    return batch
  }

  /// Returns when every message is in a log or among the dead letters.
  ///
  /// - Throws: `CancellationError` when the task was cancelled before that.
  func admit(_ batch: Batch) async throws(CancellationError) {
    var (triggers, sources, dead) = (batch.triggers, batch.sources, batch.dead)
    var retry = Retry(longest: .seconds(2))
    while !triggers.isEmpty {
      var again: [Int] = []
      for (index, outcome) in await intake.append(triggers).enumerated() {
        switch outcome {
        case .failure: again.append(index)
        case .success(.accepted), .success(.duplicate): break
        case .success(let verdict):
          if let problem = verdict.problem(of: triggers[index].trip) {
            dead.append(letter(sources[index], Refusal(problem)))
          } else {
            again.append(index)
          }
        }
      }
      triggers = again.map { triggers[$0] }
      sources = again.map { sources[$0] }
      if triggers.isEmpty { break }
      if retry.isFirst {
        log.warning("triggers wait for Redis", ["door": name, "count": "\(triggers.count)"])
      }
      try await retry.pause(on: loop)
    }
    try await bury(dead)
  }

  private func read(_ body: [UInt8], into batch: inout Batch) {
    do throws(Refusal) {
      for result in try Trigger.readBatch(body) {
        switch result {
        case .success(let trigger):
          batch.triggers.append(trigger)
          batch.sources.append(body)
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
