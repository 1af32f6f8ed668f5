/// A JSON value in memory. Booleans stay booleans, null stays null, numbers keep their spelling.
package enum JSONValue: Sendable, Equatable {
  case null
  case bool(Bool)
  case number(JSONNumber)
  case string(String)
  case array([JSONValue])
  case object(JSONObject)

  package static func parse(
    _ bytes: [UInt8], limits: JSONLimits = .standard
  ) throws(JSONError) -> JSONValue {
    try JSONText(validating: bytes, limits: limits).value
  }

  package static func parse(
    _ text: String, limits: JSONLimits = .standard
  ) throws(JSONError) -> JSONValue {
    try parse(Array(text.utf8), limits: limits)
  }

  /// UTF-8 without white space; members in their order, only what must be escaped is escaped.
  package func serialized() -> [UInt8] {
    var writer = JSONWriter()
    writer.value(self)
    return writer.finish()
  }

  /// The object's member; nil if there is none or this is no object.
  package subscript(key: String) -> JSONValue? { object?[key] }

  /// The array's element; nil if there is none or this is no array.
  package subscript(index: Int) -> JSONValue? {
    guard let array, array.indices.contains(index) else { return nil }
    return array[index]
  }

  package var isNull: Bool { self == .null }
  package var bool: Bool? { if case .bool(let value) = self { value } else { nil } }
  package var number: JSONNumber? { if case .number(let value) = self { value } else { nil } }
  package var string: String? { if case .string(let value) = self { value } else { nil } }
  package var array: [JSONValue]? { if case .array(let value) = self { value } else { nil } }
  package var object: JSONObject? { if case .object(let value) = self { value } else { nil } }
  package var int64: Int64? { number?.int64 }
  package var double: Double? { number?.double }

  /// Strings are compared by their UTF-8 bytes, so that a changed spelling counts as a change.
  package static func == (left: JSONValue, right: JSONValue) -> Bool {
    switch (left, right) {
    case (.null, .null): true
    case (.bool(let left), .bool(let right)): left == right
    case (.number(let left), .number(let right)): left == right
    case (.string(let left), .string(let right)): left.hasSameBytes(as: right)
    case (.array(let left), .array(let right)): left == right
    case (.object(let left), .object(let right)): left == right
    default: false
    }
  }
}

extension JSONValue: ExpressibleByNilLiteral, ExpressibleByBooleanLiteral,
  ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral, ExpressibleByStringLiteral,
  ExpressibleByStringInterpolation, ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
  package init(nilLiteral: ()) { self = .null }
  package init(booleanLiteral value: Bool) { self = .bool(value) }
  package init(integerLiteral value: Int64) { self = .number(JSONNumber(value)) }
  package init(floatLiteral value: Double) { self = .number(JSONNumber(value)) }
  package init(stringLiteral value: String) { self = .string(value) }
  package init(arrayLiteral elements: JSONValue...) { self = .array(elements) }

  package init(dictionaryLiteral elements: (String, JSONValue)...) {
    var object = JSONObject()
    for (key, value) in elements { object[key] = value }
    self = .object(object)
  }
}
