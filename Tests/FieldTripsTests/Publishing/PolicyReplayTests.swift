import FieldTrips
import Testing

@Suite struct `A policy replay` {
  private let trip = ReplayTrip(name: "burst", changes: [3, 4, 4, 9, 40, 41], end: 100)

  @Test func `shows what others would broadcast`() {
    #expect(broadcasts(.sendAll) == [3, 4, 9, 40, 41])
    #expect(broadcasts(.fixedClock(seconds: 10)) == [10, 40, 50])
    #expect(broadcasts(.debounce(quiet: 2, maxWait: 60)) == [6, 11, 43])
    #expect(broadcasts(.debounce(quiet: 6, maxWait: 8)) == [11, 47])
    #expect(broadcasts(.throttle(seconds: 10)) == [3, 13, 40, 50])
    #expect(
      broadcasts(.tokenBucket(ReplayBudget(refillSeconds: 30, capacity: 2))) == [3, 4, 33, 63])
  }

  @Test func `leaves to the trip's end what would come after it`() {
    #expect(broadcasts(.fixedClock(seconds: 99)) == [99])
    #expect(broadcasts(.fixedClock(seconds: 100)) == [])
    #expect(broadcasts(.throttle(seconds: 98)) == [3])
  }

  @Test func `measures the waits`() {
    let metrics = ReplayMetrics(trip, broadcasts: [4, 40])
    // Waits 1, 0, 0, 31, 0 and, until the end, 59.
    #expect(metrics.area == 91)
    #expect(metrics.wrongSeconds == 91)
    #expect(metrics.maxWait == 59)
    #expect(abs(metrics.p95Wait - (31 + 0.75 * 28)) < 1e-9)
    #expect(metrics.meanWait == 91.0 / 6)
    #expect(metrics.meanStaleness == 0.91)
    #expect(ReplayMetrics.stalenessRatio([(metrics, 4)]) == 97.0 / 10)
  }

  @Test func `counts overlapping waits once as wrong time`() {
    let metrics = ReplayMetrics(changes: [0, 2, 2.5, 20], broadcasts: [5, 21], end: 30)
    #expect(metrics.area == 5 + 3 + 2.5 + 1)
    #expect(metrics.wrongSeconds == 6)
    #expect(ReplayMetrics(changes: [], broadcasts: [], end: 30).maxWait == 0)
  }

  @Test func `spreads whole minutes, always the same way`() {
    func capture(_ offset: Double, _ observer: String) -> CaptureTrace.Capture {
      CaptureTrace.Capture(offsetSeconds: offset, observer: observer, place: "Place 1")
    }
    let stack = (0..<4).map { _ in capture(120, "o2") }
    let rows = [capture(0, "o1"), capture(60, "o1"), capture(61, "o1")] + stack
    let trip = ReplayTrip(
      spreading: CaptureTrace(name: "t", captures: rows + [capture(180, "o1"), capture(181, "o3")]))
    // Rows 0, 1, 3…7 are on the minute: + 0, 37, the stack all 37 · 3 mod 60 = 51, 37 · 7 mod 60.
    #expect(trip.changes == [0, 61, 97, 171, 171, 171, 171, 181, 199])
    #expect(trip.end == 499)
    let later = ReplayTrip(spreading: CaptureTrace(name: "t", captures: [capture(59, "o1")]))
    #expect(later == ReplayTrip(name: "t", changes: [0], end: 300))
  }

  private func broadcasts(_ policy: PolicyReplay.Policy) -> [Int] {
    PolicyReplay.broadcasts(of: policy, over: trip)
  }
}
