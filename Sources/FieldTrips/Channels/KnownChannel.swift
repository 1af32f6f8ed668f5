package import Clocks

/// A channel of an app that is in our books.
package struct KnownChannel: Hashable, Sendable {
  /// One of these holds for every channel that is ours, so that none leaks.
  package enum Use: Hashable, Sendable {
    /// Made ahead, so that creating a trip needs no answer from APNs.
    case warm
    /// A trip's; never another's afterwards, since phones of the old group may still listen.
    case trip(TripID)
    case deletion
  }

  package let id: ChannelID
  package let use: Use
  package let createdAt: UnixTime

  package init(_ id: ChannelID, _ use: Use, createdAt: UnixTime) {
    self.id = id
    self.use = use
    self.createdAt = createdAt
  }
}

/// A creation that APNs was, or was about to be, asked for. It is recorded before and removed by the
/// answer; one that stays tells that a crash or a lost answer may have left a channel that nobody
/// knows.
package struct ChannelIntent: Hashable, Sendable {
  /// `apns-request-id`.
  package let requestID: String
  package let storage: StoragePolicy
  /// Nil for the warm pool.
  package let trip: TripID?
  package let askedAt: UnixTime

  package init(requestID: String, storage: StoragePolicy, trip: TripID?, askedAt: UnixTime) {
    self.requestID = requestID
    self.storage = storage
    self.trip = trip
    self.askedAt = askedAt
  }
}
