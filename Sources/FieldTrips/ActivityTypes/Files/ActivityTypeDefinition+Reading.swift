package import JSON

extension ActivityTypeDefinition {
  /// Reads a definition as ``json`` writes it, and checks it.
  ///
  /// - Parameter path: leads to the definition; every problem's path begins with it.
  package static func read(
    _ value: JSONValue, named name: String, at path: String = ""
  ) throws(Refusal) -> ActivityTypeDefinition {
    var reader = ObjectReader(value, at: path)
    let attributesType = reader.string("attributesType", isRequired: true, bytes: 1...64)
    let attributes = reader.fields("attributes") ?? []
    let contentState = reader.fields("contentState", isRequired: true)
    let mapper = reader.mapper()
    let finalPhases = reader.strings("finalPhases") ?? []
    let phasesAdvance = reader.bool("phasesAdvance") ?? false
    let significance = reader.nested("significance") { $0.significance() }
    let timings = reader.nested("timings") { $0.timings() }
    let storage = reader.choice("storage", among: StoragePolicy.allCases.map(\.name))
    let envelope = reader.envelope()
    let alerts = reader.nested("alerts") { $0.alerts() }
    if !reader.has("alerts") { reader.add(.missingField, "alerts", "\"alerts\" is required.") }
    let olderApps = reader.olderApps()
    let problems = reader.finish()
    guard let attributesType, let contentState, let alerts, problems.isEmpty else {
      throw Refusal(problems) ?? Refusal(Problem(.badValue, at: path, "It is incomplete."))
    }
    let definition = ActivityTypeDefinition(
      name: name, attributesType: attributesType, attributes: attributes,
      contentState: contentState, mapper: mapper, finalPhases: finalPhases,
      phasesAdvance: phasesAdvance,
      significance: significance ?? SignificanceRules(), timings: timings ?? ActivityTimings(),
      storage: StoragePolicy.allCases.first { $0.name == storage } ?? .mostRecent,
      envelope: envelope, alerts: alerts, olderApps: olderApps)
    let faults = definition.problems.map { Problem($0.code, at: path + $0.path, $0.message) }
    if let refusal = Refusal(faults) { throw refusal }
    return definition
  }
}

extension ObjectReader {
  fileprivate mutating func mapper() -> [MapperRule] {
    members("mapper") { field, value, path, problems in
      do throws(Refusal) {
        return MapperRule(field, try MapperOperation.read(value, at: path))
      } catch {
        problems += error.problems
        return nil
      }
    } ?? []
  }

  fileprivate mutating func significance() -> SignificanceRules {
    let milestones =
      members("milestones") { field, value, path, problems in
        Milestone.read(value, of: field, at: path, problems: &problems)
      } ?? []
    return SignificanceRules(
      firstNote: bool("firstNote") ?? true, milestones: milestones,
      phases: strings("phases") ?? [], heedsCallers: bool("heedsCallers") ?? true)
  }

  fileprivate mutating func timings() -> ActivityTimings {
    var timings = ActivityTimings()
    if let value = value("staleAfter") {
      if value.string == "never" {
        timings.staleAfter = nil
      } else if let seconds = value.int64 {
        timings.staleAfter = .seconds(max(0, min(seconds, Self.longestSpan)))
      } else {
        add(
          .wrongType, "staleAfter",
          "Expected \"never\" or whole seconds, found \(found(value)).")
      }
    }
    timings.dismissal = dismissal("dismissal") ?? timings.dismissal
    func span(_ key: String, _ path: WritableKeyPath<ActivityTimings, Duration>) {
      if let span = seconds(key, in: 0...Self.longestSpan) { timings[keyPath: path] = span }
    }
    span("activeLife", \.activeLife)
    span("longestTrip", \.longestTrip)
    span("longestWait", \.longestWait)
    span("endsAfterFinalPhase", \.endsAfterFinalPhase)
    return timings
  }

  private static var longestSpan: Int64 { 1_000_000_000 }

  /// `"plain"`, or `{"namedProps": "<the activity's name>"}`.
  fileprivate mutating func envelope() -> WireEnvelope {
    guard let value = value("envelope"), value.string != "plain" else { return .plain }
    if let name = value["namedProps"]?.string, value.object?.count == 1 { return .namedProps(name) }
    add(
      .badValue, "envelope",
      "Expected \"plain\" or {\"namedProps\": \"<the activity's name>\"}, found \(found(value)).")
    return .plain
  }

