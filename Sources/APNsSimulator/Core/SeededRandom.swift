internal import Crypto

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

  /// A canonical lower-case UUID, version 4.
  package mutating func uuid() -> String {
    var bytes = bytes(16)
    bytes[6] = bytes[6] & 0x0F | 0x40
    bytes[8] = bytes[8] & 0x3F | 0x80
    let groups = [0..<4, 4..<6, 6..<8, 8..<10, 10..<16]
    return groups.map { Hexadecimal.encode(bytes[$0]) }.joined(separator: "-")
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
