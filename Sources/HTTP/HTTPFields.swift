/// The fields of a message's head (or "headers"), in the order in which they travel.
///
/// Names are lower case, as HTTP/2 wants them; two fields may have one name. Nothing is validated
/// here: the codecs refuse what may not travel.
package struct HTTPFields: Sendable, Hashable, ExpressibleByDictionaryLiteral {
  package struct Field: Sendable, Hashable {
    package var name: String
    package var value: String

    /// - Parameter name: in lower case.
    package init(name: String, value: String) {
      self.name = name
      self.value = value
    }
  }

  package private(set) var list: [Field]

  package init() { list = [] }
  package init(_ list: [Field]) { self.list = list }

  package init(dictionaryLiteral elements: (String, String)...) {
    list = elements.map { Field(name: $0, value: $1) }
  }

  package var count: Int { list.count }
  package var isEmpty: Bool { list.isEmpty }

  /// The first value of this name. Setting replaces all fields of the name; `nil` removes them.
  package subscript(name: String) -> String? {
    get { list.first { $0.name == name }?.value }
    set {
      list.removeAll { $0.name == name }
      if let newValue { list.append(Field(name: name, value: newValue)) }
    }
  }

  /// Every value of this name, in order.
  package func all(_ name: String) -> [String] {
    list.filter { $0.name == name }.map(\.value)
  }

  /// Adds a field behind those that are there, also when the name is there already.
  package mutating func append(_ name: String, _ value: String) {
    list.append(Field(name: name, value: value))
  }

  package mutating func append(_ field: Field) { list.append(field) }

  package mutating func removeAll(keepingCapacity: Bool = false) {
    list.removeAll(keepingCapacity: keepingCapacity)
  }
}

extension HTTPFields: Sequence {
  package func makeIterator() -> IndexingIterator<[Field]> { list.makeIterator() }
}
