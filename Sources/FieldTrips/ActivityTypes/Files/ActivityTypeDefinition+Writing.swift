package import JSON

extension ActivityTypeDefinition {
  /// The definition as ``read(_:named:at:)`` takes it; what is as by default is left out.
  package var json: JSONValue {
    var object = JSONObject()
    object["attributesType"] = .string(attributesType)
    if !attributes.isEmpty { object["attributes"] = attributes.json }
    object["contentState"] = contentState.json
    if !mapper.isEmpty { object["mapper"] = mapperJSON }
    if !finalPhases.isEmpty { object["finalPhases"] = .array(finalPhases.map(JSONValue.string)) }
    if phasesAdvance { object["phasesAdvance"] = true }
    if significance != SignificanceRules() { object["significance"] = significance.json }
    object["timings"] = timings.json
    object["storage"] = .string(storage.name)
    if case .namedProps(let name) = envelope {
      object["envelope"] = ["namedProps": .string(name)]
    }
    object["alerts"] = alerts.json
    if !olderApps.isEmpty { object["olderApps"] = olderAppsJSON }
    return .object(object)
  }

  private var mapperJSON: JSONValue {
    var object = JSONObject()
    for rule in mapper {
      object[rule.field] =
        switch rule.operation {
        case .count: "count"
        case .phase: "phase"
        case .latest(let value): ["latest": .string(value.text)]
        case .list(let value): ["list": .string(value.text)]
        }
    }
    return .object(object)
  }

  private var olderAppsJSON: JSONValue {
    var object = JSONObject()
    for app in olderApps {
      var older = JSONObject()
      older["attributes"] = app.attributes?.json
      older["contentState"] = app.contentState?.json
      object[app.version] = .object(older)
    }
    return .object(object)
  }
}

extension TriggerValue {
  fileprivate var text: String {
    switch self {
    case .place: "place"
    case .member: "member"
    case .occurredAt: "occurredAt"
    case .field(let name): "fields." + name
    }
  }
}

extension SignificanceRules {
  fileprivate var json: JSONValue {
    var object = JSONObject()
    object["firstNote"] = .bool(firstNote)
    if !milestones.isEmpty {
      var fields = JSONObject()
      for milestone in milestones {
        var rule = JSONObject()
        if !milestone.at.isEmpty {
          rule["at"] = .array(milestone.at.map { .number(JSONNumber($0)) })
        }
        rule["every"] = milestone.every.map { .number(JSONNumber($0)) }
        fields[milestone.field] = .object(rule)
      }
      object["milestones"] = .object(fields)
    }
    if !phases.isEmpty { object["phases"] = .array(phases.map(JSONValue.string)) }
    object["heedsCallers"] = .bool(heedsCallers)
    return .object(object)
  }
}

extension ActivityTimings {
  fileprivate var json: JSONValue {
    func seconds(_ span: Duration) -> JSONValue { .number(JSONNumber(span.inWholeSeconds)) }
    return [
      "staleAfter": staleAfter.map(seconds) ?? "never", "dismissal": dismissal.json,
      "activeLife": seconds(activeLife), "longestTrip": seconds(longestTrip),
      "longestWait": seconds(longestWait),
      "endsAfterFinalPhase": seconds(endsAfterFinalPhase),
    ]
  }
}

extension AlertRules {
  fileprivate var json: JSONValue {
    var object = JSONObject()
    object["start"] = start.json
    object["firstNote"] = updates[.firstNote]?.json
    object["milestone"] = updates[.milestone]?.json
    var phases: [(String, AlertText)] = []
    for case (.phase(let phase), let alert) in updates { phases.append((phase, alert)) }
    guard !phases.isEmpty else { return .object(object) }
    var byPhase = JSONObject()
    for (phase, alert) in phases.sorted(by: { $0.0 < $1.0 }) { byPhase[phase] = alert.json }
    object["phases"] = .object(byPhase)
    return .object(object)
  }
}

extension AlertText {
  fileprivate var json: JSONValue {
    var object: JSONObject = ["title": .string(title), "body": .string(body)]
    object["sound"] = sound.map(JSONValue.string)
    return .object(object)
  }
}
