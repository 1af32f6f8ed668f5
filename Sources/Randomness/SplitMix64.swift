/// Random numbers that a seed repeats, on every machine and in every release: SplitMix64, after
/// Steele, Lea and Flood (2014). Not for secrets.
package struct SplitMix64: RandomNumberGenerator, Sendable {
  private var state: UInt64

  package init(seed: UInt64) { state = seed }

  package mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    return Self.mixed(state)
  }

  /// Evenly from 0 up to, not including, 1.
  package mutating func fraction() -> Double { Self.fraction(of: next()) }

  /// A whole number from 0 up to, not including, `bound`, which is at least 1. The standard
  /// library's `random(in:using:)` may change between releases; this does not.
  package mutating func below(_ bound: Int) -> Int {
    precondition(bound >= 1, "there is no number below \(bound)")
    return Int(next().multipliedFullWidth(by: UInt64(bound)).high)
  }

  /// The upper 53 bits as a fraction, as many as a `Double` holds.
  package static func fraction(of bits: UInt64) -> Double { Double(bits >> 11) * 0x1p-53 }

  /// Spreads each bit over all: the function that a generator's states go through.
  package static func mixed(_ value: UInt64) -> UInt64 {
    var mixed = value
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }
}
