/// Why bytes of HTTP/1.1 were refused.
package struct HTTP1Error: Error, Sendable, Hashable, CustomStringConvertible {
  /// What a server answers: 400, 413, 417, 431, 501 or 505.
  package var status: Int
  /// For the one who sent the bytes: what is wrong, and the limit where one was met.
  package var message: String

  package init(_ status: Int, _ message: String) {
    self.status = status
    self.message = message
  }

  package var description: String { message }
}

/// How much of a message's head a parser takes.
package struct HTTP1Limits: Sendable, Hashable {
  /// Bytes of the start line and all field lines together.
  package var headBytes = 16_384
  package var fields = 64

  package init() {}
}

/// Kinds of bytes, as RFC 9110 section 5.6 and RFC 9112 name them.
enum HTTP1Syntax {
  /// Letters, digits and ``!#$%&'*+-.^_`|~``: what a method or a field's name is made of.
  static let token: [Bool] = table {
    isLetterOrDigit($0) || "!#$%&'*+-.^_`|~".utf8.contains($0)
  }
  /// What a field's value is made of: visible bytes, blanks, and bytes above ASCII.
  static let value: [Bool] = table { $0 >= 0x20 && $0 != 0x7f || $0 == 0x09 }
  /// What a request target is made of. A `#` would start a fragment, which never travels.
  static let target: [Bool] = table { $0 > 0x20 && $0 < 0x7f && $0 != UInt8(ascii: "#") }
  /// What a host and port are made of.
  static let host: [Bool] = table {
    isLetterOrDigit($0) || "-._~!$&'()*+,;=%:[]".utf8.contains($0)
  }

  static func isToken(_ bytes: some Collection<UInt8>) -> Bool {
    !bytes.isEmpty && bytes.allSatisfy { token[Int($0)] }
  }

  static func isHost(_ text: String) -> Bool {
    !text.isEmpty && text.utf8.allSatisfy { host[Int($0)] }
  }

  /// Whether a field may be written: a name of token bytes, a value without line breaks.
  static func mayTravel(_ field: HTTPFields.Field) -> Bool {
    isToken(field.name.utf8) && field.value.utf8.allSatisfy { value[Int($0)] }
  }

  static func lowercased(_ byte: UInt8) -> UInt8 {
    byte >= UInt8(ascii: "A") && byte <= UInt8(ascii: "Z") ? byte | 0x20 : byte
  }

  static func hexadecimal(_ byte: UInt8) -> Int? {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): Int(byte - UInt8(ascii: "0"))
    case UInt8(ascii: "a")...UInt8(ascii: "f"): Int(byte - UInt8(ascii: "a")) + 10
    case UInt8(ascii: "A")...UInt8(ascii: "F"): Int(byte - UInt8(ascii: "A")) + 10
    default: nil
    }
  }

  /// A field line without its line break.
  ///
  /// No blank may stand before the colon and no line may go on in the next one: both are read
  /// differently by different servers, which is how requests are smuggled past one of them.
  static func field(_ line: ArraySlice<UInt8>) throws(HTTP1Error) -> HTTPFields.Field {
    guard let colon = line.firstIndex(of: UInt8(ascii: ":")) else {
      throw HTTP1Error(400, "A field line has no colon.")
    }
    let name = line[..<colon]
    guard isToken(name) else {
      throw HTTP1Error(400, "A field's name has a byte that may not stand there.")
    }
    var bytes = line[(colon + 1)...]
    while let first = bytes.first, isBlank(first) { bytes.removeFirst() }
    while let last = bytes.last, isBlank(last) { bytes.removeLast() }
    guard bytes.allSatisfy({ value[Int($0)] }) else {
      throw HTTP1Error(400, "A field's value has a control character.")
    }
    let lower = String(decoding: name.map(lowercased), as: UTF8.self)
    return HTTPFields.Field(name: lower, value: String(decoding: bytes, as: UTF8.self))
  }

  /// The length of a body as its fields tell it.
  enum Framing: Hashable {
    case none
    case length(Int)
    case chunked
  }

  /// Exactly one of `content-length` and `transfer-encoding`, at most once, or neither.
  static func framing(_ fields: HTTPFields) throws(HTTP1Error) -> Framing {
    var length: String?
    var encoding: String?
    for field in fields {
      if field.name == "content-length" {
        guard length == nil else { throw HTTP1Error(400, "Content-Length stands there twice.") }
        length = field.value
      } else if field.name == "transfer-encoding" {
        guard encoding == nil else {
          throw HTTP1Error(400, "Transfer-Encoding stands there twice.")
        }
        encoding = field.value
      }
    }
    if let encoding {
      guard length == nil else {
        throw HTTP1Error(400, "Content-Length and Transfer-Encoding exclude each other.")
      }
      guard encoding.lowercased() == "chunked" else {
        throw HTTP1Error(501, "The only Transfer-Encoding that is understood is chunked.")
      }
      return .chunked
    }
    guard let length else { return .none }
    guard !length.isEmpty, length.utf8.count <= 18,
      length.utf8.allSatisfy({ $0 >= UInt8(ascii: "0") && $0 <= UInt8(ascii: "9") }),
      let count = Int(length)
    else { throw HTTP1Error(400, "Content-Length is not a number of at most 18 digits.") }
    return .length(count)
  }

  /// Whether a list field such as `connection` names this token.
  static func lists(_ fields: HTTPFields, _ name: String, _ wanted: String) -> Bool {
    fields.contains { field in
      field.name == name
        && field.value.split(separator: ",").contains { item in
          trimmed(item.utf8).elementsEqual(wanted.utf8) { lowercased($0) == $1 }
        }
    }
  }

  private static func trimmed(_ text: Substring.UTF8View) -> Substring.UTF8View {
    var text = text
    while let first = text.first, isBlank(first) { text.removeFirst() }
    while let last = text.last, isBlank(last) { text.removeLast() }
    return text
  }

  private static func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }

  private static func isLetterOrDigit(_ byte: UInt8) -> Bool {
    let lower = byte | 0x20
    return lower >= UInt8(ascii: "a") && lower <= UInt8(ascii: "z")
      || byte >= UInt8(ascii: "0") && byte <= UInt8(ascii: "9")
  }

  private static func table(_ holds: (UInt8) -> Bool) -> [Bool] {
    (0...255).map { holds(UInt8($0)) }
  }
}
