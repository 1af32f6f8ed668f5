/// The members of a JSON object in their order, each key once.
///
/// Keys are compared by their UTF-8 bytes: to JSON, `é` in one code point and in two are different
/// keys, which Swift's own `==` would call equal. Looking up is linear; objects are small here.
package struct JSONObject: Sendable, Equatable, ExpressibleByDictionaryLiteral {
  package typealias Element = (key: String, value: JSONValue)
  private var members: [Element]

  package init() { members = [] }

  /// Of equal keys the last value stays, at the place of the first.
  package init(dictionaryLiteral elements: (String, JSONValue)...) {
    members = []
    for (key, value) in elements { self[key] = value }
  }

  init(unique members: [(String, JSONValue)]) {
    self.members = members.map { (key: $0.0, value: $0.1) }
  }

  package var count: Int { members.count }
  package var isEmpty: Bool { members.isEmpty }
  package var keys: [String] { members.map { $0.key } }
  package var elements: [Element] { members }

  /// Setting a key that is there keeps its place, a new one comes last, nil removes.
  package subscript(key: String) -> JSONValue? {
    get { index(of: key).map { members[$0].value } }
    set {
      switch (index(of: key), newValue) {
      case (let index?, let value?): members[index].value = value
      case (let index?, nil): members.remove(at: index)
      case (nil, let value?): members.append((key, value))
      case (nil, nil): break
      }
    }
  }

  /// Equal members in the same order.
  package static func == (left: JSONObject, right: JSONObject) -> Bool {
    left.members.elementsEqual(right.members) {
      $0.key.hasSameBytes(as: $1.key) && $0.value == $1.value
    }
  }

  private func index(of key: String) -> Int? {
    members.firstIndex { $0.key.hasSameBytes(as: key) }
  }
}

extension String {
  /// Equal by UTF-8 bytes. Their number, which a string knows, tells most different ones apart.
  func hasSameBytes(as other: String) -> Bool {
    let (bytes, others) = (utf8.span, other.utf8.span)
    guard bytes.count == others.count else { return false }
    for index in bytes.indices where bytes[index] != others[index] { return false }
    return true
  }
}
