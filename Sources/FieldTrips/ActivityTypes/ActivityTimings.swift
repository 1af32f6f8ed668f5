/// How the cards of an activity type age.
package struct ActivityTimings: Sendable, Equatable {
  /// A card that heard nothing for so long says that it is stale; nil never does. 1 minute to the
  /// active life.
  package var staleAfter: Duration?
  package var dismissal: Dismissal
  /// How long a card is active: at most Apple's eight hours. A trip without an end has this one.
  package var activeLife: Duration
  /// How far a trip's end may lie behind its start; beyond the active life, cards die before the
  /// trip ends and have to be started again.
  package var longestTrip: Duration
  /// How far ahead a trip may be scheduled.
  package var longestWait: Duration
  /// How long after a final phase the trip ends by itself.
  package var endsAfterFinalPhase: Duration

  package init(
    staleAfter: Duration? = .seconds(900), dismissal: Dismissal = .systemDefault,
    activeLife: Duration = LiveActivityLimits.activeLife,
    longestTrip: Duration = .seconds(72 * 3_600), longestWait: Duration = .seconds(30 * 86_400),
    endsAfterFinalPhase: Duration = .seconds(300)
  ) {
    self.staleAfter = staleAfter
    self.dismissal = dismissal
    self.activeLife = activeLife
    self.longestTrip = longestTrip
    self.longestWait = longestWait
    self.endsAfterFinalPhase = endsAfterFinalPhase
  }
}
