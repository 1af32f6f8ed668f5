/// Random numbers that a seed repeats: SplitMix64, by Steele, Lea and Flood (2014).
///
/// Not for secrets. Channel IDs and tokens of a simulator are none.
package struct SeededRandom: RandomNumberGenerator, Sendable {
  private var state: UInt64

  package init(seed: UInt64) { state = seed }

  package mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    return Self.mixed(state)
  }

  /// Uniform in 0..<1.
  package mutating func fraction() -> Double { Self.fraction(of: next()) }

  package mutating func bytes(_ count: Int) -> [UInt8] {
    (0..<count).map { _ in UInt8(truncatingIfNeeded: next() >> 32) }
  }

  /// A canonical lower-case UUID, version 4. Every answer carries one or two, so it is written
  /// into its place digit by digit.
  package mutating func uuid() -> String {
    var high = next() & 0xFFFF_FFFF_FFFF_0FFF | 0x4000
    var low = next() & 0x3FFF_FFFF_FFFF_FFFF | 0x8000_0000_0000_0000
    return String(unsafeUninitializedCapacity: 36) { text in
      for position in 0..<36 {
        if position == 8 || position == 13 || position == 18 || position == 23 {
          text[position] = UInt8(ascii: "-")
          continue
        }
        let digit = UInt8(truncatingIfNeeded: high >> 60)
        text[position] = digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") - 10 + digit
        high = high << 4 | low >> 60
        low <<= 4
      }
      return 36
    }
  }

  /// The same number for the same three, without any state: the fate of one message at one phone.
  static func hash(_ seed: UInt64, _ first: UInt64, _ second: UInt64) -> UInt64 {
    mixed(mixed(seed &+ 0x9E37_79B9_7F4A_7C15 &* (first &+ 1)) &+ second)
  }

  static func fraction(of bits: UInt64) -> Double { Double(bits >> 11) * 0x1p-53 }

  static func mixed(_ value: UInt64) -> UInt64 {
    var mixed = value
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }
}
