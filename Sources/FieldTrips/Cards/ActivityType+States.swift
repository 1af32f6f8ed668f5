package import JSON

extension ActivityType {
  /// A caller's whole state, held against the phone's struct.
  ///
  /// Bytes stay as they came, unless something had to be left out: fields that are withheld from
  /// the card, and what was trimmed.
  ///
  /// - Throws: every field that would not decode, is unknown, or is too large.
  package func contentState(
    validating text: JSONText, attributes: JSONText
  ) throws(Refusal) -> ContentState {
    let object = try checkedState(text)
    let fitted = try fit(object, PayloadMeasure(type: self, attributes: attributes))
    if fitted.object == text.value.object { return ContentState(checked: text) }
    return fitted.state
  }

  func checkedState(_ text: JSONText) throws(Refusal) -> JSONObject {
    guard var object = text.value.object else {
      throw Refusal(
        Problem(.wrongType, at: "/contentState", "Expected an object, found \(found(text.value))."))
    }
    for field in definition.contentState {
      guard let value = object[field.name] else { continue }
      object[field.name] = value.isNull ? JSONValue?.none : field.trimmed(value)
    }
    let problems = definition.contentState.problems(of: object, at: "/contentState")
    if let refusal = Refusal(problems + counterProblems(of: object)) { throw refusal }
    for field in definition.contentState where field.isWithheld { object[field.name] = nil }
    return object
  }

  /// A wrong type is another's problem.
  private func counterProblems(of object: JSONObject) -> [Problem] {
    let range = MapperOperation.settableCounts
    return definition.mapper.compactMap { rule in
      guard rule.operation == .count, let count = object[rule.field]?.int64,
        !range.contains(count)
      else { return nil }
      return Problem(
        .badValue, at: pointer("/contentState", rule.field),
        "\"\(rule.field)\" counts notes: it can be set to \(range.lowerBound) to "
          + "\(range.upperBound), not to \(count).")
    }
  }

  /// A state that the store kept, which an earlier definition of this type may have made: what the
  /// card no longer has is left out, and what it needs and did not have is as in the beginning.
  ///
  /// - Throws: what would not decode all the same.
  package func adopting(_ stored: ContentState) throws(Refusal) -> ContentState {
    let old = stored.object
    var object = old
    for key in old.keys where definition.contentState.named(key)?.isWithheld ?? true {
      object[key] = nil
    }
    for field in definition.contentState {
      guard let value = object[field.name] else {
        if field.isRequired { object[field.name] = field.initial }
        continue
      }
      object[field.name] = field.trimmed(value)
    }
    let problems = definition.contentState.problems(of: object, at: "/contentState")
    if let refusal = Refusal(problems) { throw refusal }
    return object == old ? stored : ContentState(object)
  }

  /// A trip's attributes, held against the phone's struct.
  ///
  /// - Throws: every field that would not decode, or that the struct does not have.
  package func attributes(validating object: JSONObject) throws(Refusal) -> JSONText {
    let problems = definition.attributes.problems(of: object, at: "/attributes")
    if let refusal = Refusal(problems) { throw refusal }
    return JSONText(.object(object))
  }
}
