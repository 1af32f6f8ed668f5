/// Why some bytes are not JSON that we accept, and where.
public struct JSONError: Error, Sendable, Equatable, CustomStringConvertible {
  package enum Reason: Sendable, Equatable {
    /// The grammar of RFC 8259 is broken; the text says what was expected and what was found.
    case syntax(String)
    /// Not well-formed UTF-8: overlong form, surrogate, beyond U+10FFFF, cut or stray byte.
    case invalidUTF8
    /// A `\u` escape names one half of a surrogate pair without the other.
    case loneSurrogate
    /// An object has this key twice, escapes undone. Readers disagree about which one counts.
    case duplicateKey(String)
    case tooDeep(limit: Int)
    case tooLarge(bytes: Int, limit: Int)
    case tooManyMembers(limit: Int)
  }

  package let reason: Reason
  /// The first byte that is wrong, counted from 0; the number of bytes if the text ends too early.
  public let offset: Int

  package init(_ reason: Reason, offset: Int) {
    self.reason = reason
    self.offset = offset
  }

  /// One sentence for whoever wrote the JSON. Quotes at most one byte or one key of it.
  public var message: String {
    switch reason {
    case .syntax(let text):
      "\(text) at byte \(offset)."
    case .invalidUTF8:
      "Invalid UTF-8 at byte \(offset)."
    case .loneSurrogate:
      "Half of a surrogate pair at byte \(offset): write both \\u escapes, or the character itself."
    case .duplicateKey(let key):
      "The key \"\(key)\" stands twice in one object, the second time at byte \(offset)."
    case .tooDeep(let limit):
      "Nested deeper than \(limit) levels at byte \(offset)."
    case .tooLarge(let bytes, let limit):
      "The JSON text has \(bytes) bytes, \(bytes - limit) over the limit of \(limit)."
    case .tooManyMembers(let limit):
      "An object has more than \(limit) members at byte \(offset)."
    }
  }

  public var description: String { message }
}
