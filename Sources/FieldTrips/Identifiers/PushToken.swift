/// A token by which APNs reaches a device or one card: lower-case hex.
///
/// Who has it and the app's key can push to that phone, so it never stands in a message:
/// ``description`` shows only its end.
package struct PushToken: Hashable, Sendable {
  package let hex: String

  /// - Parameter text: hex in either case, of any even length up to 400 digits: Apple promises no
  ///   size.
  package init(_ text: String) throws(IdentifierError) {
    let digits = text.utf8.count
    guard (2...400).contains(digits), digits.isMultiple(of: 2) else {
      throw IdentifierError(
        "The token has \(digits) digits: expected an even number of 2 to 400.")
    }
    guard text.utf8.allSatisfy({ hexadecimalDigit($0) != nil }) else {
      throw IdentifierError("The token is not hex: send the token's bytes as hex digits.")
    }
    hex = text.lowercased()
  }
}

extension PushToken: CustomStringConvertible {
  package var description: String { "…" + hex.suffix(4) }
}
