/// Counts times in buckets that grow with the value, so that an hour of millions of latencies takes
/// a few kilobytes.
///
/// Log-linear: up to 127 µs each microsecond has a bucket; from there each power of two is cut into
/// 64, so what is read back is at most 1.6 % above the truth.
package struct LatencyHistogram: Sendable, Equatable {
  /// Only as long as the largest value so far needs.
  private var counts: [Int] = []
  package private(set) var count = 0
  package private(set) var maxMicroseconds = 0
  /// How many waits had no end when the watch ended; they are longer than all others.
  package private(set) var endless = 0
  private var sum = 0.0

  /// What ``quantile(_:)`` says where the waits had no end.
  package static let never = Int.max

  private static let halfBits = 6
  private static let half = 1 << halfBits

  package init() {}

  /// - Parameters:
  ///   - microseconds: what is negative, as clocks that differ by a little make it, counts as 0.
  ///   - times: how many values of this size there are.
  package mutating func add(_ microseconds: Int, times: Int = 1) {
    guard times > 0 else { return }
    let value = max(0, microseconds)
    let index = Self.index(of: value)
    if index >= counts.count {
      counts.append(contentsOf: repeatElement(0, count: index + 1 - counts.count))
    }
    counts[index] += times
    count += times
    sum += Double(value) * Double(times)
    maxMicroseconds = max(maxMicroseconds, value)
  }

  /// Counts waits that had no end when the watch ended.
  package mutating func addEndless(times: Int = 1) { endless += max(0, times) }

  package mutating func add(_ other: LatencyHistogram) {
    endless += other.endless
    if other.counts.count > counts.count {
      counts.append(contentsOf: repeatElement(0, count: other.counts.count - counts.count))
    }
    for index in other.counts.indices { counts[index] += other.counts[index] }
    count += other.count
    sum += other.sum
    maxMicroseconds = max(maxMicroseconds, other.maxMicroseconds)
  }

  /// No wait is known, not even one without an end.
  package var isEmpty: Bool { total == 0 }
  /// All waits, those without an end included.
  package var total: Int { count + endless }
  /// Of those that had an end.
  package var meanMicroseconds: Double { count > 0 ? sum / Double(count) : 0 }

  /// The value that a share of all values does not exceed, rounded up to its bucket's end.
  ///
  /// - Parameter share: 0 to 1; 0.99 for p99.
  /// - Returns: ``never`` where the share takes in waits without an end; 0 when there are no values.
  package func quantile(_ share: Double) -> Int {
    guard total > 0 else { return 0 }
    let rank = max(1, Int((share * Double(total)).rounded(.up)))
    guard rank <= count else { return Self.never }
    var passed = 0
    for (index, number) in counts.enumerated() where number > 0 {
      passed += number
      if passed >= rank { return min(Self.last(in: index), maxMicroseconds) }
    }
    return maxMicroseconds
  }

  /// The distribution as points: the value in microseconds, and the share of all waits up to it,
  /// which stays below 1 if some had no end. At most one a bucket.
  package var distribution: [(microseconds: Int, share: Double)] {
    var points: [(Int, Double)] = []
    var passed = 0
    for (index, number) in counts.enumerated() where number > 0 {
      passed += number
      points.append((min(Self.last(in: index), maxMicroseconds), Double(passed) / Double(total)))
    }
    return points
  }

  /// How many buckets values up to this one need.
  static func buckets(upTo value: Int) -> Int { index(of: value) + 1 }

  private static func index(of value: Int) -> Int {
    guard value >= 2 * half else { return value }
    let shift = Int.bitWidth - 1 - value.leadingZeroBitCount - halfBits
    return shift * half + value >> shift
  }

  /// The largest value that falls into a bucket.
  private static func last(in index: Int) -> Int {
    guard index >= 2 * half else { return index }
    let shift = index / half - 1
    return (index - shift * half + 1) << shift - 1
  }
}
