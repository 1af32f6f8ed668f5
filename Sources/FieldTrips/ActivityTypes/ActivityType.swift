package import Clocks
package import JSON

/// One kind of card: the phone's struct, and how triggers become its content-state.
///
/// A definition comes from configuration, where it may be wrong; an ``ActivityType`` is one that was
/// checked.
package struct ActivityTypeDefinition: Sendable, Equatable {
  /// As callers name it: `field-trip`.
  package var name: String
  /// The name of the Swift `ActivityAttributes` struct, exactly.
  package var attributesType: String
  package var attributes: [FieldSchema]
  package var contentState: [FieldSchema]
  package var mapper: [MapperRule]
  /// Phases after which nothing more comes. Their state goes out as an update, so that it can still
  /// be corrected, and the trip ends ``ActivityTimings/endsAfterFinalPhase`` later.
  package var finalPhases: [String]
  /// Whether phases come in the order in which the struct names them: a change to an earlier one that
  /// says neither its sequence nor its time is a late one then, and changes nothing.
  package var phasesAdvance: Bool
  package var significance: SignificanceRules
  package var timings: ActivityTimings
  package var storage: StoragePolicy
  package var envelope: WireEnvelope
  package var alerts: AlertRules
  /// Versions of the app that are still installed and whose struct differs.
  package var olderApps: [OlderApp]

  package init(
    name: String, attributesType: String, attributes: [FieldSchema], contentState: [FieldSchema],
    mapper: [MapperRule], finalPhases: [String] = [],
    phasesAdvance: Bool = false,
    significance: SignificanceRules = SignificanceRules(),
    timings: ActivityTimings = ActivityTimings(), storage: StoragePolicy = .mostRecent,
    envelope: WireEnvelope = .plain, alerts: AlertRules, olderApps: [OlderApp] = []
  ) {
    self.name = name
    self.attributesType = attributesType
    self.attributes = attributes
    self.contentState = contentState
    self.mapper = mapper
    self.finalPhases = finalPhases
    self.phasesAdvance = phasesAdvance
    self.significance = significance
    self.timings = timings
    self.storage = storage
    self.envelope = envelope
    self.alerts = alerts
    self.olderApps = olderApps
  }
}

/// The struct of an earlier version of the app, for as long as phones have it installed.
///
/// Whatever a card of this type can show must decode there too: such a phone would keep its old card
/// and tell nobody. Fields that it does not know do no harm.
package struct OlderApp: Sendable, Equatable {
  /// As people call the version: `2.3`.
  package var version: String
  /// Nil if they are as now.
  package var attributes: [FieldSchema]?
  package var contentState: [FieldSchema]?

  package init(
    _ version: String, attributes: [FieldSchema]? = nil, contentState: [FieldSchema]? = nil
  ) {
    self.version = version
    self.attributes = attributes
    self.contentState = contentState
  }
}

extension ActivityTypeDefinition {
  /// The field that phase changes set.
  var phaseField: String? { mapper.first { $0.operation == .phase }?.field }

  /// What that field can be; empty without one.
  package var phases: [String] {
    guard let phaseField, case .choice(let phases)? = contentState.named(phaseField)?.kind else {
      return []
    }
    return phases
  }
}

/// A checked definition.
package struct ActivityType: Sendable, Equatable {
  package let definition: ActivityTypeDefinition

  /// - Throws: every problem; paths lead into the definition, as `/contentState/place`.
  package init(_ definition: ActivityTypeDefinition) throws(Refusal) {
    if let refusal = Refusal(definition.problems) { throw refusal }
    self.definition = definition
  }

  package var name: String { definition.name }
  package var attributesType: String { definition.attributesType }
  package var timings: ActivityTimings { definition.timings }
  package var storage: StoragePolicy { definition.storage }

  /// The state of a trip for which nobody gave one.
  package var initialState: ContentState {
    var object = JSONObject()
    for field in definition.contentState where !field.isWithheld {
      if let initial = field.initial { object[field.name] = initial }
    }
    return ContentState(object)
  }

  /// A trip's attributes as the store kept them, without what the type withholds or does not have
  /// any more: it may have changed since the trip was made.
  package func attributes(adopting stored: JSONText) -> JSONText {
    guard var object = stored.value.object else { return stored }
    let dropped = object.keys.filter { definition.attributes.named($0)?.isWithheld ?? true }
    guard !dropped.isEmpty else { return stored }
    for key in dropped { object[key] = nil }
    return JSONText(.object(object))
  }

  /// A trip's attributes for a card that starts now. Where the phone's struct has a `startedAt`, in
  /// seconds since 1970, the app can tell which of two cards of one trip is the newer.
  package func attributes(_ stored: JSONText, startingAt now: UnixTime) -> JSONText {
    let attributes = attributes(adopting: stored)
    guard saysWhenStarted, var object = attributes.value.object, object[Self.startedAt] != nil
    else { return attributes }
    object[Self.startedAt] = .number(JSONNumber(now.wholeSeconds))
    return JSONText(.object(object))
  }

  static let startedAt = "startedAt"

  /// Whether the struct has a `startedAt` that takes seconds since 1970; one of another kind is the
  /// caller's own affair.
  var saysWhenStarted: Bool {
    switch definition.attributes.named(Self.startedAt)?.kind {
    case .integer?, .number?, .date(.secondsSince1970)?: true
    default: false
    }
  }

  /// The alert of a remote start.
  package func startAlert(attributes: JSONText, state: ContentState) -> AlertText {
    let sources = [state.object, attributes.value.object ?? [:]]
    return definition.alerts.start.filled(from: sources)
  }
}
