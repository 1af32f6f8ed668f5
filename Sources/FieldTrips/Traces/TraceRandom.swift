internal import Randomness

/// The trace generator's source of chance.
///
/// Draws in whole numbers only, and by its own methods, because the logarithms of two C libraries
/// may differ in the last bit and the standard library's `random(in:)` may change between releases.
/// So one seed gives the same trace on every machine.
struct TraceRandom {
  private var generator: SplitMix64

  init(seed: UInt64) { generator = SplitMix64(seed: seed) }

  mutating func next() -> UInt64 { generator.next() }

  /// A whole number from 0 up to, not including, `bound`; `bound` is at least 1.
  mutating func below(_ bound: Int) -> Int { generator.below(bound) }

  /// True in `percent` of 100 cases.
  mutating func happens(percent: Int) -> Bool { below(100) < percent }

  mutating func draw(_ quantiles: Quantiles) -> Int {
    let steps = quantiles.values.count - 1
    let position = below(steps * 4096)
    let (step, fraction) = (position / 4096, position % 4096)
    let (low, high) = (quantiles.values[step], quantiles.values[step + 1])
    return low + (high - low) * fraction / 4096
  }
}

/// A distribution, written as its values at equally spaced shares from the least to the largest.
struct Quantiles: Sendable {
  let values: [Int]

  init(_ values: Int...) {
    precondition(values.count >= 2 && values == values.sorted(), "quantiles go up")
    self.values = values
  }
}
