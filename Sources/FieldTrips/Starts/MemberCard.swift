package import Clocks

/// A member's card on one trip, as far as the server knows: at most one at a time, whatever is
/// retried, and never again after the person swiped it away.
///
/// ```
///           starting           confirmed                  ended
///  none ──────────────▶ asked ───────────▶ running ───────────────▶ none
///    ▲                    │ ▲                 │
///    └──── refused ───────┘ └─ starting again ┘                any ── dismissed ──▶ dismissed
///
///  running ── its token died before its time ──▶ closed ── confirmed ──▶ running
/// ```
/// A start without an answer may have made a card that says nothing: it is never sent again, and
/// counts as running from the moment it was asked for. Only a card that is about to be ended by the
/// system is followed by another.
package struct MemberCard: Hashable, Sendable {
  package enum State: Hashable, Sendable {
    case none
    /// A start was sent, or was about to be, and the card has not reported yet.
    ///
    /// - Parameter following: since when the card runs that the new one is to follow, if there is
    ///   one: it stays until the new one is there.
    case asked(at: UnixTime, following: UnixTime?)
    /// Since this time, by the card's own account or by the start that it answers.
    case running(since: UnixTime)
    /// Final for this trip, unless the person joins again in the app.
    case dismissed
    /// Its token died before its time, so the person closed it and no app said so. None is started
    /// again, unless the card or its app reports.
    case closed
  }

  package private(set) var state: State
  /// Starts that were not confirmed, one after the other.
  package private(set) var unconfirmed: Int
  /// The last one that APNs did not refuse.
  package private(set) var lastStart: UnixTime?
  /// Since when the card before this one runs, or ran.
  package private(set) var earlierSince: UnixTime?
  /// There is none any more, and there was one.
  package private(set) var wasThere: Bool

  package init(
    state: State = .none, unconfirmed: Int = 0, lastStart: UnixTime? = nil,
    earlierSince: UnixTime? = nil, wasThere: Bool = false
  ) {
    self.state = state
    self.unconfirmed = unconfirmed
    self.lastStart = lastStart
    self.earlierSince = earlierSince
    self.wasThere = wasThere
  }

  /// Whether a card may be started, or a running one be followed by a new one before it dies.
  ///
  /// - Parameter end: of the trip: a card that outlives it is not followed.
  package func verdict(at now: UnixTime, until end: UnixTime, rules: StartRules) -> StartVerdict {
    var present: (since: UnixTime, obstacle: StartObstacle)?
    switch state {
    case .dismissed, .closed: return .never(.dismissed)
    case .running(let since): present = (since, .hasCard)
    case .asked(let at, _): present = (at, .unconfirmed)
    case .none: break
    }
    if let present {
      guard present.since + LiveActivityLimits.activeLife < end else {
        return .never(present.obstacle)
      }
      let renewal = present.since + rules.renewalAge
      guard now >= renewal else { return .wait(until: renewal, present.obstacle) }
    }
    guard missed < rules.attempts else { return .never(.givenUp) }
    if let lastStart, now < lastStart + rules.pause {
      return .wait(until: lastStart + rules.pause, .pausing)
    }
    return .start
  }

  /// A start is about to be sent. To be stored before it is, so that a crash cannot send it twice.
  package mutating func starting(at now: UnixTime) {
    unconfirmed = missed
    switch state {
    case .running(let since), .asked(let since, _): state = .asked(at: now, following: since)
    case .none, .dismissed, .closed: state = .asked(at: now, following: nil)
    }
    lastStart = now
  }

  /// APNs refused a start, so there is no new card; its answer was certain.
  ///
  /// - Parameter at: when the start was recorded. Told twice is told once.
  package mutating func startRefused(at: UnixTime) {
    guard case .asked(at, let following) = state else { return }
    state = following.map { .running(since: $0) } ?? .none
    lastStart = nil
  }

  /// The card reported itself or its token; or APNs took the start of one on a channel, which never
  /// reports.
  ///
  /// - Returns: since when the card runs that this one follows; that one is to be ended.
  @discardableResult
  package mutating func confirmed(at now: UnixTime) -> UnixTime? {
    unconfirmed = 0
    switch state {
    case .asked(let at, let following):
      state = .running(since: at)
      earlierSince = following
      return following
    case .none, .closed:
      state = .running(since: now)
      wasThere = false
    case .running, .dismissed: break
    }
    return nil
  }

  /// The app starts a card by itself, as on a join: what the person swiped away is forgiven.
  package mutating func startedInApp(at now: UnixTime) {
    self = MemberCard(state: .running(since: now), lastStart: lastStart)
  }

  /// The last of the member's cards with tokens is over. One that was asked for and has not handed
  /// over its token may be there all the same.
  package mutating func lastWithTokenEnded() {
    switch state {
    case .running: noneLeft()
    case .asked(let at, _): state = .asked(at: at, following: nil)
    case .none, .dismissed, .closed: break
    }
  }

  /// The token of the member's last card is dead. The system ends a card after eight hours; one that
  /// goes before was closed by the person, and is not to come back.
  ///
  /// - Parameters:
  ///   - at: as far as APNs said.
  ///   - firstSeen: the dead token's, which may be of another card than the one that began last; nil
  ///     where it is not known.
  package mutating func tokenDied(at: UnixTime, firstSeen: UnixTime?, rules: StartRules) {
    if case .running(let since) = state, at < (firstSeen ?? since) + rules.renewalAge {
      state = .closed
    } else {
      lastWithTokenEnded()
    }
  }

  /// A card is over, and which one is not known: while the one before may still be seen, it is taken
  /// for that. One that was taken for closed by the person was not: its app says so.
  package mutating func unnamedEnded(at now: UnixTime) {
    if state == .closed { return noneLeft() }
    if let earlierSince, now < earlierSince + LiveActivityLimits.totalLife { return }
    if state != .dismissed { noneLeft() }
  }

  /// The channel that the card listens to is gone: another card may be started on the next one, and
  /// at once, since it is not the phone that made trouble.
  package mutating func channelLost() {
    guard state != .dismissed, state != .closed else { return }
    self = MemberCard(wasThere: wasThere || state != .none)
  }

  package mutating func dismissed() { state = .dismissed }

  private mutating func noneLeft() {
    state = .none
    wasThere = true
  }

  /// Starts without a word from their cards, the last one included.
  private var missed: Int {
    if case .asked = state { unconfirmed + 1 } else { unconfirmed }
  }
}

extension MemberCard {
  /// Whether it may be on the phone's screen.
  package func mayBeVisible(at now: UnixTime) -> Bool {
    switch state {
    case .asked(let since, _), .running(let since): now < since + LiveActivityLimits.totalLife
    case .none, .dismissed, .closed: false
    }
  }
}

extension RegisteredToken {
  /// Whether a push to the card can still be seen: nothing lives longer than twelve hours.
  package func mayBeVisible(at now: UnixTime) -> Bool {
    now < firstSeen + LiveActivityLimits.totalLife
  }
}
