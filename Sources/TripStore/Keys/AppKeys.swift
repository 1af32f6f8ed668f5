internal import FieldTrips

/// The names of an app's keys, which share a hash tag of their own.
struct AppKeys: Sendable {
  /// Hash: channel ID to what it is for.
  let channels: String
  /// Hash: trip to its channel ID.
  let assigned: String
  /// Hash: creation request to what it was for; an entry stays until its outcome is known.
  let creations: String
  /// Sorted sets by time of creation, one a storage policy: channels that wait for a trip.
  let warm: [String]
  /// Sorted set by unix milliseconds: channels to be deleted that no trip looks after.
  let deletions: String
  /// Set: channels that APNs lists and that are in nobody's books.
  let foreign: String
  /// Hash: the request rate that the app's nodes share.
  let rate: String

  init(_ app: AppID) {
    let tag = "fc:{\(app)}:"
    channels = tag + "channels"
    assigned = tag + "assigned"
    creations = tag + "creations"
    warm = [tag + "warm:0", tag + "warm:1"]
    deletions = tag + "deletions"
    foreign = tag + "foreign"
    rate = tag + "rate"
  }
}
