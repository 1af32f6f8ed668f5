package import Clocks

/// Whether a channel keeps its last message for phones that are offline. Immutable.
package enum StoragePolicy: Int, Sendable, CaseIterable {
  /// Offline phones miss the message; the publishing budget is higher.
  case noMessageStored = 0
  case mostRecentMessageStored = 1
}

/// One broadcast channel: what APNs knows of it, what was published, and who listens.
package struct Channel: Sendable {
  package let channelID: String
  package let policy: StoragePolicy
  package let createdAt: UnixTime
  package internal(set) var deletedAt: UnixTime?
  package internal(set) var ledger = BroadcastLedger()

  var budget = TokenBucket()
  /// The last message that asked to be stored.
  var stored: ActivityPush?
  /// Accepted broadcasts that may still be on their way to some phone of a crowd, oldest first.
  var inFlight: [ActivityPush] = []
  /// The number of `inFlight` at which crowds are next brought up to date.
  var foldAt = 32
  var crowds: [PhoneCrowd] = []
  /// Single phones with an activity on this channel.
  var subscribers: [ActivityReference] = []

  init(channelID: String, policy: StoragePolicy, createdAt: UnixTime) {
    self.channelID = channelID
    self.policy = policy
    self.createdAt = createdAt
  }

  /// The stored message, if it may still be delivered.
  func storedMessage(at now: UnixTime) -> ActivityPush? {
    guard let stored, case .until(let expiry) = stored.storage, now < expiry else { return nil }
    return stored
  }
}

/// The truth about what a channel was sent, for tests to hold against what the sender believes.
package struct BroadcastLedger: Sendable {
  /// The newest accepted broadcasts, oldest first; earlier ones are only counted.
  package private(set) var recent: [ActivityPush] = []
  package private(set) var accepted = 0
  package private(set) var acceptedByPriority: [Int: Int] = [:]
  package private(set) var throttled = 0
  /// Refused broadcasts, throttled ones among them.
  package internal(set) var refused = 0
  package private(set) var newestTimestampSeconds: Int64?
  /// Whether each accepted timestamp was greater than all before it.
  package private(set) var timestampsStrictlyRise = true
  /// When the first end was accepted.
  package private(set) var endedAt: UnixTime?
  /// Broadcasts accepted after an end.
  package private(set) var acceptedAfterEnd = 0
  /// The most that a timestamp was ahead of APNs' clock, in seconds; negative when always behind.
  package private(set) var greatestLeadSeconds: Double?
  package private(set) var complaints = 0

  /// The accepted broadcast with the greatest timestamp that carried a content-state.
  package private(set) var newestState: ActivityPush?

  package var last: ActivityPush? { recent.last }

  mutating func accept(_ push: ActivityPush, keeping limit: Int) {
    accepted += 1
    acceptedByPriority[push.priority, default: 0] += 1
    complaints += push.payload.complaints.count
    if endedAt != nil { acceptedAfterEnd += 1 }
    if let timestamp = push.payload.timestampSeconds {
      if let newest = newestTimestampSeconds, timestamp <= newest { timestampsStrictlyRise = false }
      newestTimestampSeconds = max(newestTimestampSeconds ?? timestamp, timestamp)
      let lead = Double(timestamp) - push.acceptedAt.seconds
      greatestLeadSeconds = max(greatestLeadSeconds ?? lead, lead)
    } else {
      timestampsStrictlyRise = false
    }
    if push.payload.contentState != nil, push.payload.defect == nil,
      (push.payload.timestampSeconds ?? .min) > (newestState?.payload.timestampSeconds ?? .min)
    {
      newestState = push
    }
    if push.payload.event == .end, endedAt == nil { endedAt = push.acceptedAt }
    recent.append(push)
    // A quarter more than the limit may pile up, so that removing costs little per broadcast.
    if recent.count > limit + limit / 4 { recent.removeFirst(recent.count - limit) }
  }

  mutating func throttle() {
    throttled += 1
    refused += 1
  }
}

/// One activity on one single phone.
struct ActivityReference: Sendable, Hashable {
  var phone: Int
  var activityID: Int
}
