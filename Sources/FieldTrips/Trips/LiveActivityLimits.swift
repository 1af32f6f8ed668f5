/// What Apple's system allows a Live Activity. None of these can be raised by us.
package enum LiveActivityLimits {
  /// The system ends an activity after this time.
  package static let activeLife = Duration.seconds(8 * 3_600)
  /// An ended activity stays on the Lock Screen at most this long.
  package static let longestDismissal = Duration.seconds(4 * 3_600)
  /// After this time an activity is gone, whatever anyone does.
  package static let totalLife = Duration.seconds(12 * 3_600)
  /// `attributes` and `content-state` together, also in updates, also by broadcast.
  package static let stateBytes = 4_096
  /// The whole payload of a push to one device.
  package static let tokenPayloadBytes = 4_096
  /// The whole payload of a broadcast.
  package static let broadcastPayloadBytes = 5_120
  /// Broadcast channels of one app in one environment.
  package static let channelsPerApp = 10_000
}
