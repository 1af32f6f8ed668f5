/// A value inside a checked JSON text, as a range of its bytes.
///
/// Looking into it walks the bytes and allocates nothing; only ``string`` and ``value`` make
/// something new. Finding a member takes time linear in the bytes before it.
package struct JSONSlice: Sendable {
  package enum Kind: Sendable, Equatable { case null, bool, number, string, array, object }

  /// The whole text that this value is part of.
  package let bytes: [UInt8]
  /// The value without white space around it.
  package let range: Range<Int>

  /// - Parameter start: the first byte of a value.
  init(bytes: [UInt8], from start: Int) {
    self.bytes = bytes
    range = start..<JSONSlice.end(of: start, in: bytes)
  }

  package var kind: Kind {
    switch bytes[range.lowerBound] {
    case .openBrace: .object
    case .openBracket: .array
    case .quote: .string
    case UInt8(ascii: "t"), UInt8(ascii: "f"): .bool
    case UInt8(ascii: "n"): .null
    default: .number
    }
  }

  /// A copy of the value's bytes as a text of its own.
  package var text: JSONText { JSONText(trusted: Array(bytes[range])) }

  package var string: String? {
    guard kind == .string else { return nil }
    return String(unescaping: range.lowerBound + 1..<range.upperBound - 1, of: bytes)
  }

  package var bool: Bool? { kind == .bool ? bytes[range.lowerBound] == UInt8(ascii: "t") : nil }

  package var number: JSONNumber? {
    kind == .number ? JSONNumber(trusted: String(decoding: bytes[range], as: UTF8.self)) : nil
  }

  package var value: JSONValue {
    switch kind {
    case .null: .null
    case .bool: .bool(bool == true)
    case .number: .number(JSONNumber(trusted: String(decoding: bytes[range], as: UTF8.self)))
    case .string: .string(string ?? "")
    case .array: .array(elements.map { $0.value })
    case .object: .object(JSONObject(unique: members.map { ($0.key, $0.value.value) }))
    }
  }

  /// The members of an object in their order; none for other kinds.
  package var members: Members { Members(walk: Walk(self, opening: .openBrace)) }

  /// The elements of an array; none for other kinds.
  package var elements: Elements { Elements(walk: Walk(self, opening: .openBracket)) }

  /// The member with this key, compared by UTF-8 bytes; nil if there is none or this is no object.
  package subscript(key: String) -> JSONSlice? {
    for member in members where member.hasKey(key) { return member.value }
    return nil
  }

  package struct Member: Sendable {
    /// The key with its quotes, as it is spelled in the text.
    package let keyRange: Range<Int>
    package let value: JSONSlice

    package var key: String { String(unescaping: content, of: value.bytes) }

    package func hasKey(_ key: String) -> Bool {
      JSONStringBytes(value.bytes, content).elementsEqual(key.utf8)
    }

    private var content: Range<Int> { keyRange.lowerBound + 1..<keyRange.upperBound - 1 }
  }

  package struct Members: Sequence, IteratorProtocol, Sendable {
    fileprivate var walk: Walk

    package mutating func next() -> Member? {
      guard let key = walk.next() else { return nil }
      walk.skip(.colon)
      let value = JSONSlice(bytes: key.bytes, from: walk.offset)
      walk.offset = value.range.upperBound
      return Member(keyRange: key.range, value: value)
    }
  }

  package struct Elements: Sequence, IteratorProtocol, Sendable {
    fileprivate var walk: Walk

    package mutating func next() -> JSONSlice? { walk.next() }
  }

  // MARK: Walking over checked bytes

  fileprivate struct Walk: Sendable {
    let bytes: [UInt8]
    let end: Int
    var offset: Int

    init(_ slice: JSONSlice, opening: UInt8) {
      bytes = slice.bytes
      offset = slice.range.lowerBound
      let isEntered = bytes[offset] == opening
      end = isEntered ? slice.range.upperBound - 1 : offset
      if isEntered { skip(opening) }
    }

    mutating func next() -> JSONSlice? {
      skip(.comma)
      guard offset < end else { return nil }
      let slice = JSONSlice(bytes: bytes, from: offset)
      offset = slice.range.upperBound
      return slice
    }

    /// Steps over white space, this byte if it is there, and white space again.
    mutating func skip(_ byte: UInt8) {
      while offset < end, bytes[offset].isWhitespace { offset += 1 }
      if offset < end, bytes[offset] == byte { offset += 1 }
      while offset < end, bytes[offset].isWhitespace { offset += 1 }
    }
  }

  private static func end(of start: Int, in bytes: [UInt8]) -> Int {
    var offset = start
    var depth = 0
    repeat {
      switch bytes[offset] {
      case .openBrace, .openBracket:
        depth += 1
        offset += 1
      case .closeBrace, .closeBracket:
        depth -= 1
        offset += 1
      case .quote:
        offset = endOfString(at: offset, in: bytes)
      case .comma, .colon, 0x20, 0x0a, 0x0d, 0x09:
        offset += 1
      default:
        offset = endOfWord(at: offset, in: bytes)
      }
    } while depth > 0
    return offset
  }

  private static func endOfString(at start: Int, in bytes: [UInt8]) -> Int {
    var offset = start + 1
    while bytes[offset] != .quote { offset += bytes[offset] == .backslash ? 2 : 1 }
    return offset + 1
  }

  private static func endOfWord(at start: Int, in bytes: [UInt8]) -> Int {
    var offset = start
    while offset < bytes.count {
      switch bytes[offset] {
      case .comma, .closeBrace, .closeBracket, 0x20, 0x0a, 0x0d, 0x09: return offset
      default: offset += 1
      }
    }
    return offset
  }
}
