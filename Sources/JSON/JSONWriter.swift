/// Builds a JSON text by appending; puts the commas itself.
///
/// ```swift
/// var writer = JSONWriter()
/// writer.object {
///   $0.member("timestamp", 1_700_000_000)
///   $0.key("content-state")
///   $0.raw(contentState)
/// }
/// let bytes = writer.finish()
/// ```
/// The caller keeps the grammar: a value behind each key, keys in objects only, each once.
package struct JSONWriter: Sendable {
  private var bytes: [UInt8] = []
  private var depth = 0
  /// True after a value: another one needs a comma first.
  private var isBehindValue = false

  package init(reservingCapacity bytes: Int = 512) { self.bytes.reserveCapacity(bytes) }

  /// Bytes so far.
  package var count: Int { bytes.count }

  /// - Returns: the text. Every object and array must be closed.
  package consuming func finish() -> [UInt8] {
    precondition(depth == 0, "\(depth) objects or arrays are still open")
    return bytes
  }

  // MARK: Containers

  package mutating func object(_ body: (inout JSONWriter) -> Void) {
    open(.openBrace)
    body(&self)
    close(.closeBrace)
  }

  package mutating func array(_ body: (inout JSONWriter) -> Void) {
    open(.openBracket)
    body(&self)
    close(.closeBracket)
  }

  package mutating func key(_ key: String) {
    string(key)
    bytes.append(.colon)
    isBehindValue = false
  }

  // MARK: Values

  package mutating func null() { append("null") }
  package mutating func bool(_ value: Bool) { append(value ? "true" : "false") }
  package mutating func int(_ value: some BinaryInteger) { append(String(value)) }
  package mutating func number(_ value: JSONNumber) { append(value.literal) }

  /// - Parameter value: finite.
  package mutating func double(_ value: Double) { number(JSONNumber(value)) }

  package mutating func string(_ value: String) {
    comma()
    bytes.append(.quote)
    for byte in value.utf8 {
      if byte < 0x20 || byte == .quote || byte == .backslash {
        escape(byte)
      } else {
        bytes.append(byte)
      }
    }
    bytes.append(.quote)
    isBehindValue = true
  }

  /// A text as it is, byte for byte.
  package mutating func raw(_ text: JSONText) { append(text.bytes) }

  /// A part of a text as it is, byte for byte.
  package mutating func raw(_ slice: JSONSlice) { append(slice.bytes[slice.range]) }

  package mutating func value(_ value: JSONValue) {
    switch value {
    case .null: null()
    case .bool(let value): bool(value)
    case .number(let value): number(value)
    case .string(let value): string(value)
    case .array(let elements):
      array { for element in elements { $0.value(element) } }
    case .object(let object):
      self.object { for member in object.elements { $0.member(member.key, member.value) } }
    }
  }

  // MARK: Members

  package mutating func member(_ key: String, _ value: String) {
    self.key(key)
    string(value)
  }

  package mutating func member(_ key: String, _ value: Bool) {
    self.key(key)
    bool(value)
  }

  package mutating func member(_ key: String, _ value: some BinaryInteger) {
    self.key(key)
    int(value)
  }

  package mutating func member(_ key: String, _ value: JSONText) {
    self.key(key)
    raw(value)
  }

  package mutating func member(_ key: String, _ value: JSONValue) {
    self.key(key)
    self.value(value)
  }

  // MARK: Bytes

  private mutating func open(_ bracket: UInt8) {
    comma()
    bytes.append(bracket)
    depth += 1
    isBehindValue = false
  }

  private mutating func close(_ bracket: UInt8) {
    bytes.append(bracket)
    depth -= 1
    isBehindValue = true
  }

  private mutating func append(_ word: String) {
    comma()
    bytes.append(contentsOf: word.utf8)
    isBehindValue = true
  }

  private mutating func append(_ text: some Collection<UInt8>) {
    comma()
    bytes.append(contentsOf: text)
    isBehindValue = true
  }

  private mutating func comma() { if isBehindValue { bytes.append(.comma) } }

  /// Only what JSON requires: the quote, the backslash and control characters.
  private mutating func escape(_ byte: UInt8) {
    let short: UInt8? =
      switch byte {
      case .quote, .backslash: byte
      case 0x08: UInt8(ascii: "b")
      case 0x09: UInt8(ascii: "t")
      case 0x0a: UInt8(ascii: "n")
      case 0x0c: UInt8(ascii: "f")
      case 0x0d: UInt8(ascii: "r")
      default: nil
      }
    bytes.append(.backslash)
    if let short {
      bytes.append(short)
    } else {
      bytes.append(contentsOf: byte < 0x10 ? "u000".utf8 : "u001".utf8)
      bytes.append(contentsOf: String(byte & 0xf, radix: 16).utf8)
    }
  }
}
