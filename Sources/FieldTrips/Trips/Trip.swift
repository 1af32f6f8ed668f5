package import Clocks
package import JSON

/// One group activity: everything that is stored of a trip but its members.
package struct Trip: Sendable, Equatable {
  package let id: TripID
  package let app: AppID
  /// The name of the ``ActivityType``.
  package let typeName: String
  package let name: String
  package let notebook: String?
  /// As every start and every join reply carries them, byte for byte.
  package let attributes: JSONText
  package var life: TripLife
  package internal(set) var card: Card
  /// Goes up by one with each change of the content-state.
  package internal(set) var revision: Revision
  /// The last revision that APNs accepted.
  package var publishedRevision: Revision
  /// Of the newest broadcast; nil before the first. Only goes up.
  package var lastTimestampSeconds: Int64?

  package init(
    id: TripID, app: AppID, typeName: String, name: String, notebook: String? = nil,
    attributes: JSONText, life: TripLife, card: Card, revision: Revision = .initial,
    publishedRevision: Revision = .initial, lastTimestampSeconds: Int64? = nil
  ) {
    self.id = id
    self.app = app
    self.typeName = typeName
    self.name = name
    self.notebook = notebook
    self.attributes = attributes
    self.life = life
    self.card = card
    self.revision = revision
    self.publishedRevision = publishedRevision
    self.lastTimestampSeconds = lastTimestampSeconds
  }

  /// Works one trigger in: the card by its mapper, the life if the trigger ends the trip.
  ///
  /// - Parameters:
  ///   - acceptedAt: when the trigger came in. It stands for the present, so that a log that is
  ///     read again gives the same trip.
  ///   - mapper: of this trip's activity type.
  package mutating func take(
    _ trigger: Trigger, acceptedAt: UnixTime, mapper: Mapper, rules: TripRules = TripRules()
  ) -> TripVerdict {
    precondition(trigger.trip == id, "a trigger for \(trigger.trip) reached the trip \(id)")
    guard life.acceptsTriggers else {
      let problem = Problem(.endedTrip, "The trip is \(life.phase.name): it takes nothing more.")
      return TripVerdict(card: .refused(Refusal(problem)))
    }
    let verdict = mapper.apply(trigger, acceptedAt: acceptedAt, to: &card)
    if case .refused = verdict { return TripVerdict(card: verdict) }
    var actions: [TripAction] = []
    if case .changed(let change) = verdict {
      revision = revision.next
      if let span = change.endsAfter, acceptedAt + span < life.times.endsAt {
        actions = life.handle(.endMoved(to: acceptedAt + span), at: acceptedAt, rules: rules)
      }
    }
    if case .end(let end) = trigger.effect {
      actions += life.handle(
        .endRequested(dismissal: end.dismissal), at: acceptedAt, rules: rules)
    }
    return TripVerdict(card: verdict, actions: actions)
  }
}

/// What a trigger did to a trip.
package struct TripVerdict: Sendable, Equatable {
  package var card: MapperVerdict
  /// What the trip's life asks for, in order.
  package var actions: [TripAction]

  package init(card: MapperVerdict, actions: [TripAction] = []) {
    self.card = card
    self.actions = actions
  }
}
