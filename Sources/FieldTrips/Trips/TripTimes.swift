package import Clocks

/// When a trip begins and ends, and how its cards age.
package struct TripTimes: Hashable, Sendable {
  package var createdAt: UnixTime
  package var startsAt: UnixTime
  /// Always set: a trip without an end of its own ends when its first card would die.
  package var endsAt: UnixTime
  /// A card that heard nothing for this long shows that it is stale; nil never does.
  package var staleAfter: Duration?
  package var dismissal: Dismissal

  package init(
    createdAt: UnixTime, startsAt: UnixTime? = nil, endsAt: UnixTime? = nil,
    staleAfter: Duration? = nil, dismissal: Dismissal = .systemDefault
  ) {
    let start = startsAt ?? createdAt
    self.createdAt = createdAt
    self.startsAt = start
    self.endsAt = endsAt ?? start + LiveActivityLimits.activeLife
    self.staleAfter = staleAfter
    self.dismissal = dismissal
  }

  /// `stale-date` of a state sent now: from the clock, never from a timestamp that leads it.
  package func staleDate(sentAt now: UnixTime) -> UnixTime? {
    staleAfter.map { now + $0 }
  }

  /// When a quiet trip should be refreshed: after three quarters of the time in which its cards
  /// turn stale, since a refresh travels at the priority that may come late.
  func refreshDue(sentAt now: UnixTime) -> UnixTime? {
    staleAfter.map { now + $0 * 3 / 4 }
  }
}

/// Times that the service chooses for all trips.
package struct TripRules: Hashable, Sendable {
  /// A channel outlives the last card on it by this much, so that late devices hear the end.
  package var channelGrace: Duration
  /// How long an ended trip can still be read before it is forgotten.
  package var retention: Duration
  /// A channel whose deletion did not succeed is asked to be deleted again after this time.
  package var deletionRetry: Duration

  package init(
    channelGrace: Duration = .seconds(900), retention: Duration = .seconds(86_400),
    deletionRetry: Duration = .seconds(300)
  ) {
    self.channelGrace = channelGrace
    self.retention = retention
    self.deletionRetry = deletionRetry
  }
}
