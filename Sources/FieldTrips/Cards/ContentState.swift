package import JSON

/// What a card shows: one JSON object, kept and sent byte for byte, so that a start, a broadcast, a
/// token push and a join reply can never differ.
package struct ContentState: Hashable, Sendable {
  package let text: JSONText

  /// The state as the store kept it; not checked again.
  ///
  /// - Throws: when it is no JSON object, which the store should not hold.
  package init(stored bytes: [UInt8]) throws(Refusal) {
    do throws(JSONError) {
      text = try JSONText(validating: bytes)
    } catch {
      throw Refusal(error)
    }
    guard text.root.kind == .object else {
      throw Refusal(Problem(.wrongType, "The stored content-state is not an object."))
    }
  }

  init(_ object: JSONObject) { text = JSONText(.object(object)) }

  init(checked text: JSONText) { self.text = text }

  package var bytes: [UInt8] { text.bytes }

  package var object: JSONObject { text.value.object ?? [:] }
}
