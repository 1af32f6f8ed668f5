package import Clocks

/// Something that happened to a trip.
package enum TripEvent: Hashable, Sendable {
  case startDue
  case channelOpened(ChannelID)
  /// The app's channel quota is used up.
  case channelUnavailable
  /// APNs no longer knows this channel.
  case channelLost(ChannelID)
  /// APNs accepted an update, by broadcast or for the first token.
  case updateAccepted
  case staleRefreshDue
  /// The caller ends the trip; nil keeps the dismissal that it was created with.
  case endRequested(dismissal: Dismissal?)
  case endDue
  /// The trip is to end by this time, as after a final phase. Never puts the end off.
  case endMoved(to: UnixTime)
  /// APNs accepted the end event; without a channel: every token was tried.
  case endAccepted
  case channelDeletionDue
  /// APNs confirmed, or does not know the channel any more.
  case channelDeleted(ChannelID)
  case forgetDue
}

/// What the driver must do, in this order.
package enum TripAction: Hashable, Sendable {
  /// Take a channel from the warm pool or create one; answer with `channelOpened` or
  /// `channelUnavailable`.
  case openChannel
  /// Remember durably; replaces an earlier time of this kind.
  case schedule(DueKind, at: UnixTime)
  case unschedule(DueKind)
  /// Start cards, by push-to-start, of members who have none; on this channel if there is one.
  case startMembers(on: ChannelID?)
  /// Send the same content-state once more with a later stale date.
  case refresh
  /// Send the end event; answer with `endAccepted`. Without a channel: by token alone.
  case publishEnd(on: ChannelID?)
  /// Ask APNs to delete; answer with `channelDeleted`.
  case deleteChannel(ChannelID)
  /// Delete what the store holds of this trip.
  case forget
}

extension TripLife {
  /// What a trip that was just made needs.
  package mutating func created(at now: UnixTime) -> [TripAction] {
    var actions: [TripAction] = [.openChannel]
    if times.startsAt <= now {
      actions += goLive(at: now)
    } else {
      actions.append(.schedule(.start, at: times.startsAt))
    }
    return actions
  }

  /// What a trip needs whose node died: the same again, which does no harm if it was done.
  package func resumed(at now: UnixTime, rules: TripRules = TripRules()) -> [TripAction] {
    var actions: [TripAction] = []
    switch phase {
    case .scheduled: actions.append(.schedule(.start, at: times.startsAt))
    case .live: actions += liveSchedule(at: now) + startActions
    case .ending(let since): actions += endActions(since: since, rules: rules)
    case .ended: break
    }
    switch channel {
    case .opening where acceptsTriggers: actions.append(.openChannel)
    case .deletionDue(_, let at): actions.append(.schedule(.channelDeletion, at: at))
    case .opening, .gone, .unavailable:
      if case .ended(let at) = phase { actions.append(forgetting(endedAt: at, rules: rules)) }
    case .open: break
    }
    return actions
  }

  /// Takes one event in, and says what follows from it.
  package mutating func handle(
    _ event: TripEvent, at now: UnixTime, rules: TripRules = TripRules()
  ) -> [TripAction] {
    switch event {
    case .startDue: startDue(at: now)
    case .channelOpened(let id): channelOpened(id, at: now, rules: rules)
    case .channelUnavailable: channelUnavailable()
    case .channelLost(let id): channelLost(id, at: now, rules: rules)
    case .updateAccepted: phase == .live ? refreshSchedule(at: now) : []
    case .staleRefreshDue: phase == .live ? [.refresh] + refreshSchedule(at: now) : []
    case .endRequested(let dismissal): end(at: now, dismissal: dismissal, rules: rules)
    case .endDue: endDue(at: now, rules: rules)
    case .endMoved(let end): endMoved(to: end)
    case .endAccepted: endAccepted(at: now, rules: rules)
    case .channelDeletionDue: channelDeletionDue(at: now, rules: rules)
    case .channelDeleted(let id): channelDeleted(id, at: now, rules: rules)
    case .forgetDue: forgetDue()
    }
  }

  private mutating func startDue(at now: UnixTime) -> [TripAction] {
    guard phase == .scheduled else { return [] }
    guard now >= times.startsAt else { return [.schedule(.start, at: times.startsAt)] }
    return goLive(at: now)
  }

  private mutating func goLive(at now: UnixTime) -> [TripAction] {
    phase = .live
    return liveSchedule(at: now) + startActions
  }

  private var startActions: [TripAction] {
    switch channel {
    case .open(let id): [.startMembers(on: id)]
    case .unavailable: [.startMembers(on: nil)]
    case .opening, .deletionDue, .gone: []  // the channel's arrival starts them
    }
  }

  private func liveSchedule(at now: UnixTime) -> [TripAction] {
    [.schedule(.end, at: times.endsAt)] + refreshSchedule(at: now)
  }

