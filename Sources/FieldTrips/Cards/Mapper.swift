package import Clocks
package import JSON

/// What a trigger did to a card.
package enum MapperVerdict: Sendable, Equatable {
  /// The content-state is another one: the revision goes up.
  case changed(Change)
  /// The card shows the same as before, so nothing needs to be sent. The memory may have moved on
  /// all the same and must be stored.
  case unchanged
  /// The trigger cannot be applied; the card is as it was.
  case refused(Refusal)
}

/// What is special about a change.
package struct Change: Sendable, Equatable {
  /// It does not wait for the publisher's better moment.
  package var isSignificant: Bool
  /// Goes along with the update that carries this change; makes it significant.
  package var alert: AlertText?
  /// Nothing more is to come: the trip ends this long from now.
  package var endsAfter: Duration?

  package init(isSignificant: Bool, alert: AlertText? = nil, endsAfter: Duration? = nil) {
    self.isSignificant = isSignificant
    self.alert = alert
    self.endsAfter = endsAfter
  }
}

/// The pure function from a card and a trigger to the next card.
///
/// Total and deterministic: every trigger has a verdict, and the same log gives the same card. It
/// counts each trigger that it is given; that one ID comes but once is the log's affair. Counters do
/// not depend on the order of triggers. Of values that replace each other, the one with the highest
/// sequence stays, or where sequences are missing the one that happened last, or else the one that
/// came last; where the type's phases advance, a phase without order never goes back. A trigger that
/// comes before the last whole state by its sequence changes nothing.
package struct Mapper: Sendable {
  package let type: ActivityType
  private let attributes: JSONText
  private let measure: PayloadMeasure

  /// - Parameter attributes: the trip's, which share ActivityKit's 4 KB with the state.
  package init(type: ActivityType, attributes: JSONText) {
    self.type = type
    self.attributes = type.attributes(adopting: attributes)
    measure = PayloadMeasure(type: type, attributes: attributes)
  }

  /// - Parameter acceptedAt: when the trigger came in. A trigger cannot have happened later: a
  ///   caller's clock that is ahead would otherwise shut out everyone else.
  package func apply(
    _ trigger: Trigger, acceptedAt: UnixTime, to card: inout Card
  ) -> MapperVerdict {
    let mark = OrderMark(
      sequence: trigger.sequence, occurredAt: trigger.occurredAt.map { min($0, acceptedAt) })
    var draft = CardDraft(type: type, object: card.object, memory: card.memory)
    do throws(Refusal) {
      try draft.take(trigger, mark: mark)
      return try finish(draft, trigger, &card)
    } catch {
      return .refused(error)
    }
  }

  private func finish(
    _ draft: CardDraft, _ trigger: Trigger, _ card: inout Card
  ) throws(Refusal) -> MapperVerdict {
    guard !draft.object.hasSameMembers(as: card.object) else {
      card.memory = draft.memory
      return .unchanged
    }
    let fitted = try type.fit(draft.object, measure)
    let before = card.object
    card.memory = draft.memory
    if fitted.isTrimmed, fitted.object.hasSameMembers(as: before) { return .unchanged }
    card.replace(fitted.object, written: fitted.state.text)
    return .changed(change(from: before, to: fitted.object, by: trigger))
  }

  private func change(
    from old: JSONObject, to new: JSONObject, by trigger: Trigger
  ) -> Change {
    let rules = type.definition.significance
    let occasions = type.occasions(from: old, to: new, by: trigger)
    let alert = occasions.lazy.compactMap { type.definition.alerts.updates[$0] }.first
    let isSignificant =
      alert != nil || trigger.kind == .end || (trigger.isSignificant && rules.heedsCallers)
      || occasions.contains(where: rules.counts)
    let isFinal = occasions.contains {
      if case .phase(let phase) = $0 { type.definition.finalPhases.contains(phase) } else { false }
    }
    return Change(
      isSignificant: isSignificant,
      alert: alert?.filled(from: [new, attributes.value.object ?? [:]]),
      endsAfter: isFinal ? type.timings.endsAfterFinalPhase : nil)
  }
}

extension SignificanceRules {
  fileprivate func counts(_ occasion: AlertOccasion) -> Bool {
    switch occasion {
    case .firstNote: firstNote
    case .milestone: true
    case .phase(let phase): phases.contains(phase)
    }
  }
}

extension ActivityType {
  /// What a change means, the most telling first.
  fileprivate func occasions(
    from old: JSONObject, to new: JSONObject, by trigger: Trigger
  ) -> [AlertOccasion] {
    var occasions: [AlertOccasion] = []
    if let field = definition.phaseField, let phase = new[field]?.string,
      phase != old[field]?.string
    {
      occasions.append(.phase(phase))
    }
    let passed = definition.significance.milestones.contains {
      $0.isPassed(from: old[$0.field]?.int64 ?? 0, to: new[$0.field]?.int64 ?? 0)
    }
    if passed { occasions.append(.milestone) }
    let isFirst = definition.mapper.contains {
      $0.operation == .count && (old[$0.field]?.int64 ?? 0) == 0
        && (new[$0.field]?.int64 ?? 0) > 0
    }
    if isFirst { occasions.append(.firstNote) }
    return occasions
  }

  /// An object that fits every payload, trimmed where it may be; with its bytes, as they were
  /// measured.
  func fit(
    _ object: JSONObject, _ measure: PayloadMeasure
  ) throws(Refusal) -> (object: JSONObject, state: ContentState, isTrimmed: Bool) {
    var object = object
    var state = ContentState(object)
    var isTrimmed = false
    var excess = measure.excessBytes(of: state)
    while excess > 0 {
      guard shorten(&object, by: excess) else {
        throw Refusal(
          Problem(
            .stateTooLarge,
            "The content-state is \(excess) bytes over what a phone takes together with the "
              + "attributes (4096 bytes), and nothing in it may be trimmed further."))
      }
      isTrimmed = true
      state = ContentState(object)
      excess = measure.excessBytes(of: state)
    }
    return (object, state, isTrimmed)
  }

  /// Shortens the largest field that may be trimmed; false if there is none left.
  private func shorten(_ object: inout JSONObject, by excess: Int) -> Bool {
    var largest: (name: String, bytes: Int, value: JSONValue)?
    for field in definition.contentState {
      guard let value = object[field.name],
        let shorter = field.shortened(value, by: excess)
      else { continue }
      let bytes = value.serialized().count
      if bytes > largest?.bytes ?? 0 { largest = (field.name, bytes, shorter) }
    }
    guard let largest else { return false }
    object[largest.name] = largest.value
    return true
  }
}

extension JSONObject {
  /// Equal as a phone reads it: the order of members does not count.
  func hasSameMembers(as other: JSONObject) -> Bool {
    count == other.count && elements.allSatisfy { other[$0.key] == $0.value }
  }
}
