internal import JSON

/// JSON for people: what fits stands on one line, everything else on lines of its own.
struct IndentedJSON {
  let columns: Int

  func text(of value: JSONValue) -> String { text(value, indent: 0, used: 0) + "\n" }

  /// - Parameters:
  ///   - indent: of the line that the value begins on.
  ///   - used: columns before it, beyond the indent.
  private func text(_ value: JSONValue, indent: Int, used: Int) -> String {
    let short = line(value)
    if indent + used + short.count < columns { return short }
    let inner = String(repeating: " ", count: indent + 2)
    let outer = String(repeating: " ", count: indent)
    switch value {
    case .object(let object) where !object.isEmpty:
      let members = object.elements.map { key, value in
        let name = line(.string(key)) + ": "
        return inner + name + text(value, indent: indent + 2, used: name.count)
      }
      return "{\n" + members.joined(separator: ",\n") + "\n" + outer + "}"
    case .array(let elements) where !elements.isEmpty:
      let lines = elements.map { inner + text($0, indent: indent + 2, used: 0) }
      return "[\n" + lines.joined(separator: ",\n") + "\n" + outer + "]"
    default: return short
    }
  }

  private func line(_ value: JSONValue) -> String {
    switch value {
    case .object(let object):
      "{"
        + object.elements.map { line(.string($0.key)) + ": " + line($0.value) }
        .joined(separator: ", ") + "}"
    case .array(let elements): "[" + elements.map(line).joined(separator: ", ") + "]"
    default: String(decoding: value.serialized(), as: UTF8.self)
    }
  }
}
