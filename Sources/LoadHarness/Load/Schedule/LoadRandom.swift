internal import Glibc
internal import Randomness

/// The harness' source of chance. The same seed gives the same schedule.
struct LoadRandom: Sendable {
  private var generator: SplitMix64

  init(seed: UInt64) { generator = SplitMix64(seed: seed) }

  mutating func next() -> UInt64 { generator.next() }

  /// Evenly from 0 up to, not including, 1.
  mutating func fraction() -> Double { generator.fraction() }

  /// A whole number from 0 up to, not including, `bound`, which is at least 1.
  mutating func below(_ bound: Int) -> Int { generator.below(bound) }

  /// A waiting time of a memoryless process.
  mutating func exponential(mean: Double) -> Double { -mean * log(1 - fraction()) }

  /// How many tries until the first success, 1 or more, with this many on average.
  mutating func geometric(mean: Double) -> Int {
    guard mean > 1 else { return 1 }
    return 1 + Int(log(1 - fraction()) / log(1 - 1 / mean))
  }
}
