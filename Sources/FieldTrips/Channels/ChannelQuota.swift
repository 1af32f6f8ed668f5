/// How near an app is to Apple's limit of channels.
package struct ChannelQuota: Hashable, Sendable {
  package enum Level: String, Hashable, Sendable {
    case ample
    /// Worth a warning: new trips still get channels.
    case scarce
    /// New trips are reached by token.
    case usedUp
  }

  /// Apple's, or a lower one for tests and for apps that share their channels with other services.
  package let limit: Int
  /// Percent of the limit from which on it is scarce.
  package let warningPercent: Int

  package init(
    limit: Int = LiveActivityLimits.channelsPerApp, warningPercent: Int = 80
  ) {
    precondition(limit > 0, "a channel quota is 1 or more, not \(limit)")
    precondition((1...100).contains(warningPercent), "\(warningPercent) % is not 1...100")
    self.limit = limit
    self.warningPercent = warningPercent
  }

  package func level(used: Int) -> Level {
    if used >= limit { return .usedUp }
    return used >= scarceFrom ? .scarce : .ample
  }

  /// So many are scarce.
  package var scarceFrom: Int { (limit * warningPercent + 99) / 100 }

  /// How many more channels may be asked for.
  package func left(used: Int) -> Int { max(0, limit - used) }
}
