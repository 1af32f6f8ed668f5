import JSON

/// The longest beginning of a text that has at most so many bytes with a closing `…`; whole
/// characters only, so that neither a letter nor a flag is torn apart.
///
/// - Parameter bytes: below three there is no room for the mark, and nothing is left.
func cut(_ text: String, toBytes bytes: Int) -> String {
  guard text.utf8.count > bytes else { return text }
  var output = ""
  var count = 3
  for character in text {
    let size = character.utf8.count
    guard count + size <= bytes else { break }
    output.append(character)
    count += size
  }
  return bytes >= 3 ? output + "…" : ""
}

extension FieldSchema {
  /// A value cut down to what the field's type allows, if the field may be trimmed.
  func trimmed(_ value: JSONValue) -> JSONValue {
    guard mayBeTrimmed else { return value }
    switch (kind, value) {
    case (.string(let maxBytes), .string(let text)):
      return .string(cut(text, toBytes: maxBytes))
    case (.list(_, let maximum), .array(let elements)) where elements.count > maximum:
      return .array(Array(elements.suffix(maximum)))
    default:
      return value
    }
  }

  /// A value made smaller by about `excess` bytes, or nil if nothing can be taken from it.
  func shortened(_ value: JSONValue, by excess: Int) -> JSONValue? {
    guard mayBeTrimmed else { return nil }
    switch value {
    case .string(let text) where !text.isEmpty:
      // Escapes make the saving at least as large as the cut.
      let shorter = cut(text, toBytes: max(0, text.utf8.count - excess))
      return shorter.utf8.count < text.utf8.count ? .string(shorter) : .string("")
    case .array(let elements) where !elements.isEmpty:
      return .array(Array(elements.dropFirst()))
    default:
      return nil
    }
  }
}
