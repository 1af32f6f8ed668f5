internal import FieldTrips

/// The names of a partition's keys. All share its hash tag, so that one script may touch them
/// together in a cluster.
struct PartitionKeys: Sendable {
  /// Stream: triggers and news in order; trimmed behind the cursor.
  let log: String
  /// String: the last log ID whose effect is committed.
  let cursor: String
  /// String: the fencing counter.
  let epoch: String
  /// String with expiry: the node that owns the partition.
  let lease: String
  /// Sorted set, all scores 0: the partition's trips, so that they can be read in pages.
  let trips: String
  /// Set: trips of which APNs has yet to accept something.
  let unpublished: String
  /// Sorted set: what is to happen, by unix milliseconds.
  let due: String
  /// Channel: rung when something came into the log; see ``TripStore/ring(_:)``.
  let bell: String
  /// Hash: person to record; callers' own names are fields here, and never hash tags.
  let people: String
  private let tripPrefix: String
  private let activityPrefix: String
  private let notificationPrefix: String

  init(_ partition: Partition) {
    let tag = "fc:{\(partition)}:"
    log = tag + "log"
    cursor = tag + "cursor"
    epoch = tag + "epoch"
    lease = tag + "lease"
    trips = tag + "trips"
    unpublished = tag + "unpublished"
    due = tag + "due"
    bell = tag + "bell"
    people = tag + "people"
    tripPrefix = tag + "trip:"
    activityPrefix = tag + "activity:"
    notificationPrefix = tag + "notification:"
  }

  /// Hash: the trip itself.
  func trip(_ id: TripID) -> String { tripPrefix + id.text }
  /// Hash: member to record.
  func members(_ id: TripID) -> String { tripPrefix + id.text + ":members" }
  /// Set: members who are reached one by one.
  func tokens(_ id: TripID) -> String { tripPrefix + id.text + ":tokens" }
  /// Set with expiry: trigger IDs that the log has taken in.
  func seen(_ id: TripID) -> String { tripPrefix + id.text + ":seen" }
  /// Capped stream: what was decided about the trip, for people who look for a reason.
  func timeline(_ id: TripID) -> String { tripPrefix + id.text + ":timeline" }
  /// String with expiry: whose card a phone's own ID names, and of which trip.
  func activity(_ id: String) -> String { activityPrefix + id }
  /// Hash: a notification.
  func notification(_ id: NotificationID) -> String { notificationPrefix + id.text }
  /// Hash: device to what is noted of it.
  func notifiedDevices(_ id: NotificationID) -> String { notificationPrefix + id.text + ":devices" }
  /// Set: names of a trip's or member's notifications that are not over.
  func openNotifications(_ home: TripID) -> String { notificationPrefix + home.text + ":open" }
}
