/// What is noted of one device of a notification.
package enum DeviceMark: Hashable, Sendable {
  /// It is being sent to, in this attempt. Whoever finds another's mark does not know what came of
  /// it: it is sent once more at most, and the store notes that.
  case sending(attempt: String)
  case accepted
  /// APNs put it off: it is to be tried again.
  case later
  /// Its token is dead.
  case dead
  /// APNs refused the push, not the token.
  case refused

  package var text: String {
    switch self {
    case .sending(let attempt): "s" + attempt
    case .accepted: "a"
    case .later: "w"
    case .dead: "d"
    case .refused: "r"
    }
  }
}

/// How many devices of a notification stand how.
package struct DeviceCounts: Hashable, Sendable {
  package var accepted = 0
  package var dead = 0
  package var refused = 0
  package var waiting = 0
  /// Sent to once, and the answer is not known: they may show it.
  package var unconfirmedOnce = 0
  /// Sent to twice, and neither answer is known.
  package var unconfirmedTwice = 0

  package init() {}

  package var unconfirmed: Int { unconfirmedOnce + unconfirmedTwice }
  package var reached: Int { accepted + unconfirmed }
}
