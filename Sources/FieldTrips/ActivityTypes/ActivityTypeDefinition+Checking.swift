import JSON

extension ActivityTypeDefinition {
  /// Everything that is wrong with the definition; paths name its parts.
  var problems: [Problem] {
    nameProblems + schemaProblems(attributes, at: "/attributes", needInitial: false)
      + schemaProblems(contentState, at: "/contentState", needInitial: true)
      + mapperProblems + significanceProblems + timings.problems + sizeProblems + alertProblems
      + olderAppProblems
  }

  private var nameProblems: [Problem] {
    var problems: [Problem] = []
    let isPlain = name.utf8.allSatisfy {
      ($0 >= 97 && $0 <= 122) || ($0 >= 48 && $0 <= 57) || $0 == 45
    }
    if !isPlain || !(1...64).contains(name.utf8.count) {
      problems.append(
        Problem(
          .badValue, at: "/name",
          "\(quoted(name)) is no name: expected 1 to 64 small letters, digits and hyphens."))
    }
    if !isSwiftName(attributesType) {
      problems.append(
        Problem(
          .badValue, at: "/attributesType",
          "\(quoted(attributesType)) cannot be the name of a Swift struct."))
    }
    if case .namedProps(let activity) = envelope, activity.isEmpty {
      problems.append(Problem(.badValue, at: "/envelope", "The activity's name is empty."))
    }
    return problems
  }

  private func schemaProblems(
    _ fields: [FieldSchema], at path: String, needInitial: Bool
  ) -> [Problem] {
    var problems: [Problem] = []
    for (index, field) in fields.enumerated() {
      let place = pointer(path, field.name)
      if !isSwiftName(field.name) {
        problems.append(
          Problem(.badValue, at: place, "\(quoted(field.name)) cannot be a Swift property."))
      }
      if fields[..<index].contains(where: { $0.name == field.name }) {
        problems.append(Problem(.badValue, at: place, "\"\(field.name)\" is declared twice."))
      }
      problems += field.kind.definitionProblems(at: place)
      guard needInitial else { continue }
      problems += field.initialProblems(at: place)
    }
    return problems
  }

  private var mapperProblems: [Problem] {
    var problems: [Problem] = []
    for (index, rule) in mapper.enumerated() {
      let path = pointer("/mapper", rule.field)
      guard let field = contentState.named(rule.field) else {
        let names = contentState.map(\.name)
        problems.append(
          Problem(
            .unknownField, at: path,
            "The content-state has no field \(quoted(rule.field))."
              + suggestion(for: rule.field, among: names)))
        continue
      }
      if mapper[..<index].contains(where: { $0.field == rule.field }) {
        problems.append(Problem(.badValue, at: path, "Two rules set \"\(rule.field)\"."))
      }
      if let problem = rule.operation.mismatch(with: field.kind) {
        problems.append(Problem(.wrongType, at: path, problem))
      }
    }
    if mapper.filter({ $0.operation == .phase }).count > 1 {
      problems.append(Problem(.badValue, at: "/mapper", "Only one field can hold the phase."))
    }
    return problems
  }

  private var significanceProblems: [Problem] {
    var problems: [Problem] = []
    let counters = mapper.filter { $0.operation == .count }.map(\.field)
    for milestone in significance.milestones {
      let path = pointer("/significance/milestones", milestone.field)
      if !counters.contains(milestone.field) {
        problems.append(
          Problem(.badValue, at: path, "\(quoted(milestone.field)) is not counted by the mapper."))
      }
      if milestone.at.contains(where: { $0 < 1 }) || milestone.every.map({ $0 < 1 }) ?? false {
        problems.append(Problem(.badValue, at: path, "Milestones are numbers of 1 or more."))
      }
    }
    var named = significance.phases.map { ($0, "/significance/phases") }
    named += finalPhases.map { ($0, "/finalPhases") }
    for case .phase(let phase) in alerts.updates.keys { named.append((phase, "/alerts/phases")) }
    for (phase, path) in named where !phases.contains(phase) {
      problems.append(
        Problem(
          .unknownPhase, at: pointer(path, phase),
          "There is no phase \(quoted(phase)).\(suggestion(for: phase, among: phases))"))
    }
    return problems
  }

  /// Texts that name what no card has would be shown with the braces.
  private var alertProblems: [Problem] {
    var alerts = [("start", self.alerts.start)]
    for (occasion, alert) in self.alerts.updates { alerts.append((occasion.path, alert)) }
    let fields = contentState + attributes
    return alerts.sorted { $0.0 < $1.0 }.flatMap { occasion, alert in
      alert.names().flatMap { part, names, isBare -> [Problem] in
        let path = "/alerts/\(occasion)/\(part)"
        var problems = names.filter { fields.named($0) == nil }.map {
          Problem(
            .unknownField, at: path,
            "Neither the content-state nor the attributes have a field \(quoted($0))."
              + suggestion(for: $0, among: fields.map(\.name)))
        }
        if problems.isEmpty, isBare,
          !names.contains(where: { fields.named($0)?.isRequired == true })
        {
          problems.append(
            Problem(
              .badValue, at: path,
              "It would be empty without its fields, which are optional: add some words."))
        }
        return problems
      }
    }
  }

