/// Why a benchmark cannot be run, for the person who wants it.
package struct BenchFailure: Error, Sendable, CustomStringConvertible {
  package let description: String

  package init(_ description: String) { self.description = description }
}
