internal import Glibc

/// The harness' source of chance: SplitMix64, after Steele, Lea and Flood (2014). The same seed
/// gives the same schedule.
struct LoadRandom: RandomNumberGenerator, Sendable {
  private var state: UInt64

  init(seed: UInt64) { state = seed }

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }

  /// Evenly from 0 up to, not including, 1.
  mutating func fraction() -> Double { Double(next() >> 11) * 0x1p-53 }

  /// A whole number from 0 up to, not including, `bound`.
  mutating func below(_ bound: Int) -> Int {
    Int(next().multipliedFullWidth(by: UInt64(bound)).high)
  }

  /// A waiting time of a memoryless process.
  mutating func exponential(mean: Double) -> Double { -mean * log(1 - fraction()) }

  /// How many tries until the first success, 1 or more, with this many on average.
  mutating func geometric(mean: Double) -> Int {
    guard mean > 1 else { return 1 }
    return 1 + Int(log(1 - fraction()) / log(1 - 1 / mean))
  }
}
