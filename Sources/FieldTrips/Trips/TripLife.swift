package import Clocks

/// Where a trip stands.
package enum TripPhase: Hashable, Sendable {
  /// Starts later; triggers already count. Left by its start or by an early end.
  case scheduled
  /// Cards are shown and updated. Left when the end is asked for or due.
  case live
  /// The end is asked for: nothing but the end event may be published. Left when that is accepted,
  /// or when every card has died anyway.
  case ending(since: UnixTime)
  /// Final.
  case ended(at: UnixTime)

  /// `scheduled`, `live`, `ending` or `ended`, as REST and the store write it.
  package var name: String {
    switch self {
    case .scheduled: "scheduled"
    case .live: "live"
    case .ending: "ending"
    case .ended: "ended"
    }
  }
}

/// How far a trip is with its broadcast channel.
package enum TripChannel: Hashable, Sendable {
  /// Asked for: from the warm pool or from APNs.
  case opening
  case open(ChannelID)
  /// No longer needed; to be deleted at APNs at this time.
  case deletionDue(ChannelID, at: UnixTime)
  /// Deleted, or lost at APNs after the trip's end.
  case gone
  /// The app's channels are used up: this trip's members are reached by token.
  case unavailable

  /// As REST writes it.
  package var name: String {
    switch self {
    case .opening: "opening"
    case .open: "open"
    case .deletionDue: "deletionDue"
    case .gone: "deleted"
    case .unavailable: "unavailable"
    }
  }

  /// The channel on which phones listen now.
  package var openID: ChannelID? {
    if case .open(let channel) = self { channel } else { nil }
  }
}

/// What is to happen to a trip at a time; the raw value is its name in the store.
package enum DueKind: String, Hashable, Sendable, CaseIterable {
  case start
  case end
  case staleRefresh = "stale"
  /// Some members' cards are to be started, or followed by new ones.
  case cards
  case channelDeletion = "channel"
  case forget
}

/// The life of a trip as a value: events and the time go in, what must be done comes out.
///
/// ```
///              startDue            endRequested, endDue         endAccepted
///  scheduled ───────────▶ live ───────────────────────▶ ending ────────────▶ ended
///      └──────── endRequested ────────────────────────────▲
/// ```
/// Every event may come twice or late, as timers and answers do; one that no longer fits has no
/// effect. The rule "nothing after the end" is ``mayPublishUpdate`` together with the phases never
/// going back.
package struct TripLife: Hashable, Sendable {
  package internal(set) var phase: TripPhase
  package internal(set) var channel: TripChannel
  package internal(set) var times: TripTimes

  /// A new trip; ask ``created(at:)`` what follows.
  package init(times: TripTimes) {
    phase = .scheduled
    channel = .opening
    self.times = times
  }

  /// A trip as the store kept it; ask ``resumed(at:rules:)`` what follows.
  package init(phase: TripPhase, channel: TripChannel, times: TripTimes) {
    self.phase = phase
    self.channel = channel
    self.times = times
  }

  /// Whether an update may be sent to the trip's cards.
  package var mayPublishUpdate: Bool { phase == .live }

  /// Whether the end event, and only it, is to be sent.
  package var mayPublishEnd: Bool {
    if case .ending = phase { true } else { false }
  }

  /// Whether triggers still change the content-state.
  package var acceptsTriggers: Bool {
    switch phase {
    case .scheduled, .live: true
    case .ending, .ended: false
    }
  }

  /// Whether someone may still join.
  package var acceptsMembers: Bool { acceptsTriggers }
}
