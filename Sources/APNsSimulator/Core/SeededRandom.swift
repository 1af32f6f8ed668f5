internal import Randomness

/// What a simulator draws, from random numbers that a seed repeats.
///
/// Not for secrets. Channel IDs and tokens of a simulator are none.
package struct SeededRandom: RandomNumberGenerator, Sendable {
  private var generator: SplitMix64

  package init(seed: UInt64) { generator = SplitMix64(seed: seed) }

  package mutating func next() -> UInt64 { generator.next() }

  /// Uniform in 0..<1.
  package mutating func fraction() -> Double { generator.fraction() }

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
    SplitMix64.mixed(SplitMix64.mixed(seed &+ 0x9E37_79B9_7F4A_7C15 &* (first &+ 1)) &+ second)
  }

  static func fraction(of bits: UInt64) -> Double { SplitMix64.fraction(of: bits) }
}
