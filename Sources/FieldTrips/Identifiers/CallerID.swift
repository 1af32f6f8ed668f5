/// A caller's own name for something: 1 to 128 bytes of UTF-8, printable.
///
/// Compared byte by byte, as Redis does: two spellings of one accented letter are two IDs.
package protocol CallerID: Hashable, Comparable, Sendable, CustomStringConvertible {
  /// What such an ID names, for messages: "member ID".
  static var noun: String { get }
  var text: String { get }
  init(_ text: String) throws(IdentifierError)
}

extension CallerID {
  package static func == (left: Self, right: Self) -> Bool {
    left.text.utf8.elementsEqual(right.text.utf8)
  }

  package static func < (left: Self, right: Self) -> Bool {
    left.text.utf8.lexicographicallyPrecedes(right.text.utf8)
  }

  package func hash(into hasher: inout Hasher) {
    for byte in text.utf8 { hasher.combine(byte) }
  }

  package var description: String { text }

  /// Throws a sentence that says what is wrong with `text` as such an ID.
  static func check(_ text: String) throws(IdentifierError) {
    let bytes = text.utf8.count
    guard bytes >= 1 else {
      throw IdentifierError("The \(noun) is empty: expected 1 to 128 bytes.")
    }
    guard bytes <= 128 else {
      throw IdentifierError("The \(noun) has \(bytes) bytes, over the limit of 128.")
    }
    for scalar in text.unicodeScalars where !isPrintable(scalar) {
      throw IdentifierError(
        "The \(noun) contains \(codePoint(scalar)), which is not printable.")
    }
    guard text.unicodeScalars.first != " ", text.unicodeScalars.last != " " else {
      throw IdentifierError("The \(noun) begins or ends with a space.")
    }
  }
}

/// A person's device on a trip, as the caller names it.
package struct MemberID: CallerID {
  package static let noun = "member ID"
  package let text: String

  package init(_ text: String) throws(IdentifierError) {
    try Self.check(text)
    self.text = text
  }
}

/// A trigger, as the caller names it: the same ID has its effect on a trip once.
package struct TriggerID: CallerID {
  package static let noun = "trigger ID"
  package let text: String

  package init(_ text: String) throws(IdentifierError) {
    try Self.check(text)
    self.text = text
  }
}