  private func refreshSchedule(at now: UnixTime) -> [TripAction] {
    times.refreshDue(sentAt: now).map { [.schedule(.staleRefresh, at: $0)] } ?? []
  }

  private mutating func channelOpened(
    _ id: ChannelID, at now: UnixTime, rules: TripRules
  ) -> [TripAction] {
    switch channel {
    case .open(id), .deletionDue(id, _):
      return []
    case .open, .deletionDue, .gone, .unavailable:
      return [.deleteChannel(id)]  // a second one: nobody has subscribed to it
    case .opening where acceptsTriggers:
      channel = .open(id)
      return phase == .live ? [.startMembers(on: id)] : []
    case .opening:
      channel = .deletionDue(id, at: now)  // it came after the end
      return [.deleteChannel(id), .schedule(.channelDeletion, at: now + rules.deletionRetry)]
    }
  }

  private mutating func channelUnavailable() -> [TripAction] {
    guard channel == .opening else { return [] }
    channel = .unavailable
    return phase == .live ? [.startMembers(on: nil)] : []
  }

  private mutating func channelLost(
    _ id: ChannelID, at now: UnixTime, rules: TripRules
  ) -> [TripAction] {
    switch (channel, phase) {
    case (.open(id), .scheduled), (.open(id), .live):
      channel = .opening
      return [.openChannel]
    case (.open(id), .ending):
      channel = .gone
      return [.publishEnd(on: nil)]
    case (.open(id), .ended), (.deletionDue(id, _), _):
      return channelDeleted(id, at: now, rules: rules)
    default:
      return []  // an earlier channel of this trip
    }
  }

  private mutating func channelDeletionDue(at now: UnixTime, rules: TripRules) -> [TripAction] {
    switch (phase, channel) {
    case (.ending, .open(let id)):
      // The end was never accepted, and by now every card is gone.
      phase = .ended(at: now)
      channel = .deletionDue(id, at: now)
    case (_, .deletionDue(_, let at)):
      guard now >= at else { return [.schedule(.channelDeletion, at: at)] }
    default:
      return []
    }
    guard case .deletionDue(let id, _) = channel else { return [] }
    return [.deleteChannel(id), .schedule(.channelDeletion, at: now + rules.deletionRetry)]
  }

  private mutating func channelDeleted(
    _ id: ChannelID, at now: UnixTime, rules: TripRules
  ) -> [TripAction] {
    guard case .deletionDue(id, _) = channel else { return [] }
    channel = .gone
    guard case .ended(let endedAt) = phase else { return [.unschedule(.channelDeletion)] }
    return [.unschedule(.channelDeletion), forgetting(endedAt: endedAt, rules: rules)]
  }

  private mutating func endDue(at now: UnixTime, rules: TripRules) -> [TripAction] {
    guard acceptsTriggers else { return [] }
    guard now >= times.endsAt else { return [.schedule(.end, at: times.endsAt)] }
    return end(at: now, dismissal: nil, rules: rules)
  }

  private mutating func endMoved(to end: UnixTime) -> [TripAction] {
    guard acceptsTriggers else { return [] }
    guard end < times.endsAt else { return [] }
    times.endsAt = max(end, times.startsAt)
    return phase == .live ? [.schedule(.end, at: times.endsAt)] : []
  }

  private mutating func end(
    at now: UnixTime, dismissal: Dismissal?, rules: TripRules
  ) -> [TripAction] {
    guard acceptsTriggers else { return [] }
    phase = .ending(since: now)
    if let dismissal { times.dismissal = dismissal }
    return [.start, .end, .staleRefresh, .cards].map { .unschedule($0) }
      + endActions(since: now, rules: rules)
  }

  private func endActions(since: UnixTime, rules: TripRules) -> [TripAction] {
    guard let id = channel.openID else { return [.publishEnd(on: nil)] }
    let lastCardGone = since + LiveActivityLimits.longestDismissal + rules.channelGrace
    return [.publishEnd(on: id), .schedule(.channelDeletion, at: lastCardGone)]
  }

  private mutating func endAccepted(at now: UnixTime, rules: TripRules) -> [TripAction] {
    guard case .ending = phase else { return [] }
    phase = .ended(at: now)
    switch channel {
    case .open(let id):
      let deletion = now + times.dismissal.longestSpan + rules.channelGrace
      channel = .deletionDue(id, at: deletion)
      return [.schedule(.channelDeletion, at: deletion)]
    case .opening, .gone, .unavailable:
      return [forgetting(endedAt: now, rules: rules)]
    case .deletionDue:
      return []  // once that is done, the trip is forgotten
    }
  }

  private func forgetting(endedAt: UnixTime, rules: TripRules) -> TripAction {
    .schedule(.forget, at: endedAt + times.dismissal.longestSpan + rules.retention)
  }

  private func forgetDue() -> [TripAction] {
    guard case .ended = phase else { return [] }
    switch channel {
    case .opening, .gone, .unavailable: return [.forget]
    case .open, .deletionDue: return []
    }
  }
}
