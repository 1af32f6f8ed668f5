import Clocks
import Foundation
import Randomness
import Transport

/// Notes that flow into trips until it is told to stop, as apps and other services send them: by
/// REST and by the stream in turn, some of them by both. What was not taken in is sent again with
/// its ID; what was acknowledged never is.
final class NoteFlow: Sendable {
  /// Repeats a run with `FIELDCAST_FAULT_SEED`.
  static let seed =
    ProcessInfo.processInfo.environment["FIELDCAST_FAULT_SEED"].flatMap { UInt64($0) } ?? 20_260_502

  private struct Progress {
    var isStopped = false
    /// Acknowledged, by trip.
    var counts: [String: Int64] = [:]
    var refusals = 0
  }

  private let caller: TestCaller
  private let loop: EventLoop
  private let progress = Lock(Progress())

  /// - Parameter caller: of the node that gets what goes by REST.
  init(to caller: TestCaller, on loop: EventLoop) {
    self.caller = caller
    self.loop = loop
  }

  func stop() { progress.withLock { $0.isStopped = true } }

  /// Notes that were taken in, by trip.
  var acknowledged: [String: Int64] { progress.withLock { $0.counts } }
  /// How often a note was not taken in when it was sent.
  var refusals: Int { progress.withLock { $0.refusals } }

  /// Waits until so many more notes of each trip have been taken in.
  func pass(_ more: Int64, of trips: [TestCaller.Trip]) async throws {
    let before = acknowledged
    while true {
      let now = acknowledged
      if trips.allSatisfy({ now[$0.id, default: 0] >= before[$0.id, default: 0] + more }) { return }
      try await loop.sleep(for: .milliseconds(10))
    }
  }

  /// Sends notes to a trip until stopped; then all that were sent are acknowledged.
  ///
  /// - Parameters:
  ///   - earlier: notes that the trip has had; these get other IDs.
  ///   - seed: of the ways that they take.
  func feed(_ trip: TestCaller.Trip, after earlier: Int64, seed: UInt64) async throws {
    var random = SplitMix64(seed: seed)
    var number = earlier
    let caller = caller.another()
    repeat {
      number += 1
      let doors: [Bool] = [[true], [true], [false], [true, false], [false, true]][random.below(5)]
      for isREST in doors {
        while !(await send("\(number)", to: trip, by: caller, isREST: isREST)) {
          progress.withLock { $0.refusals += 1 }
          try await loop.sleep(for: .milliseconds(20 + random.below(60)))
        }
      }
      progress.withLock { $0.counts[trip.id, default: 0] += 1 }
      try await loop.sleep(for: .milliseconds(10 + random.below(40)))
    } while !isStopped
    await caller.close()
  }

  /// Reads trips again and again until stopped.
  ///
  /// - Returns: the revisions of each as they were answered.
  func watch(_ trips: [TestCaller.Trip]) async throws -> [[Int64]] {
    let caller = caller.another()
    var revisions = [[Int64]](repeating: [], count: trips.count)
    while !isStopped {
      for (index, trip) in trips.enumerated() {
        guard let answer = try? await caller.call("GET", "/v1/trips/\(trip.id)"),
          let revision = answer.body["revision"]?.int64
        else { continue }
        revisions[index].append(revision)
      }
      try await loop.sleep(for: .milliseconds(20))
    }
    await caller.close()
    return revisions
  }

  private var isStopped: Bool { progress.withLock { $0.isStopped } }

  private func send(
    _ id: String, to trip: TestCaller.Trip, by caller: TestCaller, isREST: Bool
  ) async -> Bool {
    if isREST {
      let answer = try? await caller.call(
        "POST", "/v1/trips/\(trip.id)/notes", #"{"id":"\#(id)"}"#)
      return answer?.status == 202
    }
    return (try? await caller.add(toStream: #"{"id":"\#(id)","trip":"\#(trip.id)"}"#)) != nil
  }
}
