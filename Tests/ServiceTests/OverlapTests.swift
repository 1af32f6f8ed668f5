import Synchronization
import Testing

@testable import FieldcastServer

@Suite struct `Overlapping batches` {
  /// What happened, in order; and gates that let a batch end.
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

    func work(_ batch: Int) async {
      state.withLock {
        $0.events.append("begin \(batch)")
        $0.atOnce += 1
        $0.mostAtOnce = max($0.mostAtOnce, $0.atOnce)
      }
      await withCheckedContinuation { continuation in
        let isOpen = state.withLock { state in
          if state.open.contains(batch) { return true }
          state.waiting[batch] = continuation
          return false
        }
        if isOpen { continuation.resume() }
      }
      state.withLock {
        $0.events.append("end \(batch)")
        $0.atOnce -= 1
      }
    }

    func open(_ batch: Int) {
      let waiting = state.withLock { state in
        state.open.insert(batch)
        return state.waiting.removeValue(forKey: batch)
      }
      waiting?.resume()
    }
  }

  @Test func `fetches one while the one before is under way, and begins it afterwards`() async {
    let course = Course()
    var count = 0
    await Overlap.run(
      next: {
        count += 1
        course.note("fetch \(count)")
        // Each but the last ends only once the next has been fetched.
        course.open(count - 1)
        return count <= 3 ? count : nil
      },
      work: { batch throws(CancellationError) in await course.work(batch) })
    let events = course.events
    #expect(course.mostAtOnce == 1, "\(events)")
    let work = events.filter { !$0.hasPrefix("fetch") }
    #expect(work == ["begin 1", "end 1", "begin 2", "end 2", "begin 3", "end 3"])
  }

  @Test func `ends with a batch that was cut off`() async {
    let course = Course()
    await Overlap.run(
      next: {
        course.note("fetch")
        return 1
      },
      work: { _ throws(CancellationError) in throw CancellationError() })
    #expect(course.events == ["fetch", "fetch"])
  }
}
