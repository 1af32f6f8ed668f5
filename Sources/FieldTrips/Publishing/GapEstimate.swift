package import Clocks

/// The typical time between a trip's changes, learned as they come.
///
/// Bursts and long pauses are far apart on a linear scale, and a plain mean would follow the pauses
/// alone; so this is a running geometric mean. A slow one knows the trip, but takes an hour to hear
/// that everybody is at the pond now. So it may be joined, again by a geometric mean, with the rate
/// of the last few minutes. Constant size, constant work.
package struct GapEstimate: Sendable, Equatable {
  package struct Settings: Sendable, Equatable {
    /// Weight of the newest gap, above 0 and up to 1; early gaps weigh more, 1/n.
    package var smoothing = 0.02
    /// Shorter gaps count as this long, 1 ms...1 min: one capture in two photos is no rate.
    package var floor = Duration.milliseconds(500)
    /// What "the last few minutes" are: the time in which a change loses all but 1/e of its weight,
    /// 10 s...1 h; nil to use the geometric mean alone.
    package var window: Duration? = .seconds(300)

    package init() {}
  }

  private var logGap = 0.0
  private var gaps = 0
  private var first: Moment?
  private var previous: Moment?
  /// Changes, each weighing less by a factor of e per window since; as of `previous`.
  private var recent = 0.0

  /// exp(−γ), γ being Euler's constant: dividing by it turns the geometric mean of a Poisson
  /// stream's gaps into their mean.
  private static let poissonCorrection = 0.561_459_483_566_885

  package init() {}

  /// Changes came at `now`, all at once.
  package mutating func observe(_ changes: Int, at now: Moment, _ settings: Settings) {
    // Beyond a few dozen, the gaps of zero between them teach the geometric mean nothing more.
    for _ in 0..<min(changes, 32) { observe(at: now, settings) }
    recent += Double(max(0, changes - 32))
  }

  private mutating func observe(at now: Moment, _ settings: Settings) {
    defer {
      previous = now
      recent += 1
    }
    guard let previous else {
      first = now
      return
    }
    if gaps < .max { gaps += 1 }
    let gap = (now - previous).inSeconds
    let logarithm = Natural.logarithm(max(gap, settings.floor.inSeconds))
    logGap += max(settings.smoothing, 1 / Double(gaps)) * (logarithm - logGap)
    if let window = settings.window {
      recent *= Natural.exponential(-min(gap / window.inSeconds, 700))
    }
  }

  /// Seconds; nil until there was a gap.
  package func typicalSeconds(_ settings: Settings) -> Double? {
    guard gaps > 0 else { return nil }
    let typical = Natural.exponential(logGap) / GapEstimate.poissonCorrection
    guard let window = settings.window?.inSeconds, let first, let previous, previous > first else {
      return typical
    }
    // At first the window is not full: this is how much of its weight has been lived through.
    let lived = 1 - Natural.exponential(-min((previous - first).inSeconds / window, 700))
    return (typical * window * lived / recent).squareRoot()
  }
}
