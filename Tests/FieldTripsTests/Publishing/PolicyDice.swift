import FieldTrips
import Randomness

/// Randomness that a seed repeats, so that a failing property names its seed.
struct PolicyDice: RandomNumberGenerator {
  private var generator: SplitMix64

  init(seed: UInt64) { generator = SplitMix64(seed: seed) }

  mutating func next() -> UInt64 { generator.next() }

  mutating func roll(_ range: ClosedRange<Int>) -> Int { .random(in: range, using: &self) }
  mutating func fraction() -> Double { .random(in: 0..<1, using: &self) }
  mutating func happens(_ probability: Double) -> Bool { fraction() < probability }

  /// Seconds between two changes: bursts a twentieth as long as pauses.
  mutating func gap(mean: Double) -> Double {
    let short = happens(0.7)
    return exponential() * mean * (short ? 0.15 : 3)
  }

  /// Exponentially distributed, of mean 1.
  mutating func exponential() -> Double { -log(1 - fraction()) }

  mutating func trip(changes: Int, meanGap: Double) -> ReplayTrip {
    var (now, seconds) = (0.0, [Int]())
    for _ in 0..<changes {
      seconds.append(Int(now))
      now += gap(mean: meanGap)
    }
    return ReplayTrip(name: "random", changes: seconds, end: (seconds.last ?? 0) + 300)
  }

  private func log(_ value: Double) -> Double {
    // A rough logarithm does for random gaps; ten terms of the series around 1 per halving.
    var (rest, halvings) = (value, 0.0)
    while rest < 0.5 {
      rest *= 2
      halvings += 1
    }
    var (sum, power) = (0.0, 1.0)
    for term in 1...40 {
      power *= 1 - rest
      sum -= power / Double(term)
    }
    return sum - halvings * 0.693_147_180_559_945_3
  }
}
