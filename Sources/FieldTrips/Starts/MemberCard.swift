package import Clocks

/// A member's card on one trip, as far as the server knows: at most one at a time, whatever is
/// retried, and never again after the person swiped it away.
///
/// ```
///           starting           confirmed                  ended
///  none ──────────────▶ asked ───────────▶ running ───────────────▶ none
///    ▲                    │ │ confirmed late    │ starting (renewal)
///    └── not confirmed ───┘ └───────────────────┴──▶ running   any ── dismissed ──▶ dismissed
/// ```
package struct MemberCard: Hashable, Sendable {
  package enum State: Hashable, Sendable {
    case none
    /// A start was sent, or was about to be, and the card has not reported yet.
    case asked(at: UnixTime)
    /// Since this time, by the card's own account or by the start that it answers.
    case running(since: UnixTime)
    /// Final for this trip, unless the person joins again in the app.
    case dismissed
  }

  package private(set) var state: State
  /// Starts that were not confirmed, one after the other.
  package private(set) var unconfirmed: Int
  package private(set) var lastStart: UnixTime?

  package init(state: State = .none, unconfirmed: Int = 0, lastStart: UnixTime? = nil) {
    self.state = state
    self.unconfirmed = unconfirmed
    self.lastStart = lastStart
  }

  /// Whether a card may be started, or a running one be followed by a new one before it dies.
  package func verdict(
    at now: UnixTime, budget: StartBudget, rules: StartRules
  ) -> StartVerdict {
    switch state {
    case .dismissed:
      return .never(.dismissed)
    case .running(let since):
      let renewal = since + LiveActivityLimits.activeLife - rules.renewalLead
      guard now >= renewal else { return .wait(until: renewal, .hasCard) }
    case .asked(let at):
      guard now >= at + rules.confirmation else {
        return .wait(until: at + rules.confirmation, .unconfirmed)
      }
    case .none:
      break
    }
    guard missed(at: now, rules) < rules.attempts else { return .never(.givenUp) }
    if let lastStart, now < lastStart + rules.pause {
      return .wait(until: lastStart + rules.pause, .unconfirmed)
    }
    let next = budget.nextStart(at: now, rules: rules)
    return next <= now ? .start : .wait(until: next, .budgetSpent)
  }

  /// A start is about to be sent. To be stored before it is, so that a crash cannot send it twice.
  package mutating func starting(at now: UnixTime, rules: StartRules) {
    unconfirmed = missed(at: now, rules)
    state = .asked(at: now)
    lastStart = now
  }

  /// APNs refused the start for good, so there is no card; its answer was certain.
  package mutating func startRefused() {
    if case .asked = state { state = .none }
  }

  /// The card reported itself or its token.
  package mutating func confirmed(at now: UnixTime) {
    switch state {
    case .asked(let at): state = .running(since: at)
    case .none: state = .running(since: now)
    case .running, .dismissed: break
    }
    unconfirmed = 0
  }

  /// The app starts a card by itself, as on a join: what the person swiped away is forgiven.
  package mutating func startedInApp(at now: UnixTime) {
    state = .running(since: now)
    unconfirmed = 0
  }

  /// The card is over, by the system, the app, or a 410 for its token.
  package mutating func ended() {
    if state != .dismissed { state = .none }
  }

  package mutating func dismissed() { state = .dismissed }

  /// Whether a push to the card's token can still be seen: nothing lives longer than twelve hours.
  package func mayBeVisible(at now: UnixTime) -> Bool {
    switch state {
    case .none, .dismissed: false
    case .asked(let since), .running(let since): now < since + LiveActivityLimits.totalLife
    }
  }

  private func missed(at now: UnixTime, _ rules: StartRules) -> Int {
    guard case .asked(let at) = state, now >= at + rules.confirmation else { return unconfirmed }
    return unconfirmed + 1
  }
}
