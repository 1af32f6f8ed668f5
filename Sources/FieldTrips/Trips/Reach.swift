/// How one device can be reached for one trip.
package enum Reach: String, Hashable, Sendable, CaseIterable {
  /// Updates and the end come by broadcast.
  case channel
  /// Updates and the end go to the card's own token.
  case updateToken
  /// No card yet, or one whose token has not come; a card can be started from here.
  case startToken
  /// No card can be reached; an alert, if the person allows those.
  case none
}

/// How a card is started from here.
package enum RemoteStart: Hashable, Sendable {
  /// `input-push-channel`: the new card listens to the trip's channel.
  case onChannel(ChannelID)
  /// `input-push-token`: the new card asks for a token of its own.
  case withToken
  /// Neither key, which a system before iOS 18 does not understand: it would not start the card.
  case plain
}

/// What is known of one device on a trip.
package struct DeviceReach: Hashable, Sendable {
  /// Nil when the app did not say; then only its tokens tell what it can do.
  package var osVersion: OSVersion?
  package var hasUpdateToken: Bool
  package var hasPushToStartToken: Bool
  /// It dismissed its card of this trip: none is started again.
  package var hasDismissed: Bool

  package init(
    osVersion: OSVersion?, hasUpdateToken: Bool = false, hasPushToStartToken: Bool = false,
    hasDismissed: Bool = false
  ) {
    self.osVersion = osVersion
    self.hasUpdateToken = hasUpdateToken
    self.hasPushToStartToken = hasPushToStartToken
    self.hasDismissed = hasDismissed
  }

  /// Whether the system has broadcast channels.
  package var understandsChannels: Bool { osVersion.map { $0 >= .channels } ?? false }

  /// How the trip's updates reach this device.
  ///
  /// A card has one push type for its life: one that registered an update token does not listen to
  /// the channel. Otherwise a device that understands channels got the channel with its join.
  package func reach(channelIsOpen: Bool) -> Reach {
    if let osVersion, osVersion < .liveActivities { return .none }
    if hasUpdateToken { return .updateToken }
    if understandsChannels, channelIsOpen { return .channel }
    return mayStartRemotely ? .startToken : .none
  }

  /// How to start a card on this device, or nil if that cannot or must not be done from here.
  package func remoteStart(channel: ChannelID?) -> RemoteStart? {
    guard mayStartRemotely, !hasUpdateToken, !hasDismissed else { return nil }
    guard understandsChannels else { return .plain }
    return channel.map(RemoteStart.onChannel) ?? .withToken
  }

  private var mayStartRemotely: Bool {
    hasPushToStartToken && (osVersion.map { $0 >= .pushToStart } ?? true)
  }
}
