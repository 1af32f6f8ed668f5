import Synchronization
import Testing

@testable import FieldcastServer

@Suite struct `The lanes of a door` {
  /// What happened, in order; and gates: one that lets a batch end, by its number, and one that
  /// opens when it has begun, by the number below zero. Each is waited at by one.
  private final class Course: Sendable {
    private struct State {
      var events: [String] = []
      var open: Set<Int> = []
      var waiting: [Int: CheckedContinuation<Void, Never>] = [:]
      var mostAtOnce = 0
      var atOnce = 0
    }

    private let state = Mutex(State())

    var events: [String] { state.withLock(\.events) }
    var mostAtOnce: Int { state.withLock(\.mostAtOnce) }

    func note(_ event: String) { state.withLock { $0.events.append(event) } }

    func work(_ batch: Int, lane: Int) async {
      state.withLock {
        $0.events.append("begin \(batch) on \(lane)")
        $0.atOnce += 1
        $0.mostAtOnce = max($0.mostAtOnce, $0.atOnce)
      }
      open(-batch)
      await pass(batch)
      state.withLock {
        $0.events.append("end \(batch) on \(lane)")
        $0.atOnce -= 1
      }
    }

    func pass(_ gate: Int) async {
      await withCheckedContinuation { continuation in
        let isOpen = state.withLock { state in
          if state.open.contains(gate) { return true }
          state.waiting[gate] = continuation
          return false
        }
        if isOpen { continuation.resume() }
      }
    }

    func open(_ gate: Int) {
      let waiting = state.withLock { state in
        state.open.insert(gate)
        return state.waiting.removeValue(forKey: gate)
      }
      waiting?.resume()
    }
  }

  @Test func `begins a part when the one before it on its lane has ended, and not before`() async {
    let course = Course()
    var count = 0
    await Lanes.run(
      2, mostBatches: 3,
      next: {
        count += 1
        return count < 5 ? count : nil
      },
      split: { batch in
        // The first goes by one lane alone, and ends once something behind it on the other has.
        let parts = [(lane: 0, part: (batch, 0)), (lane: 1, part: (batch, 1))]
        return batch == 1 ? [parts[0]] : parts
      },
      work: { part throws(CancellationError) in
        if part.0 > 1 { course.open(part.0) }
        if part == (2, 1) { await course.pass(-1) }
        await course.work(part.0, lane: part.1)
        if part.1 == 1 { course.open(1) }
      },
      finish: { batch, outcomes throws(CancellationError) in
        course.note("finish \(batch), \(outcomes.count) parts")
      })
    let events = course.events
    for lane in 0...1 {
      let work = events.filter { $0.hasSuffix("on \(lane)") }
      let batches = lane == 0 ? 1...4 : 2...4
      #expect(
        work == batches.flatMap { ["begin \($0) on \(lane)", "end \($0) on \(lane)"] },
        "\(events)")
    }
    #expect(Set(events).isSuperset(of: (2...4).map { "finish \($0), 2 parts" }), "\(events)")
    #expect(course.mostAtOnce >= 2, "\(events)")
  }

  @Test func `begins nothing behind a part that was cut off`() async {
    let course = Course()
    var count = 0
    await Lanes.run(
      1, mostBatches: 2,
      next: {
        count += 1
        return count
      },
      split: { [(lane: 0, part: $0)] },
      work: { part throws(CancellationError) in
        course.note("begin \(part)")
        if part == 2 { throw CancellationError() }
      },
      finish: { batch, _ throws(CancellationError) in course.note("finish \(batch)") })
    #expect(course.events.filter { $0.hasPrefix("begin") } == ["begin 1", "begin 2"])
    #expect(course.events.filter { $0.hasPrefix("finish") } == ["finish 1"])
  }
}
