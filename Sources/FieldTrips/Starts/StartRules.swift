package import Clocks

/// How often cards may be started from here.
///
/// A phone has a budget of its own for remote starts, about ten before it silently ignores more, and
/// APNs answers 200 all the same. So we count ourselves and stay below.
package struct StartRules: Hashable, Sendable {
  /// Starts of one device in a day, over all trips. Apple names no number; developers saw ten.
  package var perDay: Int
  /// Starts of one device in an hour.
  package var perHour: Int
  /// A card that was started for a token reports it within this time; else the member is shown as not
  /// confirmed.
  package var confirmation: Duration
  /// Between two starts of one member on one trip.
  package var pause: Duration
  /// Starts of one member on one trip without a confirmation; then no more.
  package var attempts: Int
  /// Before the system ends a card, a new one is started if the trip goes on.
  package var renewalLead: Duration

  package init(
    perDay: Int = 8, perHour: Int = 3, confirmation: Duration = .seconds(120),
    pause: Duration = .seconds(1_800), attempts: Int = 3, renewalLead: Duration = .seconds(1_800)
  ) {
    precondition(perDay > 0 && perHour > 0 && attempts > 0, "start limits are 1 or more")
    self.perDay = perDay
    self.perHour = perHour
    self.confirmation = confirmation
    self.pause = pause
    self.attempts = attempts
    self.renewalLead = renewalLead
  }

  /// The age at which a card is followed by a new one.
  package var renewalAge: Duration { LiveActivityLimits.activeLife - renewalLead }
}

/// Whether a card may be started now.
package enum StartVerdict: Hashable, Sendable {
  /// Record the start first, then send it: one that is sent twice makes two cards.
  case start
  /// Not before this time.
  case wait(until: UnixTime, StartObstacle)
  case never(StartObstacle)
}

/// Why a card is not started, as members' status shows it.
package enum StartObstacle: String, Hashable, Sendable {
  /// A card runs already.
  case hasCard
  /// The person swiped the trip's card away, or it went before its time and no app said why.
  case dismissed
  /// A start was sent, and its card has not reported: it may be there all the same.
  case unconfirmed
  /// A start was sent a short while ago, and its card is over.
  case pausing
  /// Several starts were never confirmed: the device does not show them.
  case givenUp
  /// The device's budget of starts is spent.
  case budgetSpent
  /// The device is registered for another member of the trip as well, and shows that one's card.
  case sharedDevice
}
