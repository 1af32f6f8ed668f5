import FieldTrips
import Testing

@Suite struct `The clairvoyant bound` {
  @Test(arguments: 1...150 as ClosedRange<UInt64>)
  func `equals exhaustive search on short trips`(_ seed: UInt64) {
    var dice = PolicyDice(seed: seed)
    let end = dice.roll(1...14)
    let changes = (0..<dice.roll(1...7)).map { _ in dice.roll(0...end - 1) }.sorted()
    let trip = ReplayTrip(name: "seed \(seed)", changes: changes, end: end)
    let (refill, capacity) = (dice.roll(1...5), dice.roll(2...3))
    let best = Exhaustive(trip, refill: refill, capacity: capacity).search()
    let bound = ClairvoyantBound(trip, refillSeconds: refill, capacity: capacity)
    let situation = Comment(rawValue: "\(trip), a token in \(refill) s, \(capacity) at most")
    #expect(bound.leastArea() == best.area, situation)
    #expect(bound.leastWrongTime() == best.wrongTime, situation)
    #expect(bound.leastMaxWait() == Int(best.maxWait), situation)
  }

  @Test func `is zero without changes`() {
    let bound = ClairvoyantBound(
      ReplayTrip(name: "", changes: [], end: 100), refillSeconds: 60, capacity: 10)
    #expect(bound.leastArea() == 0)
    #expect(bound.leastWrongTime() == 0)
    #expect(bound.leastMaxWait() == 0)
  }

  @Test(arguments: 1...60 as ClosedRange<UInt64>)
  func `in real time stays below every policy`(_ seed: UInt64) {
    var dice = PolicyDice(seed: seed)
    let trip = dice.trip(changes: dice.roll(1...60), meanGap: 15)
    let times = trip.changes.map { Double($0) + dice.fraction() }.sorted()
    let bound = ClairvoyantBound(
      realTimes: times, end: Double(trip.end) + 1, refillSeconds: 30, capacity: 3)
    // A plain bucket in continuous time, with the one-a-second rule.
    var (broadcasts, anchor) = ([Double](), -90.0)
    for time in times where broadcasts.last.map({ $0 < time }) ?? true {
      let moment = max(time, anchor + 30, (broadcasts.last?.rounded(.down) ?? -1) + 1)
      anchor = max(anchor, moment - 90) + 30
      broadcasts.append(moment)
    }
    let metrics = ReplayMetrics(
      changes: times, broadcasts: broadcasts, end: Double(trip.end) + 1)
    #expect(bound.leastArea() <= metrics.area + 1e-6, "seed \(seed)")
    let generous = ClairvoyantBound(
      realTimes: times, end: Double(trip.end) + 1, refillSeconds: 30, capacity: 3,
      overdraftTokens: 2)
    #expect(generous.leastArea() <= bound.leastArea())
  }
}

/// Tries every schedule of a short trip.
private struct Exhaustive {
  struct Best {
    var area = Double.infinity
    var wrongTime = Double.infinity
    var maxWait = Double.infinity
  }

  private let trip: ReplayTrip
  private let refill: Int
  private let capacity: Int
  private var best = Best()

  init(_ trip: ReplayTrip, refill: Int, capacity: Int) {
    self.trip = trip
    self.refill = refill
    self.capacity = capacity
  }

  func search() -> Best {
    var search = self
    search.visit(second: 0, broadcasts: [], tokens: capacity * refill)
    return search.best
  }

  /// - Parameter tokens: level in token-seconds.
  private mutating func visit(second: Int, broadcasts: [Int], tokens: Int) {
    guard second < trip.end else {
      let metrics = ReplayMetrics(trip, broadcasts: broadcasts)
      best.area = min(best.area, metrics.area)
      best.wrongTime = min(best.wrongTime, metrics.wrongSeconds)
      best.maxWait = min(best.maxWait, metrics.maxWait)
      return
    }
    let next = min(tokens + 1, capacity * refill)
    visit(second: second + 1, broadcasts: broadcasts, tokens: next)
    if tokens >= refill {
      visit(
        second: second + 1, broadcasts: broadcasts + [second],
        tokens: min(tokens - refill + 1, capacity * refill))
    }
  }
}
