/// The values that one request brings to its ``RequestTemplate``.
///
/// Most have one, so the first is held in place: an array for each request would be an allocation
/// each.
package struct FieldValues: Sendable, ExpressibleByArrayLiteral {
  package private(set) var count = 0
  /// Whether each is known to be fit to travel, so that it need not be looked at again.
  package var areChecked = false
  private var first = ""
  private var others: [String] = []

  package init() {}

  package init(_ first: String) {
    self.first = first
    count = 1
  }

  package init(arrayLiteral values: String...) { for value in values { append(value) } }

  package mutating func append(_ value: String) {
    if count == 0 { first = value } else { others.append(value) }
    count += 1
  }

  /// - Parameter index: from 0 to ``count`` less 1.
  package subscript(index: Int) -> String {
    index == 0 && count > 0 ? first : others[index - 1]
  }
}
