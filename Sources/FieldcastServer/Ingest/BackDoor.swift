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
  func admit(_ messages: [Message]) async throws(CancellationError) {
    var triggers: [Trigger] = []
    var sources: [[UInt8]] = []
    var dead: [DeadLetter] = []
    for message in messages {
      read(message, into: &triggers, &sources, &dead)
    }
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
