package import Clocks
package import JSON

/// Something that happened elsewhere and may change a trip's content-state.
package struct Trigger: Sendable, Equatable {
  /// By which door or queue it came does not matter: the same ID has its effect once.
  package let id: TriggerID
  package let trip: TripID
  package private(set) var effect: Effect
  /// The caller says that this should not wait.
  package let isSignificant: Bool
  /// Its place among the trip's triggers, if the caller counts them.
  package let sequence: Int64?
  /// When it happened, by the caller's clock; whole milliseconds.
  package let occurredAt: UnixTime?
  /// The caller's trace, if it keeps one of this.
  package private(set) var trace: TraceContext?

  package enum Effect: Sendable, Equatable {
    case note(Note)
    /// The whole content-state, to replace what was.
    case state(JSONText)
    case phase(PhaseChange)
    case end(EndOfTrip)
  }

  /// A note was captured.
  package struct Note: Sendable, Equatable {
    package var member: MemberID?
    package var place: String?
    /// What the activity type's mapper takes besides.
    package var fields: JSONObject

    package init(member: MemberID? = nil, place: String? = nil, fields: JSONObject = [:]) {
      self.member = member
      self.place = place
      self.fields = fields
    }
  }

  package struct PhaseChange: Sendable, Equatable {
    package var phase: String
    package var fields: JSONObject

    package init(phase: String, fields: JSONObject = [:]) {
      self.phase = phase
      self.fields = fields
    }
  }

  package struct EndOfTrip: Sendable, Equatable {
    /// Nil ends with the state as it is by then.
    package var finalState: JSONText?
    /// Nil dismisses as the trip was created.
    package var dismissal: Dismissal?

    package init(finalState: JSONText? = nil, dismissal: Dismissal? = nil) {
      self.finalState = finalState
      self.dismissal = dismissal
    }
  }

  /// Which of the four effects, as it is named in messages and in the log.
  package enum Kind: String, Hashable, Sendable, CaseIterable {
    case note
    case state
    case phase
    case end
  }

  package func with(_ effect: Effect) -> Trigger {
    var copy = self
    copy.effect = effect
    return copy
  }

  /// - Parameter trace: stands in where the trigger itself has none.
  package func with(_ trace: TraceContext?) -> Trigger {
    var copy = self
    copy.trace = self.trace ?? trace
    return copy
  }

  package var kind: Kind {
    switch effect {
    case .note: .note
    case .state: .state
    case .phase: .phase
    case .end: .end
    }
  }

  package init(
    id: TriggerID, trip: TripID, effect: Effect, isSignificant: Bool = false,
    sequence: Int64? = nil, occurredAt: UnixTime? = nil, trace: TraceContext? = nil
  ) {
    self.id = id
    self.trip = trip
    self.effect = effect
    self.isSignificant = isSignificant
    self.sequence = sequence
    self.occurredAt = occurredAt.map(\.inMilliseconds)
    self.trace = trace
  }
}
