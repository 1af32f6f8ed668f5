/// A JSON number as it is spelled, so that `1.0`, `1e2` and 23 digits pass through unchanged.
///
/// Equality is of the spelling: `1` and `1.0` differ.
package struct JSONNumber: Sendable, Hashable, CustomStringConvertible {
  package let literal: String

  /// - Parameter literal: a number in the grammar of RFC 8259, without white space.
  /// - Returns: nil if it is something else.
  package init?(_ literal: String) {
    let bytes = Array(literal.utf8)
    guard let first = bytes.first, first == .minus || first.isDigit, let last = bytes.last,
      last.isDigit, (try? JSONScanner.validate(bytes)) != nil
    else { return nil }
    self.literal = literal
  }

  package init(_ integer: some BinaryInteger) { literal = String(integer) }

  /// - Parameter value: finite; JSON has no infinity and no NaN.
  package init(_ value: Double) {
    precondition(value.isFinite, "JSON has no number for \(value)")
    literal = "\(value)"
  }

  init(trusted literal: String) { self.literal = literal }

  /// The number, if it is spelled as an integer and fits; nil for `1.0` and `1e2`.
  package var int64: Int64? { Int64(literal) }

  /// The nearest double; nil if the number is beyond the finite ones.
  package var double: Double? { Double(literal).flatMap { $0.isFinite ? $0 : nil } }

  package var description: String { literal }
}
