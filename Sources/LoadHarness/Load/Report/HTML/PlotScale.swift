internal import Glibc

/// How values become places along an axis, and which of them are written beside it.
struct PlotScale: Sendable, Equatable {
  enum Kind: Sendable {
    case linear
    /// For what spans several powers of ten; values below the range lie at its beginning.
    case logarithmic
  }

  let kind: Kind
  let low: Double
  let high: Double
  /// Rising.
  let ticks: [Double]

  /// From 0 to a round number that is at least `largest`.
  static func linear(upTo largest: Double) -> PlotScale {
    let top = largest > 0 ? largest : 1
    let step = roundStep(atLeast: top / 5)
    let count = Int((top / step).rounded(.up))
    return PlotScale(
      kind: .linear, low: 0, high: step * Double(count),
      ticks: (0...count).map { Double($0) * step })
  }

  /// From 0 to exactly `end`, as for time.
  static func span(_ end: Double) -> PlotScale {
    let top = end > 0 ? end : 1
    let step = roundStep(atLeast: top / 6)
    return PlotScale(
      kind: .linear, low: 0, high: top,
      ticks: (0...Int(top / step + 1e-9)).map { Double($0) * step })
  }

  /// Whole powers of ten around the values; at most `mostDecades` of them, the upper ones.
  static func logarithmic(from least: Double, to largest: Double, mostDecades: Int = 7) -> PlotScale
  {
    let top = Int(log10(max(largest, 1e-9)).rounded(.up))
    let bottom = Int(log10(max(min(least, largest), 1e-9)).rounded(.down))
    let first = max(min(bottom, top - 1), top - mostDecades)
    return PlotScale(
      kind: .logarithmic, low: pow(10, Double(first)), high: pow(10, Double(top)),
      ticks: (first...top).map { pow(10, Double($0)) })
  }

  /// The place of a value: 0 at the beginning, 1 at the end, never beyond.
  func place(of value: Double) -> Double {
    let share =
      switch kind {
      case .linear: (value - low) / (high - low)
      case .logarithmic:
        value <= low ? 0 : (log10(value) - log10(low)) / (log10(high) - log10(low))
      }
    return min(1, max(0, share))
  }

  /// 1, 2, 5 times a power of ten.
  private static func roundStep(atLeast least: Double) -> Double {
    let power = pow(10, log10(least).rounded(.down))
    for factor in [1.0, 2, 5] where factor * power >= least * (1 - 1e-9) { return factor * power }
    return 10 * power
  }
}
