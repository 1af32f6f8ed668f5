package import Clocks

/// What all phones of a kind have in common, as far as a push to a running activity is concerned.
package struct ActivityTraits: Sendable, Equatable {
  package var attributesType: String
  /// Size of the `attributes` that it was started with.
  package var attributesBytes: Int
  package var allowsFrequentUpdates: Bool

  package init(
    attributesType: String = "FieldTripAttributes", attributesBytes: Int = 0,
    allowsFrequentUpdates: Bool = true
  ) {
    self.attributesType = attributesType
    self.attributesBytes = attributesBytes
    self.allowsFrequentUpdates = allowsFrequentUpdates
  }
}

/// One card on one phone, and ActivityKit's rules for what may change it.
///
/// A value of some seventy bytes: a million of them are affordable.
package struct LiveActivity: Sendable, Equatable {
  package let startedAt: UnixTime
  package private(set) var contentState: ContentState
  /// The greatest timestamp seen, which an end with an older one does not lower.
  package private(set) var newestTimestampSeconds: Int64?
  /// The timestamp of what is shown; nil while it is what the app started with.
  package private(set) var shownTimestampSeconds: Int64?
  package private(set) var staleDateSeconds: Int64?
  package private(set) var endedAt: UnixTime?
  package private(set) var dismissedAt: UnixTime?

  /// - Parameter timestampSeconds: of the start push, or nil for a start by the app.
  package init(
    contentState: ContentState, startedAt: UnixTime, timestampSeconds: Int64? = nil,
    staleDateSeconds: Int64? = nil
  ) {
    self.contentState = contentState
    self.startedAt = startedAt
    self.staleDateSeconds = staleDateSeconds
    newestTimestampSeconds = timestampSeconds
    shownTimestampSeconds = timestampSeconds
  }

  package enum Phase: String, Sendable {
    case active, stale, ended, dismissed
  }

  /// What a person would say of the card now.
  package func phase(at now: UnixTime, _ rules: PhoneRules) -> Phase {
    var settled = self
    settled.settle(at: now, rules)
    if let dismissed = settled.dismissedAt, dismissed <= now { return .dismissed }
    if settled.endedAt != nil { return .ended }
    if let stale = settled.staleDateSeconds, UnixTime(wholeSeconds: stale) <= now { return .stale }
    return .active
  }

  /// Takes a push that has just arrived.
  ///
  /// - Parameter budget: of the phone for this app; a priority-10 push costs a token even when it
  ///   is then dropped for another reason.
  package mutating func receive(
    _ push: ActivityPush, at now: UnixTime, _ traits: ActivityTraits, _ rules: PhoneRules,
    budget: inout TokenBucket
  ) -> PushOutcome {
    settle(at: now, rules)
    let payload = push.payload
    guard payload.defect == nil, let event = payload.event,
      let timestamp = payload.timestampSeconds
    else { return .dropped(.malformed) }
    guard event != .start else { return .dropped(.startForRunningActivity) }
    if UnixTime(wholeSeconds: min(timestamp, 1 << 33)) > now + rules.timestampLead {
      return .dropped(.timestampTooFarAhead)
    }
    if endedAt != nil {
      newestTimestampSeconds = max(newestTimestampSeconds ?? timestamp, timestamp)
      let isGone = dismissedAt.map { $0 <= now } ?? false
      return .dropped(isGone ? .activityDismissed : .activityEnded)
    }
    if push.priority == 10, !takesBudget(&budget, at: now, traits, rules) {
      return .dropped(.budgetSpent)
    }
    if let reason = refusal(payload, timestamp, event, at: now, traits, rules) {
      return .dropped(reason)
    }
    return event == .update ? update(payload, timestamp) : end(payload, timestamp, at: now, rules)
  }

  /// The person swiped it away, or the app ended it at once.
  package mutating func dismiss(at now: UnixTime) {
    if endedAt == nil { endedAt = now }
    if dismissedAt.map({ $0 > now }) ?? true { dismissedAt = now }
  }

  /// The system ends what has been active for too long.
  package mutating func settle(at now: UnixTime, _ rules: PhoneRules) {
    guard endedAt == nil, now >= startedAt + rules.activeLimit else { return }
    endedAt = startedAt + rules.activeLimit
    dismissedAt = startedAt + rules.activeLimit + rules.dismissalLimit
  }

  private func takesBudget(
    _ budget: inout TokenBucket, at now: UnixTime, _ traits: ActivityTraits, _ rules: PhoneRules
  ) -> Bool {
    let rate = traits.allowsFrequentUpdates ? rules.frequentUpdateBudget : rules.updateBudget
    guard let rate else { return true }
    return budget.take(now, rate)
  }

  private func refusal(
    _ payload: ActivityPayload, _ timestamp: Int64, _ event: ActivityPush.Event,
    at now: UnixTime, _ traits: ActivityTraits, _ rules: PhoneRules
  ) -> DropReason? {
    if event == .update {
      if let newest = newestTimestampSeconds, timestamp <= newest {
        return timestamp == newest ? .equalTimestamp : .olderTimestamp
      }
      if let lag = rules.timestampLag, UnixTime(wholeSeconds: timestamp) < now - lag {
        return .timestampTooOld
      }
      if payload.contentState == nil { return .undecodable }
    }
    if payload.undecodable[traits.attributesType] != nil { return .undecodable }
    let stateBytes = payload.contentState?.bytes.count ?? 0
    return stateBytes + traits.attributesBytes > rules.stateLimitBytes ? .stateTooLarge : nil
  }

  private mutating func update(_ payload: ActivityPayload, _ timestamp: Int64) -> PushOutcome {
    guard let newState = payload.contentState else { return .dropped(.undecodable) }
    let isSame = newState == contentState
    contentState = newState
    newestTimestampSeconds = timestamp
    shownTimestampSeconds = timestamp
    staleDateSeconds = payload.staleDateSeconds
    return isSame ? .unchanged : .shown
  }

  /// An end counts whatever its timestamp; its content-state only when it is newer.
  private mutating func end(
    _ payload: ActivityPayload, _ timestamp: Int64, at now: UnixTime, _ rules: PhoneRules
  ) -> PushOutcome {
    if timestamp > newestTimestampSeconds ?? .min {
      newestTimestampSeconds = timestamp
      if let newState = payload.contentState {
        contentState = newState
        shownTimestampSeconds = timestamp
      }
    }
    endedAt = now
    let latest = now + rules.dismissalLimit
    guard let wanted = payload.dismissalDateSeconds else {
      dismissedAt = latest
      return .ended
    }
    let wish = UnixTime(wholeSeconds: max(0, min(wanted, 1 << 33)))
    dismissedAt = max(now, min(wish, latest))
    return .ended
  }
}
