import Clocks
import FieldTrips
import Testing

/// One burst-ridden quarter of an hour, followed line by line: B = 60, so a token takes 60 s; ten
/// tokens at most, of which four are there; overdraft 5; no tail; whole seconds.
@Suite struct `The publisher's worked example` {
  /// What the publisher does when it has heard of a note: the tokens it has, and when it sends.
  private struct Line {
    let second: Int
    let notes: Int
    let tokens: Double
    /// Seconds, to a tenth; nil where it broadcasts at once.
    let wake: Double?
  }

  private let lines = [
    Line(second: 9, notes: 1, tokens: 3.15, wake: 69),
    Line(second: 20, notes: 2, tokens: 3.33, wake: 41.4),
    Line(second: 22, notes: 3, tokens: 3.37, wake: 39.3),
    Line(second: 23, notes: 4, tokens: 3.38, wake: 38.3),
    Line(second: 25, notes: 5, tokens: 3.42, wake: 36.2),
    Line(second: 52, notes: 5, tokens: 2.87, wake: 64.8),
    Line(second: 77, notes: 5, tokens: 2.28, wake: 93.1),
    Line(second: 130, notes: 1, tokens: 2.17, wake: 190),
    Line(second: 131, notes: 2, tokens: 2.18, wake: 181.4),
    Line(second: 200, notes: 1, tokens: 2.33, wake: 260),
    Line(second: 203, notes: 2, tokens: 2.38, wake: nil),
  ]

  @Test func `comes out line by line`() throws {
    var bench = PublisherBench(policy: .worked, level: 4)
    let notes = [0, 9, 20, 22, 23, 25, 40, 41, 44, 46, 52, 70, 71, 73, 75, 77, 130, 131, 200, 203]
    for second in 0...270 {
      bench.advance(to: Double(second))
      if notes.contains(second) { bench.change(isSignificant: [0, 203].contains(second)) }
      if let line = lines.first(where: { $0.second == second }) { try check(line, bench) }
      bench.sendIfDue()
    }
    #expect(bench.broadcasts.map { $0.second } == [0, 37, 65, 94, 182, 203])
    #expect(bench.broadcasts.map { $0.revision } == [1, 6, 11, 16, 18, 20])
    let levels = [3.0, 2.62, 2.08, 1.57, 2.03, 1.38]
    for (broadcast, level) in zip(bench.broadcasts, levels) {
      #expect(abs(broadcast.levelAfter - level) < 0.006, "at \(broadcast.second)")
    }
    let metrics = ReplayMetrics(
      changes: notes.map(Double.init), broadcasts: bench.broadcasts.map { Double($0.second) },
      end: 300)
    #expect(metrics.area == 398)
  }

  @Test func `loses less than a plain bucket and a throttle`() {
    let notes = [0, 9, 20, 22, 23, 25, 40, 41, 44, 46, 52, 70, 71, 73, 75, 77, 130, 131, 200, 203]
    let trip = ReplayTrip(name: "worked", changes: notes, end: 300)
    func area(_ broadcasts: [Int]) -> Double { ReplayMetrics(trip, broadcasts: broadcasts).area }
    #expect(area([0, 9, 20, 22, 60, 120, 180, 203]) == 485)
    let throttle = PolicyReplay.broadcasts(of: .throttle(seconds: 60), over: trip)
    #expect(throttle == [0, 60, 120, 180, 240])
    // The milestone does not wait there either.
    #expect(area(throttle.dropLast() + [203]) == 614)
  }

  private func check(_ line: Line, _ bench: PublisherBench) throws {
    let comment = Comment(rawValue: "at second \(line.second)")
    #expect(bench.publisher.backlog.count == line.notes, comment)
    #expect(abs(bench.publisher.bucket.level(at: bench.now) - line.tokens) < 0.006, comment)
    switch bench.decision {
    case .wake(let moment):
      #expect(abs(moment.seconds - (line.wake ?? -1)) <= 0.051, comment)
    case .send(let rank):
      #expect(line.wake == nil && rank == .significant, comment)
    default:
      Issue.record("\(bench.decision) at second \(line.second)")
    }
  }
}

extension PublishingPolicy {
  fileprivate static let worked = {
    var policy = PublishingPolicy().withReferenceRule
    policy.isTailOn = false
    return policy
  }()
}
