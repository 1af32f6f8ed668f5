package import Clocks

/// What the phones of a channel show, card by card.
package struct ShownStates: Sendable, Equatable {
  /// Phones by the content-state on their Lock Screen, as JSON text; dismissed cards are not shown.
  package var phones: [[UInt8]: Int] = [:]
  /// What became of the pushes at the phones of crowds.
  package var outcomes = OutcomeCounts()
}

extension SimulatedAPNs {
  /// The truth about a channel, whatever its sender believes to have been sent.
  package mutating func shownStates(
    _ bundleID: String, _ channelID: String, now: UnixTime
  ) throws(PhoneError) -> ShownStates {
    advance(to: now)
    let context = deliveryContext
    apps[bundleID]?.channels[channelID]?.fold(until: now, context)
    guard let channel = channel(bundleID, channelID) else { throw .unknownChannel(channelID) }
    var shown = ShownStates()
    let rules = configuration.phones
    func count(_ activity: LiveActivity, _ phones: Int) {
      guard activity.phase(at: now, rules) != .dismissed else { return }
      shown.phones[activity.contentState.bytes, default: 0] += phones
    }
    for crowd in channel.crowds {
      crowd.forEachMember(at: now, inFlight: channel.inFlight, context) {
        count($0.activity, $1)
      }
      shown.outcomes.add(crowd.outcomes)
    }
    for reference in channel.subscribers {
      guard let phone = phones[reference.phone], let index = phone.index(of: reference.activityID)
      else { continue }
      count(phone.activities[index].card, 1)
    }
    return shown
  }
}
