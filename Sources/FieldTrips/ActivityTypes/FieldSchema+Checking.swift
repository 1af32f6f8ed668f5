import JSON

extension [FieldSchema] {
  /// Whether an object decodes on the phone; one problem for each field that would not.
  ///
  /// Members that no field declares are problems too: harmless to the phone, they are nearly always
  /// a misspelled name.
  func problems(of object: JSONObject, at path: String) -> [Problem] {
    var problems: [Problem] = []
    for field in self {
      guard let value = object[field.name], !value.isNull else {
        if field.isRequired {
          problems.append(
            Problem(
              .missingField, at: pointer(path, field.name),
              "\"\(field.name)\" is required: without it the phone keeps its old card."))
        }
        continue
      }
      problems += field.kind.problems(of: value, at: pointer(path, field.name))
    }
    let names = map(\.name)
    for key in object.keys where !names.contains(key) {
      problems.append(
        Problem(
          .unknownField, at: pointer(path, key),
          "\(quoted(key)) is not known here.\(suggestion(for: key, among: names))"))
    }
    return problems
  }

  func named(_ name: String) -> FieldSchema? { first { $0.name == name } }
}

extension FieldKind {
  func problems(of value: JSONValue, at path: String) -> [Problem] {
    switch self {
    case .integer: value.int64 == nil ? [wrongType(value, path)] : []
    case .number: value.double == nil ? [wrongType(value, path)] : []
    case .bool: value.bool == nil ? [wrongType(value, path)] : []
    case .string(let maxBytes): textProblems(of: value, maxBytes: maxBytes, at: path)
    case .date(let unit): unit.problems(of: value, at: path)
    case .choice(let choices): choiceProblems(of: value, choices, at: path)
    case .object(let fields):
      value.object.map { fields.problems(of: $0, at: path) } ?? [wrongType(value, path)]
    case .oneOf(let fields): variantProblems(of: value, fields, at: path)
    case .list(let element, let maximum): listProblems(of: value, element, maximum, at: path)
    }
  }

  func wrongType(_ value: JSONValue, _ path: String) -> Problem {
    Problem(.wrongType, at: path, "Expected \(noun), found \(found(value)).")
  }

  private func textProblems(of value: JSONValue, maxBytes: Int, at path: String) -> [Problem] {
    guard let text = value.string else { return [wrongType(value, path)] }
    let bytes = text.utf8.count
    guard bytes > maxBytes else { return [] }
    return [
      Problem(.tooLarge, at: path, "Expected at most \(maxBytes) bytes of text, found \(bytes).")
    ]
  }

  private func choiceProblems(
    of value: JSONValue, _ choices: [String], at path: String
  ) -> [Problem] {
    guard let text = value.string else { return [wrongType(value, path)] }
    guard !choices.contains(text) else { return [] }
    return [Problem(.badValue, at: path, "Expected \(noun), found \(quoted(text)).")]
  }

  private func variantProblems(
    of value: JSONValue, _ fields: [FieldSchema], at path: String
  ) -> [Problem] {
    guard let object = value.object else { return [wrongType(value, path)] }
    guard object.count == 1 else {
      let names = fields.map { "\"\($0.name)\"" }.joined(separator: ", ")
      return [
        Problem(.badValue, at: path, "Expected exactly one of \(names), found \(object.count).")
      ]
    }
    return fields.problems(of: object, at: path)
  }

  private func listProblems(
    of value: JSONValue, _ element: FieldKind, _ maximum: Int, at path: String
  ) -> [Problem] {
    guard let elements = value.array else { return [wrongType(value, path)] }
    guard elements.count <= maximum else {
      return [
        Problem(
          .tooLarge, at: path, "Expected at most \(maximum) elements, found \(elements.count).")
      ]
    }
    return elements.enumerated().flatMap { index, value in
      element.problems(of: value, at: pointer(path, String(index)))
    }
  }
}
