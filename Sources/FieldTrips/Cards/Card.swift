import JSON

/// A trip's content-state as the mapper works on it, with what it must remember.
package struct Card: Sendable, Equatable {
  private(set) var object: JSONObject
  package internal(set) var memory: MapperMemory
  /// The bytes of `object`; missing while the mapper is changing it.
  private var text: JSONText?

  package init(state: ContentState, memory: MapperMemory = MapperMemory()) {
    object = state.object
    self.memory = memory
    text = state.text
  }

  /// What phones are to show.
  package var state: ContentState { text.map { ContentState(checked: $0) } ?? ContentState(object) }

  /// - Parameter text: `object`, as it is written.
  mutating func replace(_ object: JSONObject, written text: JSONText) {
    self.object = object
    self.text = text
  }
}
