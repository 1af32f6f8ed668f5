package import Clocks
package import FieldTrips
internal import Redis

/// One entry of a partition's log, as its owner reads it.
package struct LogEntry: Sendable, Equatable {
  /// What happened; the raw value is its name in the log.
  package enum Kind: String, Sendable, CaseIterable {
    /// Triggers: each ID enters the log once.
    case note, state, phase, end
    /// News from other nodes, which tell an owner to look again at what the store holds.
    /// The trip was created; it has a first content-state to publish.
    case created
    /// The trip's life was changed by someone else than its owner, such as by a new channel.
    case life
    /// A member joined, left, or got another token; ``LogEntry/id`` names it.
    case member
    /// A notification was stored; ``LogEntry/id`` says when it is due, in milliseconds since 1970.
    /// Its trip may be none: what places the notification.
    case push

    package var isTrigger: Bool {
      switch self {
      case .note, .state, .phase, .end: true
      case .created, .life, .member, .push: false
      }
    }
  }

  package let logID: LogID
  package let trip: TripID
  package let kind: Kind
  /// The trigger's ID, the member's, or nothing.
  package let id: String
  /// The trigger as JSON; empty for news.
  package let body: [UInt8]
  /// When the service took it in.
  package let acceptedAt: UnixTime
  /// The trigger that `body` says, where it is known already: at the node that appended it.
  package let trigger: Trigger?

  package init(
    logID: LogID, trip: TripID, kind: Kind, id: String, body: [UInt8], acceptedAt: UnixTime,
    trigger: Trigger? = nil
  ) {
    self.logID = logID
    self.trip = trip
    self.kind = kind
    self.id = id
    self.body = body
    self.acceptedAt = acceptedAt
    self.trigger = trigger
  }
}

/// What a reader found in the log.
package enum LogItem: Sendable, Equatable {
  case entry(LogEntry)
  /// Something that this program did not write. It must be passed by, or the partition stands
  /// still; the text says what is wrong with it.
  case unreadable(LogID, String)

  package var logID: LogID {
    switch self {
    case .entry(let entry): entry.logID
    case .unreadable(let id, _): id
    }
  }
}

extension LogItem {
  init(_ entry: StreamEntry) {
    let logID = LogID(entry.id)
    guard let trip = entry.text("t").flatMap({ try? TripID($0) }) else {
      self = .unreadable(logID, "The entry has no valid trip ID.")
      return
    }
    guard let kind = entry.text("k").flatMap(LogEntry.Kind.init) else {
      self = .unreadable(logID, "The entry has no valid kind.")
      return
    }
    guard let acceptedAt = entry["a"].flatMap(RESPValue.integer) else {
      self = .unreadable(logID, "The entry has no valid time.")
      return
    }
    self = .entry(
      LogEntry(
        logID: logID, trip: trip, kind: kind, id: entry.text("i") ?? "", body: entry["b"] ?? [],
        acceptedAt: UnixTime(milliseconds: acceptedAt)))
  }
}
