package import Clocks

// What people see.
extension SimulatedAPNs {
  /// The cards of one phone. A phone of a crowd has one.
  package mutating func cards(of phone: Int, now: UnixTime) throws(PhoneError) -> [CardView] {
    advance(to: now)
    let rules = configuration.phones
    if let single = phones[phone] {
      return single.activities.map {
        CardView(
          phone: phone, activityID: $0.activityID, channelID: $0.channelID, $0.card, at: now,
          rules)
      }
    }
    let (crowd, channel) = try crowd(of: phone)
    let member = crowd.member(phone, at: now, inFlight: channel.inFlight, deliveryContext)
    return [
      CardView(
        phone: phone, activityID: nil, channelID: channel.channelID, member.activity, at: now,
        rules)
    ]
  }

  /// What happened on one phone, oldest first.
  ///
  /// Of a phone in a crowd, as far as the channel's broadcasts are still kept.
  package mutating func history(of phone: Int, now: UnixTime) throws(PhoneError) -> [PhoneEvent] {
    advance(to: now)
    if let single = phones[phone] { return single.history }
    let (crowd, channel) = try crowd(of: phone)
    var events: [PhoneEvent] = []
    let fresh = crowd.asStarted()
    _ = fresh.member(phone, at: now, inFlight: channel.ledger.recent, deliveryContext) {
      push, at, outcome in
      events.append(PhoneEvent(at: at, push: push.number, outcome: outcome))
    }
    return events
  }

  /// How far all phones of a channel are. Costs one look at each phone that differs.
  package mutating func convergence(
    _ bundleID: String, _ channelID: String, now: UnixTime
  ) throws(PhoneError) -> ConvergenceSummary {
    advance(to: now)
    let context = deliveryContext
    apps[bundleID]?.channels[channelID]?.fold(until: now, context)
    guard let channel = channel(bundleID, channelID) else { throw .unknownChannel(channelID) }
    let newest = channel.ledger.newestState
    var summary = ConvergenceSummary()
    summary.newestTimestampSeconds = newest?.payload.timestampSeconds
    summary.newestContentState = newest?.payload.contentState?.text
    let rules = configuration.phones
    func count(_ activity: LiveActivity, _ phones: Int) {
      summary.phones += phones
      summary.byShownTimestamp[activity.shownTimestampSeconds ?? 0, default: 0] += phones
      summary.byPhase[activity.phase(at: now, rules), default: 0] += phones
      let isNewest = newest == nil || activity.contentState == newest?.payload.contentState
      if isNewest { summary.showingNewest += phones }
    }
    for crowd in channel.crowds {
      crowd.forEachMember(at: now, inFlight: channel.inFlight, context) {
        count($0.activity, $1)
      }
    }
    for reference in channel.subscribers {
      guard let phone = phones[reference.phone], let index = phone.index(of: reference.activityID)
      else { continue }
      count(phone.activities[index].card, 1)
    }
    return summary
  }

  private func crowd(of phone: Int) throws(PhoneError) -> (PhoneCrowd, Channel) {
    guard let entry = crowds.entry(of: phone),
      let channel = channel(entry.bundleID, entry.channelID),
      let crowd = channel.crowd(of: phone)
    else { throw .unknownPhone(phone) }
    return (crowd, channel)
  }
}
