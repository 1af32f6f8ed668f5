/// Base64 of RFC 4648, strict in both directions, in one of its two alphabets.
///
/// Decoding refuses whitespace, characters of the other alphabet, wrong or missing padding and
/// non-zero bits behind the last byte, so that one value has exactly one spelling.
package struct Base64: Sendable {
  /// `+` and `/`, padded with `=`: channel IDs, PEM.
  package static let standard = Base64(lastLetters: "+/", padded: true)
  /// `-` and `_`, never padded: the parts of a provider token.
  package static let url = Base64(lastLetters: "-_", padded: false)

  private let letters: [UInt8]
  /// Value of each ASCII letter; 255 for those outside the alphabet.
  private let values: [UInt8]
  private let isPadded: Bool

  private init(lastLetters: String, padded: Bool) {
    let text = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789" + lastLetters
    letters = Array(text.utf8)
    var values = [UInt8](repeating: 255, count: 256)
    for (value, letter) in letters.enumerated() { values[Int(letter)] = UInt8(value) }
    self.values = values
    isPadded = padded
  }

  package func encode(_ bytes: some Collection<UInt8>) -> [UInt8] {
    var output: [UInt8] = []
    output.reserveCapacity((bytes.count + 2) / 3 * 4)
    var held: UInt32 = 0
    var heldBits: UInt32 = 0
    for byte in bytes {
      held = (held << 8) | UInt32(byte)
      heldBits += 8
      while heldBits >= 6 {
        heldBits -= 6
        output.append(letters[Int((held >> heldBits) & 63)])
      }
    }
    if heldBits > 0 { output.append(letters[Int((held << (6 - heldBits)) & 63)]) }
    while isPadded && output.count % 4 != 0 { output.append(UInt8(ascii: "=")) }
    return output
  }

  package func encodeText(_ bytes: some Collection<UInt8>) -> String {
    String(decoding: encode(bytes), as: UTF8.self)
  }

  /// - Returns: nil unless `text` is exactly what ``encode(_:)`` makes of some bytes.
  package func decode(_ text: some Collection<UInt8>) -> [UInt8]? {
    var body = Array(text)
    if isPadded {
      guard body.count % 4 == 0 else { return nil }
      for _ in 0..<2 where body.last == UInt8(ascii: "=") { body.removeLast() }
    }
    guard body.count % 4 != 1 else { return nil }
    var output: [UInt8] = []
    output.reserveCapacity(body.count * 3 / 4)
    var held: UInt32 = 0
    var heldBits: UInt32 = 0
    for letter in body {
      let value = values[Int(letter)]
      guard value != 255 else { return nil }
      held = (held << 6) | UInt32(value)
      heldBits += 6
      if heldBits >= 8 {
        heldBits -= 8
        output.append(UInt8(truncatingIfNeeded: held >> heldBits))
      }
    }
    guard held & ((1 << heldBits) - 1) == 0 else { return nil }
    return output
  }

  package func decode(_ text: String) -> [UInt8]? { decode(Array(text.utf8)) }
}

/// Lower-case hexadecimal: device tokens, digests in identifiers.
package enum Hexadecimal {
  package static func encode(_ bytes: some Collection<UInt8>) -> String {
    let digits = Array("0123456789abcdef".utf8)
    var output: [UInt8] = []
    output.reserveCapacity(bytes.count * 2)
    for byte in bytes {
      output.append(digits[Int(byte >> 4)])
      output.append(digits[Int(byte & 15)])
    }
    return String(decoding: output, as: UTF8.self)
  }

  /// - Returns: nil for an odd length or anything but `0-9`, `a-f`, `A-F`.
  package static func decode(_ text: some Collection<UInt8>) -> [UInt8]? {
    guard text.count % 2 == 0 else { return nil }
    var output: [UInt8] = []
    output.reserveCapacity(text.count / 2)
    var high: UInt8?
    for letter in text {
      guard let digit = value(of: letter) else { return nil }
      if let first = high {
        output.append(first << 4 | digit)
        high = nil
      } else {
        high = digit
      }
    }
    return output
  }

  private static func value(of letter: UInt8) -> UInt8? {
    switch letter {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): letter - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): letter - UInt8(ascii: "a") + 10
    case UInt8(ascii: "A")...UInt8(ascii: "F"): letter - UInt8(ascii: "A") + 10
    default: nil
    }
  }
}
