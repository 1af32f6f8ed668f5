/// Checks that bytes are one JSON text: grammar, UTF-8, escapes, unique keys, limits.
///
/// It makes no values and, up to 32 keys in open objects, allocates nothing. Strict where readers
/// disagree: refused are byte order marks, bytes after the value, duplicate keys (compared after
/// undoing escapes) and lone surrogates. Numbers may be of any size: they are passed on as text.
///
/// - SeeAlso: RFC 8259, RFC 3629.
package struct JSONScanner {
  let bytes: [UInt8]
  let limits: JSONLimits
  var offset = 0
  var keys = JSONKeyLedger()

  private init(bytes: [UInt8], limits: JSONLimits) {
    self.bytes = bytes
    self.limits = limits
  }

  package static func validate(
    _ bytes: [UInt8], limits: JSONLimits = .standard
  ) throws(JSONError) {
    guard bytes.count <= limits.maxBytes else {
      let size = JSONError.Reason.tooLarge(bytes: bytes.count, limit: limits.maxBytes)
      throw JSONError(size, offset: limits.maxBytes)
    }
    var scanner = JSONScanner(bytes: bytes, limits: limits)
    scanner.skipWhitespace()
    try scanner.value(depth: 0)
    scanner.skipWhitespace()
    guard scanner.offset == bytes.count else {
      throw scanner.unexpected("the end after the value")
    }
  }

  // MARK: Values

  private mutating func value(depth: Int) throws(JSONError) {
    guard offset < bytes.count else { throw unexpected("a value") }
    switch bytes[offset] {
    case .quote: _ = try string()
    case .openBrace: try object(depth: depth + 1)
    case .openBracket: try array(depth: depth + 1)
    case .minus, .zero ... .nine: try number()
    case UInt8(ascii: "t"): try word("true")
    case UInt8(ascii: "f"): try word("false")
    case UInt8(ascii: "n"): try word("null")
    default: throw unexpected("a value")
    }
  }

  private mutating func object(depth: Int) throws(JSONError) {
    try enter(depth)
    if accept(.closeBrace) { return }
    let frame = keys.count
    repeat {
      skipWhitespace()
      try key(frame: frame)
      skipWhitespace()
      guard accept(.colon) else { throw unexpected("a colon after the key") }
      skipWhitespace()
      try value(depth: depth)
      skipWhitespace()
    } while accept(.comma)
    guard accept(.closeBrace) else { throw unexpected("a comma or } after the member") }
    keys.removeAll(from: frame)
  }

  private mutating func key(frame: Int) throws(JSONError) {
    guard offset < bytes.count, bytes[offset] == .quote else { throw unexpected("a key in quotes") }
    let start = offset
    guard keys.count - frame < limits.maxMembers else {
      throw JSONError(.tooManyMembers(limit: limits.maxMembers), offset: start)
    }
    let mark = try JSONKeyMark(string(), in: bytes)
    guard keys.add(mark, frame: frame, bytes: bytes) else {
      throw JSONError(.duplicateKey(mark.excerpt(of: bytes)), offset: start)
    }
  }

  private mutating func array(depth: Int) throws(JSONError) {
    try enter(depth)
    if accept(.closeBracket) { return }
    repeat {
      skipWhitespace()
      try value(depth: depth)
      skipWhitespace()
    } while accept(.comma)
    guard accept(.closeBracket) else { throw unexpected("a comma or ] after the element") }
  }

  /// Steps behind the opening bracket and the white space that follows.
  private mutating func enter(_ depth: Int) throws(JSONError) {
    guard depth <= limits.maxDepth else {
      throw JSONError(.tooDeep(limit: limits.maxDepth), offset: offset)
    }
    offset += 1
    skipWhitespace()
  }

  private mutating func number() throws(JSONError) {
    _ = accept(.minus)
    if !accept(.zero) { try digits("a digit") }
    if accept(UInt8(ascii: ".")) { try digits("a digit after the decimal point") }
    if accept(UInt8(ascii: "e")) || accept(UInt8(ascii: "E")) {
      if !accept(UInt8(ascii: "+")) { _ = accept(.minus) }
      try digits("a digit in the exponent")
    }
    if offset < bytes.count, bytes[offset].isDigit {
      throw unexpected("no digit after a leading zero")
    }
  }

  private mutating func digits(_ expected: StaticString) throws(JSONError) {
    let start = offset
    while offset < bytes.count, bytes[offset].isDigit { offset += 1 }
    guard offset > start else { throw unexpected(expected) }
  }

  private mutating func word(_ word: StaticString) throws(JSONError) {
    for scalar in "\(word)".utf8 {
      guard accept(scalar) else { throw unexpected(word) }
    }
  }

  // MARK: Bytes

  mutating func skipWhitespace() {
    while offset < bytes.count, bytes[offset].isWhitespace { offset += 1 }
  }

  mutating func accept(_ byte: UInt8) -> Bool {
    guard offset < bytes.count, bytes[offset] == byte else { return false }
    offset += 1
    return true
  }

  func unexpected(_ expected: StaticString) -> JSONError {
    let found =
      if offset >= bytes.count {
        "the end"
      } else if (0x21...0x7e).contains(bytes[offset]) {
        "'\(Character(Unicode.Scalar(bytes[offset])))'"
      } else {
        "byte 0x" + (bytes[offset] < 16 ? "0" : "") + String(bytes[offset], radix: 16)
      }
    return JSONError(.syntax("Expected \(expected), found \(found)"), offset: offset)
  }
}

extension UInt8 {
  static let quote = UInt8(ascii: "\"")
  static let backslash = UInt8(ascii: "\\")
  static let openBrace = UInt8(ascii: "{")
  static let closeBrace = UInt8(ascii: "}")
  static let openBracket = UInt8(ascii: "[")
  static let closeBracket = UInt8(ascii: "]")
  static let colon = UInt8(ascii: ":")
  static let comma = UInt8(ascii: ",")
  static let minus = UInt8(ascii: "-")
  static let zero = UInt8(ascii: "0")
  static let nine = UInt8(ascii: "9")

  var isDigit: Bool { self &- .zero < 10 }
  /// The four bytes that JSON counts as white space.
  var isWhitespace: Bool { self == 0x20 || self == 0x0a || self == 0x0d || self == 0x09 }

  /// The value of a hexadecimal digit of either case.
  var hexadecimalDigit: UInt16? {
    switch self {
    case .zero ... .nine: UInt16(self - .zero)
    case UInt8(ascii: "a")...UInt8(ascii: "f"): UInt16(self - UInt8(ascii: "a") + 10)
    case UInt8(ascii: "A")...UInt8(ascii: "F"): UInt16(self - UInt8(ascii: "A") + 10)
    default: nil
    }
  }
}
