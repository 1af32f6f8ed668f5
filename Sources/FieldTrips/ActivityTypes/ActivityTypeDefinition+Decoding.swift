extension ActivityTypeDefinition {
  /// Why trips that run with this definition would not survive a new one.
  ///
  /// An activity outlives the build of the app that started it, so what the new definition makes must
  /// decode on cards that run. The other way, what is stored of a trip must fit the new definition:
  /// it is the first thing that late members get.
  package func problemsOfChange(to new: ActivityTypeDefinition) -> [Problem] {
    var problems = new.contentState.problemsOfDecoding(
      by: contentState, at: "/contentState", readers: "Cards that run")
    for (stored, needed, path) in [
      (contentState, new.contentState, "/contentState"),
      (attributes, new.attributes, "/attributes"),
    ] {
      let found = stored.problemsOfDecoding(
        by: needed, at: path, readers: "Members who join trips that run")
      problems += found.filter { problem in !problems.contains { $0.path == problem.path } }
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

  /// What apps of older versions could not decode.
  var olderAppProblems: [Problem] {
    var problems: [Problem] = []
    for (index, app) in olderApps.enumerated() {
      let path = pointer("/olderApps", app.version)
      if app.version.isEmpty || olderApps[..<index].contains(where: { $0.version == app.version }) {
        problems.append(
          Problem(.badValue, at: path, "Versions must have names, and different ones."))
      }
      let readers = "Apps of version \(app.version)"
      for (now, then, part) in [
        (attributes, app.attributes, "/attributes"),
        (contentState, app.contentState, "/contentState"),
      ] {
        guard let then else { continue }
        problems += then.flatMap {
          $0.kind.definitionProblems(at: pointer(path + part, $0.name))
        }
        problems += now.problemsOfDecoding(by: then, at: path + part, readers: readers)
      }
    }
    return problems
  }
}

extension [FieldSchema] {
  /// Why an object with these fields would not always decode as a struct with other ones.
  ///
  /// - Parameter readers: who has that struct, in the plural, for the messages.
  func problemsOfDecoding(
    by other: [FieldSchema], at path: String, readers: String
  ) -> [Problem] {
    other.flatMap { wanted in
      let place = pointer(path, wanted.name)
      guard let field = named(wanted.name), !field.isWithheld else {
        guard wanted.isRequired else { return [Problem]() }
        return [
          Problem(
            .missingField, at: place,
            "\(readers) require \"\(wanted.name)\", which states would not have.")
        ]
      }
      var problems = field.kind.problemsOfDecoding(by: wanted.kind, at: place, readers: readers)
      if wanted.isRequired, !field.isRequired {
        problems.append(
          Problem(
            .missingField, at: place,
            "\(readers) require \"\(wanted.name)\": it cannot be optional."))
      }
      return problems
    }
  }
}

extension FieldKind {
  /// Why a value of this kind would not always decode as one of another kind.
  fileprivate func problemsOfDecoding(
    by other: FieldKind, at path: String, readers: String
  ) -> [Problem] {
    switch (self, other) {
    case (.string, .string), (.choice, .string), (.date(.text), .string), (.integer, .number),
      (.date(.secondsSince1970), .number), (.date(.secondsSince2001), .number):
      return []
    case (.choice(let choices), .choice(let known)):
      return unknown(choices.filter { !known.contains($0) }, at: path, readers)
    case (.oneOf(let members), .oneOf(let known)):
      let names = known.map(\.name)
      let strange = members.filter { !names.contains($0.name) }
      let shared = members.filter { names.contains($0.name) }
      return unknown(strange.map(\.name), at: path, readers)
        + shared.problemsOfDecoding(
          by: known.filter { shared.named($0.name) != nil }, at: path, readers: readers)
    case (.object(let fields), .object(let known)):
      return fields.problemsOfDecoding(by: known, at: path, readers: readers)
    case (.list(let element, _), .list(let known, _)):
      return element.problemsOfDecoding(by: known, at: path, readers: readers)
    default:
      guard self != other else { return [] }
      return [Problem(.wrongType, at: path, "\(readers) expect \(other.noun), not \(noun).")]
    }
  }

  private func unknown(_ names: [String], at path: String, _ readers: String) -> [Problem] {
    guard !names.isEmpty else { return [] }
    let all = names.map { "\"\($0)\"" }.joined(separator: ", ")
    return [Problem(.badValue, at: path, "\(readers) do not know \(all).")]
  }
}
