internal import Clocks

/// What APNs remembers of one connection between its requests.
package struct ConnectionMemory: Sendable {
  /// The last accepted token of a key.
  struct AcceptedToken: Sendable {
    var text: String
    var issuedAtSeconds: Int64
    /// When it replaced another one on this connection; nil for the first.
    var changedAt: UnixTime?
  }

  /// By key ID: related keys may be used side by side, each with its own token.
  var tokens: [String: AcceptedToken] = [:]
  /// The key of the first accepted request: it binds the connection to a team and an environment.
  var firstKey: RegisteredKey?
  /// Of the client's certificate; with one, provider tokens are not looked at.
  let certificateUserID: String?
  var refusalsInARow = 0
  /// What the last SETTINGS frame announced.
  package var maxConcurrentStreams: Int
  package var isGoingAway = false
  package var requests = 0

  package init(_ settings: ConnectionSettings, certificateUserID: String? = nil) {
    self.certificateUserID = certificateUserID
    maxConcurrentStreams =
      certificateUserID == nil ? settings.streamsBeforeToken : settings.streamsAfterToken
  }
}

extension ConnectionMemory {
  /// Counts an answer and says what the connection has to suffer for it.
  mutating func note(
    _ reason: Reason?, _ settings: ConnectionSettings
  ) -> [ConnectionEffect] {
    requests += 1
    if let reason, reason.countsAgainstConnection {
      refusalsInARow += 1
    } else if reason == nil {
      refusalsInARow = 0
    }
    var effects: [ConnectionEffect] = []
    let limit = streams(settings)
    if limit != maxConcurrentStreams {
      maxConcurrentStreams = limit
      effects.append(.setMaxConcurrentStreams(limit))
    }
    if let reason, let most = settings.disconnectAfterRefusals, refusalsInARow >= most,
      !isGoingAway
    {
      isGoingAway = true
      effects.append(.goAway(reason))
    }
    return effects
  }

  private func streams(_ settings: ConnectionSettings) -> Int {
    guard firstKey != nil || certificateUserID != nil else { return settings.streamsBeforeToken }
    if let slow = settings.slowDownAfterRefusals, refusalsInARow >= slow {
      return settings.streamsBeforeToken
    }
    // A slowed connection is given its streams back by an accepted request only, which is also
    // what brings the count of refusals back to zero.
    return settings.streamsAfterToken
  }
}
