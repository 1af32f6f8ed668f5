/// Which trips' channels have accepted a card.
///
/// The simulator may tell of a card before the service has told us whose channel it is on.
struct FirstCards: Sendable {
  private var known: Set<String> = []
  private var accepted: Set<String> = []
  /// Known channels that have accepted a card.
  private(set) var count = 0

  /// A trip has this channel.
  mutating func know(_ channelID: String) {
    if known.insert(channelID).inserted, accepted.contains(channelID) { count += 1 }
  }

  /// A channel accepted a card.
  mutating func accept(_ channelID: String) {
    if accepted.insert(channelID).inserted, known.contains(channelID) { count += 1 }
  }
}
