/// One JSON text that was checked, byte for byte as it came.
///
/// Reading it into values and writing those again would lose white space, the spelling of numbers
/// and escapes. A content-state is the caller's, so it travels in this form.
public struct JSONText: Sendable, Hashable {
  /// As they came.
  public let bytes: [UInt8]

  /// - Parameter bytes: at most 64 KB of UTF-8, at most 64 levels deep, no key twice in an object.
  public init(validating bytes: [UInt8]) throws(JSONError) {
    try self.init(validating: bytes, limits: .standard)
  }

  /// - Parameter text: held to the same limits.
  public init(validating text: String) throws(JSONError) {
    try self.init(validating: Array(text.utf8), limits: .standard)
  }

  package init(validating bytes: [UInt8], limits: JSONLimits) throws(JSONError) {
    try JSONScanner.validate(bytes, limits: limits)
    self.bytes = bytes
  }

  /// The text that stands for a value, without white space.
  package init(_ value: JSONValue) { bytes = value.serialized() }

  /// - Parameter trusted: one JSON text that this process validated or wrote.
  init(trusted bytes: [UInt8]) { self.bytes = bytes }

  /// The whole value, to look into without reading all of it.
  package var root: JSONSlice {
    JSONSlice(bytes: bytes, from: bytes.firstIndex { !$0.isWhitespace } ?? 0)
  }

  package var value: JSONValue { root.value }
}