  fileprivate mutating func alerts() -> AlertRules? {
    let start = alert("start")
    if start == nil, !has("start") {
      add(
        .missingField, "start",
        "\"start\" is required: a phone ignores a remote start without an alert.")
    }
    var updates: [AlertOccasion: AlertText] = [:]
    updates[.firstNote] = alert("firstNote")
    updates[.milestone] = alert("milestone")
    let phases =
      members("phases") { phase, value, path, problems -> (String, AlertText)? in
        AlertText.read(value, at: path, problems: &problems).map { (phase, $0) }
      } ?? []
    for (phase, alert) in phases { updates[.phase(phase)] = alert }
    return start.map { AlertRules(start: $0, updates: updates) }
  }

  private mutating func alert(_ key: String) -> AlertText? {
    guard let value = value(key) else { return nil }
    var problems: [Problem] = []
    let alert = AlertText.read(value, at: pointer(path, key), problems: &problems)
    take(problems)
    return alert
  }

  fileprivate mutating func olderApps() -> [OlderApp] {
    members("olderApps") { version, value, path, problems in
      var reader = ObjectReader(value, at: path)
      let app = OlderApp(
        version, attributes: reader.fields("attributes"),
        contentState: reader.fields("contentState"))
      problems += reader.finish()
      return app
    } ?? []
  }
}

extension MapperOperation {
  /// Reads `"count"`, `"phase"`, `{"latest": "place"}` or `{"list": "fields.photo"}`.
  fileprivate static func read(
    _ value: JSONValue, at path: String
  ) throws(Refusal) -> MapperOperation {
    switch value.string {
    case "count": return .count
    case "phase": return .phase
    default: break
    }
    guard let rule = value.object?.elements.first, value.object?.count == 1,
      rule.key == "latest" || rule.key == "list", let source = rule.value.string
    else {
      throw Refusal(
        Problem(
          .badValue, at: path,
          "Expected \"count\", \"phase\", {\"latest\": …} or {\"list\": …}, found \(found(value))."
            + suggestion(for: value.string ?? "", among: ["count", "phase"])))
    }
    guard let taken = TriggerValue(text: source) else {
      throw Refusal(
        Problem(
          .badValue, at: pointer(path, rule.key),
          "Expected \(TriggerValue.expected), found \(quoted(source))."
            + suggestion(for: source, among: TriggerValue.plainNames)))
    }
    return rule.key == "latest" ? .latest(taken) : .list(taken)
  }
}

extension TriggerValue {
  fileprivate static let plainNames = ["place", "member", "occurredAt"]
  fileprivate static let expected =
    "\"place\", \"member\", \"occurredAt\" or, of a trigger's own fields, \"fields.<name>\""

  /// What ``text`` writes.
  fileprivate init?(text: String) {
    switch text {
    case "place": self = .place
    case "member": self = .member
    case "occurredAt": self = .occurredAt
    default:
      guard text.hasPrefix("fields."), text.utf8.count > 7 else { return nil }
      self = .field(String(text.dropFirst(7)))
    }
  }
}

extension Milestone {
  fileprivate static func read(
    _ value: JSONValue, of field: String, at path: String, problems: inout [Problem]
  ) -> Milestone? {
    var reader = ObjectReader(value, at: path)
    let at = reader.value("at")
    let numbers = at?.array?.compactMap(\.int64) ?? []
    if let at, numbers.count != at.array?.count {
      reader.add(.wrongType, "at", "Expected an array of whole numbers, found \(found(at)).")
    }
    let every = reader.integer("every", in: .min ... .max)
    problems += reader.finish()
    return Milestone(field, at: numbers, every: every)
  }
}

extension AlertText {
  fileprivate static func read(
    _ value: JSONValue, at path: String, problems: inout [Problem]
  ) -> AlertText? {
    var reader = ObjectReader(value, at: path)
    let title = reader.string("title", isRequired: true, bytes: 0...4_096)
    let body = reader.string("body", isRequired: true, bytes: 0...4_096)
    let sound = reader.string("sound")
    let faults = reader.finish()
    problems += faults
    guard faults.isEmpty, let title, let body else { return nil }
    do throws(IdentifierError) {
      return try AlertText(title: title, body: body, sound: sound)
    } catch {
      problems.append(Problem(.badValue, at: path, error.message))
      return nil
    }
  }
}
