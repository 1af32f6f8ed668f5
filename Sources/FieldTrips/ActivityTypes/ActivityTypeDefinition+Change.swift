extension ActivityTypeDefinition {
  /// Why cards that run with this definition would not survive a new one.
  ///
  /// An activity outlives the build of the app that started it, and the struct of an older build
  /// decodes the states of a newer server: it misses fields that are gone, fails on a type that
  /// changed, and does not know choices that were added.
  package func problemsOfChange(to new: ActivityTypeDefinition) -> [Problem] {
    var problems: [Problem] = []
    for old in contentState {
      let path = pointer("/contentState", old.name)
      guard let field = new.contentState.named(old.name) else {
        if old.isRequired {
          problems.append(
            Problem(
              .missingField, at: path,
              "\"\(old.name)\" is required by cards that run: it cannot go."))
        }
        continue
      }
      if old.isRequired, !field.isRequired || field.isWithheld {
        problems.append(
          Problem(
            .missingField, at: path,
            "\"\(old.name)\" is required by cards that run: it cannot become optional."))
      }
      problems += old.kind.problemsOfChange(to: field.kind, at: path)
    }
    if attributesType != new.attributesType {
      problems.append(
        Problem(
          .badValue, at: "/attributesType",
          "Cards of \(attributesType) cannot go on as \(new.attributesType)."))
    }
    if envelope != new.envelope {
      problems.append(
        Problem(.badValue, at: "/envelope", "Cards that run expect the envelope they have."))
    }
    return problems
  }
}

extension FieldKind {
  fileprivate func problemsOfChange(to new: FieldKind, at path: String) -> [Problem] {
    switch (self, new) {
    case (.string, .string), (.list(_, _), .list(_, _)), (.number, .integer):
      return []
    case (.choice(let old), .choice(let new)):
      let added = new.filter { !old.contains($0) }
      guard !added.isEmpty else { return [] }
      let names = added.map { "\"\($0)\"" }.joined(separator: ", ")
      return [Problem(.badValue, at: path, "Cards that run do not know \(names).")]
    default:
      guard self != new else { return [] }
      return [Problem(.wrongType, at: path, "Cards that run expect \(noun), not \(new.noun).")]
    }
  }
}
