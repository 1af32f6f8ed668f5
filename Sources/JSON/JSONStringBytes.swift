/// The UTF-8 bytes that a JSON string stands for: its content with the escapes undone.
///
/// Reads validated text only; it checks nothing again.
struct JSONStringBytes: IteratorProtocol, Sequence {
  private let bytes: [UInt8]
  private var offset: Int
  private let end: Int
  /// What is left of a `\u` escape: up to three bytes, the next one lowest.
  private var pending: UInt32 = 0

  /// - Parameter content: between the quotes.
  init(_ bytes: [UInt8], _ content: Range<Int>) {
    self.bytes = bytes
    offset = content.lowerBound
    end = content.upperBound
  }

  mutating func next() -> UInt8? {
    if pending != 0 {
      defer { pending >>= 8 }
      return UInt8(truncatingIfNeeded: pending)
    }
    guard offset < end else { return nil }
    let byte = bytes[offset]
    offset += 1
    return byte == .backslash ? escaped() : byte
  }

  private mutating func escaped() -> UInt8 {
    let letter = bytes[offset]
    offset += 1
    switch letter {
    case UInt8(ascii: "b"): return 0x08
    case UInt8(ascii: "f"): return 0x0c
    case UInt8(ascii: "n"): return 0x0a
    case UInt8(ascii: "r"): return 0x0d
    case UInt8(ascii: "t"): return 0x09
    case UInt8(ascii: "u"): return codePoint()
    default: return letter
    }
  }

  private mutating func codePoint() -> UInt8 {
    var scalar = UInt32(unit())
    if scalar & 0xfc00 == 0xd800 {
      offset += 2
      scalar = 0x1_0000 + (scalar & 0x3ff) << 10 + (UInt32(unit()) & 0x3ff)
    }
    // No continuation byte is zero, so zero can mean that none is pending.
    switch scalar {
    case ..<0x80:
      return UInt8(scalar)
    case ..<0x800:
      pending = tail(scalar, 0)
      return UInt8(0xc0 | scalar >> 6)
    case ..<0x1_0000:
      pending = tail(scalar, 6) | tail(scalar, 0) << 8
      return UInt8(0xe0 | scalar >> 12)
    default:
      pending = tail(scalar, 12) | tail(scalar, 6) << 8 | tail(scalar, 0) << 16
      return UInt8(0xf0 | scalar >> 18)
    }
  }

  private func tail(_ scalar: UInt32, _ shift: UInt32) -> UInt32 { 0x80 | (scalar >> shift & 0x3f) }

  private mutating func unit() -> UInt16 {
    defer { offset += 4 }
    return (offset..<offset + 4).reduce(0) { $0 << 4 | (bytes[$1].hexadecimalDigit ?? 0) }
  }
}

extension String {
  /// - Parameter content: of a validated JSON string, between the quotes.
  init(unescaping content: Range<Int>, of bytes: [UInt8]) {
    if bytes[content].contains(.backslash) {
      self = String(decoding: Array(JSONStringBytes(bytes, content)), as: UTF8.self)
    } else {
      self = String(decoding: bytes[content], as: UTF8.self)
    }
  }
}
