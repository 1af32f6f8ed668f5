internal import Clocks

/// How long something took, counted by steps that suit everything from a commit to a phone's wait.
struct TimeHistogram: Sendable, Equatable {
  /// Upper bounds in seconds. About three to a decade: a quantile read from them is off by a third
  /// of itself at most in the middle of a step.
  static let bounds: [Double] = [
    0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120,
  ]

  /// By bound, each without what the smaller ones hold; what is longer than all is in ``count`` only.
  private(set) var counts = [Int](repeating: 0, count: bounds.count)
  private(set) var count = 0
  private(set) var seconds = 0.0

  /// - Parameter span: below 0 counts as 0, as a clock that was set back makes it.
  mutating func record(_ span: Duration) {
    let seconds = max(0, Double(span.wholeNanoseconds) / 1e9)
    count += 1
    self.seconds += seconds
    if let step = Self.bounds.firstIndex(where: { seconds <= $0 }) { counts[step] += 1 }
  }

  /// What was recorded since an earlier moment.
  func since(_ earlier: TimeHistogram) -> TimeHistogram {
    var difference = self
    for step in counts.indices { difference.counts[step] -= earlier.counts[step] }
    difference.count -= earlier.count
    difference.seconds -= earlier.seconds
    return difference
  }

  /// The upper bound in seconds of the step in which a share of what was recorded lies; nil if
  /// nothing was, or if it lies beyond all steps.
  ///
  /// - Parameter share: above 0, at most 1.
  func quantile(_ share: Double) -> Double? {
    guard count > 0 else { return nil }
    let wanted = Int((share * Double(count)).rounded(.up))
    var sum = 0
    for (bound, count) in zip(Self.bounds, counts) {
      sum += count
      if sum >= wanted { return bound }
    }
    return nil
  }
}
