extension JSONScanner {
  /// Steps over a string whose opening quote is the next byte.
  ///
  /// - Returns: what stands between the quotes, escapes and all, and whether there are escapes.
  mutating func string() throws(JSONError) -> (content: Range<Int>, isEscaped: Bool) {
    offset += 1
    let start = offset
    var isEscaped = false
    while offset < bytes.count {
      switch bytes[offset] {
      case .quote:
        offset += 1
        return (start..<offset - 1, isEscaped)
      case .backslash:
        isEscaped = true
        try escape()
      case 0..<0x20:
        throw unexpected("an escape instead of a control character")
      case 0x80...:
        try multibyteCharacter()
      default:
        offset += 1
      }
    }
    throw unexpected("a closing quote")
  }

  private mutating func escape() throws(JSONError) {
    let start = offset
    offset += 1
    guard offset < bytes.count else { throw unexpected("an escaped character") }
    switch bytes[offset] {
    case .quote, .backslash, UInt8(ascii: "/"), UInt8(ascii: "b"), UInt8(ascii: "f"),
      UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"):
      offset += 1
    case UInt8(ascii: "u"):
      offset += 1
      try unicodeEscape(start: start)
    default:
      throw unexpected("one of \"\\/bfnrtu after a backslash")
    }
  }

  private mutating func unicodeEscape(start: Int) throws(JSONError) {
    let unit = try fourHexadecimalDigits()
    guard unit & 0xf800 == 0xd800 else { return }
    // A high half must come first, and its low half directly behind it.
    guard unit < 0xdc00, accept(.backslash), accept(UInt8(ascii: "u")) else {
      throw JSONError(.loneSurrogate, offset: start)
    }
    guard try fourHexadecimalDigits() & 0xfc00 == 0xdc00 else {
      throw JSONError(.loneSurrogate, offset: start)
    }
  }

  private mutating func fourHexadecimalDigits() throws(JSONError) -> UInt16 {
    var unit: UInt16 = 0
    for _ in 0..<4 {
      guard offset < bytes.count, let digit = bytes[offset].hexadecimalDigit else {
        throw unexpected("four hexadecimal digits after \\u")
      }
      unit = unit << 4 | digit
      offset += 1
    }
    return unit
  }

  /// The table of well-formed byte sequences in RFC 3629, section 4: the first byte fixes the
  /// length and, where an overlong form, a surrogate or a value above U+10FFFF is near, the range
  /// of the second.
  private mutating func multibyteCharacter() throws(JSONError) {
    let start = offset
    let (length, second): (Int, ClosedRange<UInt8>) =
      switch bytes[start] {
      case 0xc2...0xdf: (2, 0x80...0xbf)
      case 0xe0: (3, 0xa0...0xbf)
      case 0xed: (3, 0x80...0x9f)
      case 0xe1...0xef: (3, 0x80...0xbf)
      case 0xf0: (4, 0x90...0xbf)
      case 0xf1...0xf3: (4, 0x80...0xbf)
      case 0xf4: (4, 0x80...0x8f)
      default: (0, 0...0)
      }
    guard length > 0, start + length <= bytes.count, second.contains(bytes[start + 1]) else {
      throw JSONError(.invalidUTF8, offset: start)
    }
    for index in start + 2..<start + max(length, 2) where bytes[index] & 0xc0 != 0x80 {
      throw JSONError(.invalidUTF8, offset: start)
    }
    offset += length
  }
}
