/// The identity of a trip: a UUID that the server makes, never the caller.
///
/// Written in lower case wherever it is text. Read in either case, since Apple's frameworks print
/// UUIDs in capitals.
package struct TripID: Hashable, Comparable, Sendable {
  private let high: UInt64
  private let low: UInt64

  /// Makes a random (version 4) UUID; RFC 9562, section 5.4.
  ///
  /// - Parameter randomBytes: from a cryptographic source, since a trip's ID travels in links. The
  ///   six bits that say "version 4" are overwritten.
  package init(randomBytes: InlineArray<16, UInt8>) {
    var high: UInt64 = 0
    var low: UInt64 = 0
    for index in 0..<8 {
      high = high << 8 | UInt64(randomBytes[index])
      low = low << 8 | UInt64(randomBytes[index + 8])
    }
    self.high = high & 0xFFFF_FFFF_FFFF_0FFF | 0x4000
    self.low = low & 0x3FFF_FFFF_FFFF_FFFF | 0x8000_0000_0000_0000
  }

  /// Makes a random UUID from a generator, so that tests can repeat it.
  package init(using generator: inout some RandomNumberGenerator) {
    var bytes = InlineArray<16, UInt8>(repeating: 0)
    for index in 0..<16 { bytes[index] = UInt8.random(in: .min ... .max, using: &generator) }
    self.init(randomBytes: bytes)
  }

  /// Reads the 36 characters of a UUID, of any version.
  package init(_ text: some StringProtocol) throws(IdentifierError) {
    var words: (UInt64, UInt64) = (0, 0)
    var digits = 0
    var position = 0
    for byte in text.utf8 {
      if position == 8 || position == 13 || position == 18 || position == 23 {
        guard byte == UInt8(ascii: "-") else { throw Self.malformed(text) }
      } else {
        guard digits < 32, let digit = hexadecimalDigit(byte) else { throw Self.malformed(text) }
        if digits < 16 {
          words.0 = words.0 << 4 | UInt64(digit)
        } else {
          words.1 = words.1 << 4 | UInt64(digit)
        }
        digits += 1
      }
      position += 1
    }
    guard position == 36, digits == 32 else { throw Self.malformed(text) }
    (high, low) = words
  }

  /// 36 characters in lower case.
  package var text: String {
    String(decoding: utf8, as: UTF8.self)
  }

  /// The text as ASCII.
  package var utf8: [UInt8] {
    var output: [UInt8] = []
    output.reserveCapacity(36)
    for index in 0..<16 {
      if index == 4 || index == 6 || index == 8 || index == 10 { output.append(UInt8(ascii: "-")) }
      let byte = byte(index)
      output.append(lowercaseDigits[Int(byte >> 4)])
      output.append(lowercaseDigits[Int(byte & 15)])
    }
    return output
  }

  /// Byte `index` of the sixteen, the most significant first.
  func byte(_ index: Int) -> UInt8 {
    let word = index < 8 ? high : low
    return UInt8(truncatingIfNeeded: word >> UInt64(56 - 8 * (index % 8)))
  }

  package static func < (left: TripID, right: TripID) -> Bool {
    (left.high, left.low) < (right.high, right.low)
  }

  private static func malformed(_ text: some StringProtocol) -> IdentifierError {
    IdentifierError(
      "\(quoted(text)) is not a trip ID: expected a UUID such as "
        + "0c9d3a52-6a0e-4d4b-9f3e-0a5b6c7d8e9f.")
  }
}

extension TripID: CustomStringConvertible {
  package var description: String { text }
}

private let lowercaseDigits: [UInt8] = Array("0123456789abcdef".utf8)

func hexadecimalDigit(_ byte: UInt8) -> UInt8? {
  switch byte {
  case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
  case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
  case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
  default: nil
  }
}
