internal import Clocks
internal import FieldTrips
internal import Transport
internal import TripStore

/// What the pub/sub door and the stream door share: nobody waits for an answer there, so what
/// cannot be taken goes to the dead letters with its reason, and what Redis does not take now is
/// tried again until it does.
struct BackDoor: Sendable {
  /// One message as it came.
  struct Message: Sendable {
    let body: [UInt8]
  }

  let name: String
  let intake: TriggerIntake
  let store: TripStore
  let clock: ServiceClock
  let loop: EventLoop
  let log: ServiceLog

  /// Returns when every message is in a log or among the dead letters.
  ///
  /// - Throws: `CancellationError` when the task was cancelled before that.
  func take(_ messages: [Message]) async throws(CancellationError) {
    var triggers: [Trigger] = []
    var sources: [[UInt8]] = []
    var dead: [DeadLetter] = []
    for message in messages {
      read(message, into: &triggers, &sources, &dead)
    }
    var attempt = 0
    while !triggers.isEmpty {
      let outcomes = await intake.take(triggers)
      var again: [Int] = []
      for (index, outcome) in outcomes.enumerated() {
        switch outcome {
        case .success(.accepted), .success(.duplicate): break
        case .success(.logFull), .failure: again.append(index)
        case .success(let refusal):
          dead.append(letter(sources[index], about: refusal, of: triggers[index].trip))
        }
      }
      triggers = again.map { triggers[$0] }
      sources = again.map { sources[$0] }
      if !triggers.isEmpty {
        attempt += 1
        if attempt == 1 {
          log.warning("triggers wait for Redis", ["door": name, "count": "\(triggers.count)"])
        }
        try await loop.sleep(for: pause(attempt))
      }
    }
    try await bury(dead)
  }

  private func read(
    _ message: Message, into triggers: inout [Trigger], _ sources: inout [[UInt8]],
    _ dead: inout [DeadLetter]
  ) {
    do throws(Refusal) {
      for result in try Trigger.readBatch(message.body) {
        switch result {
        case .success(let trigger):
          triggers.append(trigger)
          sources.append(message.body)
        case .failure(let refusal): dead.append(letter(message.body, refusal))
        }
      }
    } catch {
      dead.append(letter(message.body, error))
    }
  }

  private func bury(_ letters: [DeadLetter]) async throws(CancellationError) {
    var attempt = 0
    var left = letters
    while !left.isEmpty {
      do throws(StoreError) {
        try await store.bury(left)
        left = []
      } catch {
        attempt += 1
        try await loop.sleep(for: pause(attempt))
      }
    }
  }

  private func letter(_ body: [UInt8], _ refusal: Refusal) -> DeadLetter {
    DeadLetter(
      reason: refusal.code.rawValue, message: refusal.description, door: name, excerpt: body,
      at: clock.wall)
  }

  private func letter(
    _ body: [UInt8], about outcome: AppendOutcome, of trip: TripID
  ) -> DeadLetter {
    let problem = outcome.problem(of: trip)
    return DeadLetter(
      reason: problem.code.rawValue, message: problem.message, door: name, excerpt: body,
      at: clock.wall)
  }

  private func pause(_ attempt: Int) -> Duration {
    .milliseconds(min(2_000, 50 << min(attempt, 6)))
  }
}

extension AppendOutcome {
  /// Why the log did not take a trigger, as callers read it.
  func problem(of trip: TripID) -> Problem {
    switch self {
    case .unknownTrip:
      Problem(.unknownTrip, at: "/trip", "There is no trip \(trip). Was it created, or forgotten?")
    case .ended:
      Problem(.endedTrip, at: "/trip", "The trip \(trip) has ended and takes no more triggers.")
    case .revisionMismatch(let current):
      Problem(
        .badValue, "The trip is at revision \(current), not at the one asked for; read it again.")
    case .logFull:
      Problem(.tooLarge, "Too many triggers wait for this trip's partition; try again later.")
    case .accepted, .duplicate:
      preconditionFailure("a trigger that was taken in has no problem")
    }
  }
}
