import JSON

extension FieldSchema {
  /// Reads `{"type", "optional"?, "initial"?, "trimmed"?, "withheld"?}` with what the type needs.
  static func read(
    _ value: JSONValue, named name: String, at path: String, problems: inout [Problem]
  ) -> FieldSchema? {
    var reader = ObjectReader(value, at: path)
    let kind = reader.kind()
    let isOptional = reader.bool("optional") ?? false
    let initial = reader.value("initial")
    let mayBeTrimmed = reader.bool("trimmed") ?? false
    let isWithheld = reader.bool("withheld") ?? false
    problems += reader.finish()
    return kind.map {
      FieldSchema(
        name, $0, isRequired: !isOptional, initial: initial, mayBeTrimmed: mayBeTrimmed,
        isWithheld: isWithheld)
    }
  }

  /// As ``read(_:named:at:problems:)`` takes it.
  var json: JSONObject {
    var object = kind.json
    if !isRequired { object["optional"] = true }
    object["initial"] = initial
    if mayBeTrimmed { object["trimmed"] = true }
    if isWithheld { object["withheld"] = true }
    return object
  }
}

extension [FieldSchema] {
  /// By name, in their order.
  var json: JSONValue {
    var object = JSONObject()
    for field in self { object[field.name] = .object(field.json) }
    return .object(object)
  }
}

extension ObjectReader {
  /// Fields by name: `{"notesCaptured": {"type": "integer", "initial": 0}}`.
  mutating func fields(_ key: String, isRequired: Bool = false) -> [FieldSchema]? {
    members(key, isRequired: isRequired) { name, value, path, problems in
      FieldSchema.read(value, named: name, at: path, problems: &problems)
    }
  }

  /// The members of an object whose names are the caller's own.
  mutating func members<Output>(
    _ key: String, isRequired: Bool = false,
    _ read: (String, JSONValue, String, inout [Problem]) -> Output?
  ) -> [Output]? {
    guard let value = value(key, isRequired: isRequired) else { return nil }
    guard let object = value.object else {
      add(.wrongType, key, "Expected an object, found \(found(value)).")
      return nil
    }
    let place = pointer(path, key)
    var found: [Problem] = []
    let outputs = object.elements.compactMap { name, value in
      read(name, value, pointer(place, name), &found)
    }
    take(found)
    return outputs
  }

  fileprivate mutating func kind() -> FieldKind? {
    guard let type = choice("type", among: FieldKind.typeNames, isRequired: true) else {
      // Of one type or another, and so no misspelled names.
      for key in FieldKind.memberNames { _ = value(key) }
      return nil
    }
    switch type {
    case "integer": return .integer
    case "number": return .number
    case "bool": return .bool
    case "string": return .string(maxBytes: Int(integer("maxBytes", in: 1...4_096) ?? 256))
    case "date":
      return choice("as", among: DateUnit.allCases.map(\.rawValue), isRequired: true)
        .flatMap(DateUnit.init(rawValue:)).map(FieldKind.date)
    case "choice": return strings("choices", isRequired: true).map(FieldKind.choice)
    case "object": return fields("members", isRequired: true).map(FieldKind.object)
    case "oneOf": return fields("members", isRequired: true).map(FieldKind.oneOf)
    default: return list()
    }
  }

  private mutating func list() -> FieldKind? {
    let element = nested("of") { $0.kind() }
    let maximum = integer("maximum", in: 1...256)
    for key in ["of", "maximum"] where !has(key) {
      add(.missingField, key, "\"\(key)\" is required.")
    }
    guard let element, let maximum else { return nil }
    return .list(of: element, maximum: Int(maximum))
  }

  /// An array of strings.
  mutating func strings(_ key: String, isRequired: Bool = false) -> [String]? {
    guard let value = value(key, isRequired: isRequired) else { return nil }
    let strings = value.array?.compactMap(\.string)
    guard let strings, strings.count == value.array?.count else {
      add(.wrongType, key, "Expected an array of strings.")
      return nil
    }
    return strings
  }
}

extension FieldKind {
  fileprivate static let typeNames = [
    "integer", "number", "string", "bool", "date", "choice", "object", "oneOf", "list",
  ]

  /// What one type or another needs.
  fileprivate static let memberNames = ["maxBytes", "as", "choices", "members", "of", "maximum"]

  fileprivate var json: JSONObject {
    switch self {
    case .integer: ["type": "integer"]
    case .number: ["type": "number"]
    case .bool: ["type": "bool"]
    case .string(let maxBytes):
      ["type": "string", "maxBytes": .number(JSONNumber(maxBytes))]
    case .date(let unit): ["type": "date", "as": .string(unit.rawValue)]
    case .choice(let choices):
      ["type": "choice", "choices": .array(choices.map(JSONValue.string))]
    case .object(let fields): ["type": "object", "members": fields.json]
    case .oneOf(let fields): ["type": "oneOf", "members": fields.json]
    case .list(let element, let maximum):
      ["type": "list", "of": .object(element.json), "maximum": .number(JSONNumber(maximum))]
    }
  }
}
