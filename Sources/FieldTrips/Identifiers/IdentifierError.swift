/// Why a text is not an identifier; the message is a sentence for the person who sent it.
package struct IdentifierError: Error, Hashable, Sendable, CustomStringConvertible {
  package let message: String

  package init(_ message: String) { self.message = message }

  package var description: String { message }
}
