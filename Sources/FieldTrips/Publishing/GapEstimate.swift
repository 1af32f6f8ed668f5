package import Clocks

/// The typical time between a trip's changes, learned as they come.
///
/// A running geometric mean: bursts and long pauses are far apart on a linear scale, and a plain
/// mean would follow the pauses alone. Constant size, constant work.
package struct GapEstimate: Sendable, Equatable {
  private var logGap = 0.0
  private var gaps = 0
  private var previous: Moment?

  /// exp(−γ), γ being Euler's constant: dividing by it turns the geometric mean of a Poisson
  /// stream's gaps into their mean.
  private static let poissonCorrection = 0.561_459_483_566_885

  package init() {}

  /// A change came at `now`.
  /// - Parameters:
  ///   - smoothing: the least weight of the newest gap; early ones weigh more, 1/n.
  ///   - floor: what shorter gaps count as.
  package mutating func observe(at now: Moment, smoothing: Double, floor: Duration) {
    defer { previous = now }
    guard let previous else { return }
    if gaps < .max { gaps += 1 }
    let gap = max((now - previous).inSeconds, floor.inSeconds)
    logGap += max(smoothing, 1 / Double(gaps)) * (Natural.logarithm(gap) - logGap)
  }

  /// Seconds; nil until there was a gap.
  package var typicalSeconds: Double? {
    gaps == 0 ? nil : Natural.exponential(logGap) / GapEstimate.poissonCorrection
  }
}
