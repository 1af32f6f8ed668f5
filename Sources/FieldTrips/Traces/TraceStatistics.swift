/// What one wants to know of a trace before replaying it: how much, how many, and how bursty.
///
/// Gaps are between neighbouring captures of the whole group. Percentiles interpolate linearly.
/// Minutes are counted from the first capture on.
package struct TraceStatistics: Sendable, Equatable {
  package var captures = 0
  package var observers = 0
  package var places = 0
  package var durationSeconds = 0.0

  package var meanGapSeconds = 0.0
  /// Standard deviation of the gaps over their mean; 1 for a Poisson stream.
  package var gapVariation = 0.0
  package var medianGapSeconds = 0.0
  package var p90GapSeconds = 0.0
  package var p99GapSeconds = 0.0
  package var longestGapSeconds = 0.0
  /// Share of gaps of 0 s.
  package var zeroGapShare = 0.0

  /// Variance over mean of the captures a minute; 1 for a Poisson stream.
  package var fano = 0.0
  /// Share of minutes that have a capture.
  package var busyMinuteShare = 0.0
  /// The most captures in any window of so many seconds, wherever it starts.
  package var peak1Second = 0
  package var peak10Seconds = 0
  package var peak60Seconds = 0
  /// The busiest 60 s over the event's mean rate.
  package var peakOverMean = 0.0
  /// Share of captures that are not on a whole minute, which is taken to be the most frequent
  /// remainder of the offsets by 60, since a trace says not at which second of a minute it begins.
  /// About 0.98 for a true resolution of seconds; many sources keep whole minutes.
  package var offMinuteShare = 0.0

  /// The most observers who captured something in one window of 60 s.
  package var mostObserversInMinute = 0
  /// Share of the captures that the busiest observer made.
  package var busiestObserverShare = 0.0
  /// The most captures of one observer at one instant.
  package var largestStack = 0

  package init(_ trace: CaptureTrace) {
    guard !trace.captures.isEmpty else { return }
    captures = trace.captures.count
    observers = Set(trace.captures.map(\.observer)).count
    places = Set(trace.captures.map(\.place)).count
    durationSeconds = trace.durationSeconds
    let offsets = trace.captures.map(\.offsetSeconds)
    measureGaps(offsets)
    measureMinutes(offsets)
    peak1Second = Self.peak(offsets, within: 1)
    peak10Seconds = Self.peak(offsets, within: 10)
    peak60Seconds = Self.peak(offsets, within: 60)
    if durationSeconds > 0 {
      peakOverMean = Double(peak60Seconds) / (Double(captures) / durationSeconds * 60)
    }
    measurePeople(trace.captures)
  }

  private mutating func measureGaps(_ offsets: [Double]) {
    let gaps = zip(offsets.dropFirst(), offsets).map { $0 - $1 }.sorted()
    guard let longest = gaps.last else { return }
    longestGapSeconds = longest
    let (mean, variance) = Self.meanAndVariance(gaps)
    meanGapSeconds = mean
    gapVariation = mean > 0 ? variance.squareRoot() / mean : 0
    medianGapSeconds = Self.percentile(0.5, of: gaps)
    p90GapSeconds = Self.percentile(0.9, of: gaps)
    p99GapSeconds = Self.percentile(0.99, of: gaps)
    zeroGapShare = Double(gaps.count { $0 == 0 }) / Double(gaps.count)
  }

  private mutating func measureMinutes(_ offsets: [Double]) {
    var remainders = [Int](repeating: 0, count: 60)
    for offset in offsets { remainders[Int(offset) % 60] += 1 }
    let whole = remainders.indices.max { remainders[$0] < remainders[$1] } ?? 0
    offMinuteShare = 1 - Double(remainders[whole]) / Double(offsets.count)

    var counts = [Double](repeating: 0, count: Int(durationSeconds / 60) + 1)
    for offset in offsets { counts[Int((offset - offsets[0]) / 60)] += 1 }
    let (mean, variance) = Self.meanAndVariance(counts)
    fano = variance / mean
    busyMinuteShare = Double(counts.count { $0 > 0 }) / Double(counts.count)
  }

  private mutating func measurePeople(_ captures: [CaptureTrace.Capture]) {
    var made: [String: Int] = [:]
    var stack: [String: (offset: Double, height: Int)] = [:]
    var inWindow: [String: Int] = [:]
    var oldest = 0
    for capture in captures {
      made[capture.observer, default: 0] += 1
      var top = stack[capture.observer] ?? (capture.offsetSeconds, 0)
      top =
        top.offset == capture.offsetSeconds
        ? (top.offset, top.height + 1) : (capture.offsetSeconds, 1)
      stack[capture.observer] = top
      largestStack = max(largestStack, top.height)

      inWindow[capture.observer, default: 0] += 1
      while captures[oldest].offsetSeconds <= capture.offsetSeconds - 60 {
        let gone = captures[oldest].observer
        inWindow[gone] = inWindow[gone] == 1 ? nil : (inWindow[gone] ?? 1) - 1
        oldest += 1
      }
      mostObserversInMinute = max(mostObserversInMinute, inWindow.count)
    }
    busiestObserverShare = Double(made.values.max() ?? 0) / Double(captures.count)
  }

  /// The most offsets in any half-open window of this length.
  private static func peak(_ offsets: [Double], within seconds: Double) -> Int {
    var oldest = 0
    var most = 0
    for (index, offset) in offsets.enumerated() {
      while offsets[oldest] <= offset - seconds { oldest += 1 }
      most = max(most, index - oldest + 1)
    }
    return most
  }

  private static func meanAndVariance(_ values: [Double]) -> (mean: Double, variance: Double) {
    let mean = values.reduce(0, +) / Double(values.count)
    let squares = values.reduce(0) { $0 + ($1 - mean) * ($1 - mean) }
    return (mean, squares / Double(values.count))
  }

  private static func percentile(_ share: Double, of sorted: [Double]) -> Double {
    let position = share * Double(sorted.count - 1)
    let below = Int(position)
    let above = min(below + 1, sorted.count - 1)
    return sorted[below] + (sorted[above] - sorted[below]) * (position - Double(below))
  }
}
