/// The values that one request brings to its ``RequestTemplate``: at most four, held in place, since
/// an array for each request would be an allocation each.
package struct FieldValues: Sendable, ExpressibleByArrayLiteral {
  package static let limit = 4

  package private(set) var count = 0
  /// Whether each is known to be fit to travel, so that it need not be looked at again.
  package var areChecked = false
  private var first = ""
  private var second = ""
  private var third = ""
  private var fourth = ""

  package init() {}

  package init(arrayLiteral values: String...) { for value in values { append(value) } }

  /// - Precondition: there are fewer than ``limit``.
  package mutating func append(_ value: String) {
    switch count {
    case 0: first = value
    case 1: second = value
    case 2: third = value
    case 3: fourth = value
    default: preconditionFailure("a template has at most \(Self.limit) volatile values")
    }
    count += 1
  }

  package subscript(index: Int) -> String {
    switch index {
    case 0: first
    case 1: second
    case 2: third
    case 3: fourth
    default: preconditionFailure("there is no volatile value \(index)")
    }
  }
}
