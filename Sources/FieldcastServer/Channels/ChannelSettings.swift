package import FieldTrips

/// How an app's channels are kept; the same for all apps, and for all nodes.
package struct ChannelSettings: Sendable {
  /// How many channels are made ahead for each storage policy that a configured activity type has,
  /// so that a new trip need not wait for APNs. 0 makes none ahead.
  package var warm = 0
  /// A channel that waited so long for a trip is deleted and another made: what is seldom used would
  /// otherwise be as old as the service.
  package var warmAge: Duration = .seconds(7 * 86_400)
  package var quota = ChannelQuota()
  /// How often Apple's list is held against the books; nil never does by itself.
  package var reconcileEvery: Duration? = .seconds(600)

  package init() {}
}
