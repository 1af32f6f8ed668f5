/// The best that any policy could do on a trip: one that knows the future and obeys the same bucket
/// and the rule of one broadcast a second.
///
/// A dynamic program. A best schedule broadcasts only in a second that has a change, or in the
/// second in which a token completes: any other broadcast could move earlier for nothing. So the
/// state after a broadcast is a pair (j, y): j distinct change-seconds are shown, and the bucket's
/// anchor is y. Anchors so old that the bucket is full are all alike; the others lie within the last
/// `refill × capacity` seconds, which makes them a ring.
package struct ClairvoyantBound: Sendable {
  /// Distinct seconds with a change.
  private let slots: [Int]
  /// Number and sum of the changes in the first k slots.
  private let counts: [Double]
  private let sums: [Double]
  private let end: Double
  private let lastSecond: Int
  private let refill: Int
  /// Seconds in which an empty bucket fills.
  private let window: Int
  /// In real-time runs a second's own changes cost nothing in that second.
  private let isRealTime: Bool

  /// On whole seconds: exact.
  ///
  /// - Parameters:
  ///   - refillSeconds: in which one token comes back.
  ///   - capacity: 2 or more.
  package init(_ trip: ReplayTrip, refillSeconds: Int, capacity: Int) {
    self.init(
      trip.changes.map(Double.init), end: Double(trip.end), refillSeconds: refillSeconds,
      capacity: capacity, isRealTime: false, allowance: 0)
  }

  /// In real time: a true lower bound, found on whole seconds by rounding in favour of the bound.
  ///
  /// - Parameters:
  ///   - realTimes: when each change was accepted, in seconds, in order.
  ///   - overdraftTokens: that significant changes borrowed at most; say so beside the number.
  package init(
    realTimes changes: [Double], end: Double, refillSeconds: Int, capacity: Int,
    overdraftTokens: Int = 0
  ) {
    // One second more, because rounding can hide a second of refill.
    self.init(
      changes, end: end, refillSeconds: refillSeconds, capacity: capacity, isRealTime: true,
      allowance: 1 + overdraftTokens * refillSeconds)
  }

  private init(
    _ changes: [Double], end: Double, refillSeconds: Int, capacity: Int, isRealTime: Bool,
    allowance: Int
  ) {
    precondition(refillSeconds >= 1 && capacity >= 2, "needs a bucket of two tokens or more")
    var (slots, counts, sums) = ([Int](), [0.0], [0.0])
    for change in changes {
      let second = Int(change.rounded(.down))
      if slots.last != second {
        slots.append(second)
        counts.append(counts[counts.count - 1])
        sums.append(sums[sums.count - 1])
      }
      counts[counts.count - 1] += 1
      sums[sums.count - 1] += change
    }
    (self.slots, self.counts, self.sums) = (slots, counts, sums)
    self.end = end
    lastSecond = Int(end.rounded(.up)) - 1
    refill = refillSeconds
    window = refillSeconds * capacity + allowance
    self.isRealTime = isRealTime
  }

  /// The least possible sum of all waits, in note-seconds.
  package func leastArea() -> Double {
    // Shown at s, the changes of slots j+1...k cost (N[k] − N[j]) s − (P[k] − P[j]): a difference
    // of one term in k and one in j.
    solve { slot, second, isOwnSecond in
      let shown = isOwnSecond && isRealTime ? slot - 1 : slot
      return counts[shown] * second - sums[shown]
    } loss: { slot, second in
      counts[slot] * second - sums[slot]
    }
  }

  /// The least possible time, in seconds, in which something waits. Whole seconds only.
  package func leastWrongTime() -> Double {
    solve { _, second, _ in
      second
    } loss: { slot, _ in
      slot < slots.count ? Double(slots[slot]) : end
    }
  }

  /// The shortest wait, in seconds, that no change need exceed. Whole seconds only.
  package func leastMaxWait() -> Int {
    var (low, high) = (0, max(0, lastSecond + 1 - (slots.first ?? 0)))
    while low < high {
      let middle = (low + high) / 2
      if isFeasible(maxWait: middle) { high = middle } else { low = middle + 1 }
    }
    return low
  }

  // MARK: The program

  /// The least total cost, where showing slots j+1...k at second s costs `gain(k, s) − loss(j, s)`.
  private func solve(
    gain: (_ slot: Int, _ second: Double, _ isOwnSecond: Bool) -> Double,
    loss: (_ slot: Int, _ second: Double) -> Double
  ) -> Double {
    guard let first = slots.first else { return 0 }
    var table = Table(rows: slots.count + 1, window: window)
    var (shown, active, freed) = (0, 0, 0)
    var second = first
    while second <= lastSecond {
      let isSlot = shown < slots.count && slots[shown] == second
      if isSlot { shown += 1 }
      // Rows whose next change came so long before a later silence that showing it then was free.
      while freed < shown, slots[freed] <= second - window { freed += 1 }
      while active < shown, freed > 0, slots[active] + refill <= slots[freed - 1] { active += 1 }
      table.advance(to: second, rows: active..<shown + (isSlot ? 0 : 1))
      let now = Double(second)
      let base = gain(shown, now, isSlot)
      for row in active..<max(active, shown) {
        let cost = base - loss(row, now)
        if isSlot {
          table.broadcast(from: row, to: shown, at: second, cost: cost, refill: refill)
        } else {
          table.completeToken(from: row, to: shown, at: second, cost: cost, refill: refill)
        }
      }
      second += 1
    }
    let last = gain(slots.count, end, false)
    return (0...slots.count).reduce(Double.infinity) {
      min($0, table.least(of: $1) + (last - (loss($1, end))))
    }
  }

  private struct Table {
    private let window: Int
    /// The least cost of each row with a full bucket.
    private var full: [Double]
    /// The least cost of each row by anchor: a ring over the newest `window` seconds.
    private var live: [Double]

    init(rows: Int, window: Int) {
      self.window = window
      full = Array(repeating: .infinity, count: rows)
      live = Array(repeating: .infinity, count: rows * window)
      full[0] = 0
    }

    /// Anchors that are now `window` seconds old mean a full bucket.
    mutating func advance(to second: Int, rows: Range<Int>) {
      let column = index(second)
      for row in rows {
        let cell = row * window + column
        if live[cell] < full[row] { full[row] = live[cell] }
        live[cell] = .infinity
      }
    }

    /// A broadcast in a second with a change: from any anchor that has a token.
    mutating func broadcast(from row: Int, to next: Int, at second: Int, cost: Double, refill: Int)
    {
      relax(next, anchor: second - window + refill, full[row] + cost)
      // The ring's cells of second − window + 1 ... second − refill, in at most three runs, since
      // either end may wrap.
      var (source, target) = (index(second - window + 1), index(second - window + 1 + refill))
      var left = window - refill
      while left > 0 {
        let run = min(left, window - source, window - target)
        relax(from: row * window + source, to: next * window + target, count: run, cost: cost)
        left -= run
        source = source + run == window ? 0 : source + run
        target = target + run == window ? 0 : target + run
      }
    }

    private mutating func relax(from source: Int, to target: Int, count: Int, cost: Double) {
      for step in 0..<count {
        let value = live[source + step] + cost
        if value < live[target + step] { live[target + step] = value }
      }
    }

    /// A broadcast in another second: only with the token that completes in it.
    mutating func completeToken(
      from row: Int, to next: Int, at second: Int, cost: Double, refill: Int
    ) {
      relax(next, anchor: second, live[row * window + index(second - refill)] + cost)
    }

    func least(of row: Int) -> Double {
      live[row * window..<(row + 1) * window].reduce(full[row], min)
    }

    private mutating func relax(_ row: Int, anchor: Int, _ cost: Double) {
      let cell = row * window + index(anchor)
      if cost < live[cell] { live[cell] = cost }
    }

    private func index(_ second: Int) -> Int {
      let rest = second % window
      return rest < 0 ? rest + window : rest
    }
  }

  /// Whether some schedule shows every change within `maxWait` seconds. For every number of shown
  /// slots the lowest reachable anchor is enough to know.
  private func isFeasible(maxWait: Int) -> Bool {
    let end = lastSecond + 1
    var anchors = [Int](repeating: .max, count: slots.count + 1)
    anchors[0] = -window
    for shown in 0..<slots.count where anchors[shown] != .max {
      let deadline = slots[shown] + maxWait
      if deadline >= end { return true }
      for next in shown + 1...slots.count {
        let second = max(slots[next - 1], anchors[shown] + refill)
        guard second <= deadline else { break }
        anchors[next] = min(anchors[next], max(anchors[shown], second - window) + refill)
      }
    }
    return anchors[slots.count] != .max
  }
}
