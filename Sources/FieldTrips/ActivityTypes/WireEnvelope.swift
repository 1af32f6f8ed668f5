package import JSON

/// The shape in which the phone's struct takes a content-state.
package enum WireEnvelope: Hashable, Sendable {
  case plain
  /// `{"name": <this>, "props": "<the state as a JSON string>"}`, as expo-widgets decodes it. Quotes
  /// inside are escaped, so it weighs more than it looks.
  case namedProps(String)

  /// A state as it goes on the wire, the same bytes in every start, update and end.
  package func wrap(_ state: JSONText) -> JSONText {
    switch self {
    case .plain:
      return state
    case .namedProps(let name):
      let props = String(decoding: state.bytes, as: UTF8.self)
      return JSONText(.object(["name": .string(name), "props": .string(props)]))
    }
  }
}
