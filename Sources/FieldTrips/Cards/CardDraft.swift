import JSON

/// A card while a trigger is worked into it; thrown away if the trigger turns out to be wrong.
struct CardDraft {
  private let type: ActivityType
  private(set) var object: JSONObject
  private(set) var memory: MapperMemory

  init(type: ActivityType, object: JSONObject, memory: MapperMemory) {
    self.type = type
    self.object = object
    self.memory = memory
  }

  mutating func take(_ trigger: Trigger, mark: OrderMark) throws(Refusal) {
    switch trigger.effect {
    case .note(let note):
      try check(note.fields)
      guard !memory.isCovered(mark) else { return }
      try takeNote(note, mark: mark)
    case .phase(let change):
      try check(change.fields)
      try check(phase: change.phase)
      guard !memory.isCovered(mark), !isLate(change.phase, mark) else { return }
      try takePhase(change, mark: mark)
    case .state(let state):
      try takeState(state, mark: mark)
    case .end(let end):
      if let state = end.finalState { try takeState(state, mark: mark) }
    }
  }

  private mutating func takeNote(_ note: Trigger.Note, mark: OrderMark) throws(Refusal) {
    for rule in type.definition.mapper {
      switch rule.operation {
      case .count: try count(rule.field)
      case .latest(let source): try setLatest(rule.field, note.value(source, mark), mark)
      case .list(let source): try append(note.value(source, mark), to: rule.field)
      case .phase: break
      }
    }
  }

  /// Whether a phase that says nothing of its order comes before the one that is there.
  private func isLate(_ phase: String, _ mark: OrderMark) -> Bool {
    guard type.definition.phasesAdvance, mark == OrderMark(),
      let field = type.definition.phaseField, let present = object[field]?.string,
      let presentIndex = type.definition.phases.firstIndex(of: present),
      let index = type.definition.phases.firstIndex(of: phase)
    else { return false }
    return index < presentIndex
  }

  private mutating func takePhase(
    _ change: Trigger.PhaseChange, mark: OrderMark
  ) throws(Refusal) {
    for rule in type.definition.mapper {
      switch rule.operation {
      case .phase: try setLatest(rule.field, .string(change.phase), mark)
      case .latest(.field(let name)): try setLatest(rule.field, change.fields[name], mark)
      case .list(.field(let name)): try append(change.fields[name], to: rule.field)
      case .count, .latest, .list: break
      }
    }
  }

  /// Takes a whole state over. Fields whose value is newer than the state keep it.
  private mutating func takeState(_ text: JSONText, mark: OrderMark) throws(Refusal) {
    let state = try type.checkedState(text)
    if let last = memory.wholeState, mark.isOlder(than: last) { return }
    var merged = state
    for (field, known) in memory.marks {
      if mark.isOlder(than: known) {
        merged[field] = object[field]
      } else {
        memory.marks[field]?.advance(to: mark)
      }
    }
    object = merged
    memory.wholeState = memory.wholeState ?? OrderMark()
    memory.wholeState?.advance(to: mark)
  }

  private mutating func count(_ field: String) throws(Refusal) {
    let (next, isOver) = (object[field]?.int64 ?? 0).addingReportingOverflow(1)
    guard !isOver else {
      throw Refusal(Problem(.badValue, at: "/" + field, "The counter is at its highest value."))
    }
    set(field, .number(JSONNumber(next)))
  }

  private mutating func setLatest(
    _ field: String, _ value: JSONValue?, _ mark: OrderMark
  ) throws(Refusal) {
    guard let value else { return }
    let checked = try type.checkedValue(value, for: field)
    if let known = memory.marks[field], mark.isOlder(than: known) { return }
    set(field, checked)
    if mark != OrderMark() || memory.marks[field] != nil {
      memory.marks[field, default: OrderMark()].advance(to: mark)
    }
  }

  private mutating func append(_ value: JSONValue?, to field: String) throws(Refusal) {
    guard let value, let schema = type.definition.contentState.named(field),
      case .list(let element, let maximum) = schema.kind
    else { return }
    let problems = element.problems(of: value, at: "/" + field)
    if let refusal = Refusal(problems) { throw refusal }
    let elements = (object[field]?.array ?? []) + [value]
    set(field, .array(Array(elements.suffix(maximum))))
  }

  /// Writes a member, unless the card must not show it; null removes it.
  private mutating func set(_ field: String, _ value: JSONValue) {
    guard type.definition.contentState.named(field)?.isWithheld == false else { return }
    object[field] = value.isNull ? JSONValue?.none : value
  }

  private func check(_ fields: JSONObject) throws(Refusal) {
    guard !fields.isEmpty else { return }
    let known = type.definition.triggerFields
    let problems = fields.keys.filter { !known.contains($0) }.map {
      Problem(
        .unknownField, at: pointer("/fields", $0),
        "\(quoted($0)) is not taken by \(type.name).\(suggestion(for: $0, among: known))")
    }
    if let refusal = Refusal(problems) { throw refusal }
  }

  private func check(phase: String) throws(Refusal) {
    let phases = type.definition.phases
    guard !phases.contains(phase) else { return }
    let known =
      phases.isEmpty
      ? "it has no phases."
      : "expected one of " + phases.map { "\"\($0)\"" }.joined(separator: ", ") + "."
    throw Refusal(
      Problem(.unknownPhase, at: "/phase", "\(type.name) has no phase \(quoted(phase)): \(known)"))
  }
}

extension Trigger.Note {
  /// What a rule takes from a note. A time is never later than the trigger's arrival.
  fileprivate func value(_ source: TriggerValue, _ mark: OrderMark) -> JSONValue? {
    switch source {
    case .place: place.map(JSONValue.string)
    case .member: member.map { .string($0.text) }
    case .occurredAt: mark.occurredAt.map { .string(DateText.format($0)) }
    case .field(let name): fields[name]
    }
  }
}

extension ActivityTypeDefinition {
  /// Names that a trigger's `fields` may have.
  var triggerFields: [String] {
    mapper.compactMap {
      switch $0.operation {
      case .latest(.field(let name)), .list(.field(let name)): name
      case .count, .latest, .list, .phase: nil
      }
    }
  }
}

extension ActivityType {
  /// A value for one field as the card will have it: trimmed where that is allowed, dates in the
  /// phone's unit; null to clear.
  fileprivate func checkedValue(
    _ value: JSONValue, for name: String
  ) throws(Refusal) -> JSONValue {
    guard let field = definition.contentState.named(name) else { return value }
    if value.isNull {
      guard field.isRequired else { return value }
      throw Refusal(Problem(.missingField, at: "/" + name, "\"\(name)\" cannot be cleared."))
    }
    let trimmed = field.trimmed(field.kind.converted(value))
    if let refusal = Refusal(field.kind.problems(of: trimmed, at: "/" + name)) { throw refusal }
    return trimmed
  }
}

extension FieldKind {
  /// A date as text in the unit that the phone reads; anything else as it is.
  fileprivate func converted(_ value: JSONValue) -> JSONValue {
    guard case .date(let unit) = self, unit != .text, let text = value.string,
      let date = try? DateText.parse(text)
    else { return value }
    return unit.json(date)
  }
}