  /// A state that nobody changed yet must leave room for attributes.
  private var sizeProblems: [Problem] {
    var state = JSONObject()
    for field in contentState { state[field.name] = field.initial }
    let bytes = envelope.wrap(JSONText(.object(state))).bytes.count
    guard bytes > LiveActivityLimits.stateBytes / 2 else { return [] }
    return [
      Problem(
        .stateTooLarge, at: "/contentState",
        "The first state alone has \(bytes) bytes of the 4096 that it shares with the attributes.")
    ]
  }
}

extension AlertOccasion {
  fileprivate var path: String {
    switch self {
    case .firstNote: "firstNote"
    case .milestone: "milestone"
    case .phase(let phase): pointer("phases", phase)
    }
  }
}

extension FieldSchema {
  fileprivate func initialProblems(at path: String) -> [Problem] {
    if isWithheld, isRequired {
      return [
        Problem(.badValue, at: path, "A field that the phone requires cannot be withheld from it.")
      ]
    }
    if isRequired, initial == nil {
      return [Problem(.missingField, at: path, "A required field needs an initial value.")]
    }
    return initial.map { kind.problems(of: $0, at: path + "/initial") } ?? []
  }
}

extension FieldKind {
  func definitionProblems(at path: String) -> [Problem] {
    switch self {
    case .integer, .number, .bool, .date: []
    case .string(let maxBytes):
      (1...4_096).contains(maxBytes)
        ? [] : [Problem(.badValue, at: path, "Text has 1 to 4096 bytes, not \(maxBytes).")]
    case .choice(let choices):
      choices.isEmpty || Set(choices).count < choices.count
        ? [Problem(.badValue, at: path, "Choices must be at least one, and different.")] : []
    case .object(let fields):
      fields.flatMap { $0.kind.definitionProblems(at: pointer(path, $0.name)) }
    case .oneOf(let fields):
      fields.isEmpty
        ? [Problem(.badValue, at: path, "Expected at least one member to choose from.")]
        : fields.flatMap { $0.kind.definitionProblems(at: pointer(path, $0.name)) }
    case .list(let element, let maximum):
      (1...256).contains(maximum)
        ? element.definitionProblems(at: path)
        : [Problem(.badValue, at: path, "A list has 1 to 256 elements, not \(maximum).")]
    }
  }
}

extension MapperOperation {
  /// Why a rule cannot write a field of this kind, or nil.
  fileprivate func mismatch(with kind: FieldKind) -> String? {
    switch (self, kind) {
    case (.count, .integer), (.phase, .choice), (.latest(.field), _), (.list(.field), .list),
      (.latest(.place), .string), (.latest(.member), .string), (.latest(.occurredAt), .date),
      (.list(.place), .list(.string, _)), (.list(.member), .list(.string, _)),
      (.list(.occurredAt), .list(.date(.text), _)):
      nil
    case (.count, _): "A count needs a whole number, not \(kind.noun)."
    case (.phase, _): "A phase needs a choice of strings, not \(kind.noun)."
    case (.latest(let value), _): "The latest \(value.noun) does not fit into \(kind.noun)."
    case (.list(let value), _): "A list of each \(value.noun) does not fit into \(kind.noun)."
    }
  }
}

extension TriggerValue {
  fileprivate var noun: String {
    switch self {
    case .place: "place"
    case .member: "member"
    case .occurredAt: "time"
    case .field(let name): name
    }
  }
}

extension ActivityTimings {
  fileprivate var problems: [Problem] {
    let limit = LiveActivityLimits.activeLife
    var problems: [Problem] = []
    func check(_ name: String, _ span: Duration?, _ range: ClosedRange<Duration>) {
      guard let span, !range.contains(span) else { return }
      let bounds = "\(range.lowerBound.inWholeSeconds) to \(range.upperBound.inWholeSeconds)"
      problems.append(
        Problem(
          .badValue, at: "/timings/" + name,
          "Expected \(bounds) seconds, found \(span.inWholeSeconds)."))
    }
    check("staleAfter", staleAfter, .seconds(60)...limit)
    check("activeLife", activeLife, .seconds(60)...limit)
    check("longestTrip", longestTrip, .seconds(60)...(.seconds(30 * 86_400)))
    check("longestWait", longestWait, .zero...(.seconds(366 * 86_400)))
    check("endsAfterFinalPhase", endsAfterFinalPhase, .zero...limit)
    return problems
  }
}

extension Duration {
  var inWholeSeconds: Int64 { components.seconds }
}

/// Whether Swift takes this as a name: ASCII letters, digits and underscores.
private func isSwiftName(_ name: String) -> Bool {
  guard (1...64).contains(name.utf8.count), let first = name.utf8.first, !(48...57).contains(first)
  else { return false }
  return name.utf8.allSatisfy {
    (97...122).contains($0) || (65...90).contains($0) || (48...57).contains($0) || $0 == 95
  }
}
