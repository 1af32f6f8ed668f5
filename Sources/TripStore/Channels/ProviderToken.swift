package import Clocks
internal import Redis

/// A provider token that all nodes of a team and key share, since APNs wants few of them.
///
/// A secret: ``description`` does not show it.
package struct SharedProviderToken: Hashable, Sendable, CustomStringConvertible {
  package let jwt: String
  package let mintedAt: UnixTime

  package init(jwt: String, mintedAt: UnixTime) {
    self.jwt = jwt
    self.mintedAt = mintedAt.inMilliseconds
  }

  package var description: String { "provider token of \(mintedAt.wholeSeconds)" }
}

extension TripStore {
  /// Agrees on a provider token: the one in the store if that is recent enough, else `candidate`.
  ///
  /// Nodes that mint one at the same time so end up with one of them.
  ///
  /// - Parameters:
  ///   - teamID, keyID: ten letters and digits each.
  ///   - usableSince: a token that was minted before is replaced.
  /// - Returns: the token to use.
  package func shareProviderToken(
    teamID: String, keyID: String, candidate: SharedProviderToken, usableSince: UnixTime
  ) async throws(StoreError) -> SharedProviderToken {
    let reply = try await call(
      RedisCommand(
        Self.shareTokenScript, keys: [Self.tokenKey(teamID, keyID)],
        arguments: candidate.jwt, candidate.mintedAt.milliseconds, usableSince.milliseconds))
    return try reading { () throws(RedisError) in try Self.token(reply) }
  }

  /// The token that was agreed on, of whatever age; nil when there is none.
  package func providerToken(
    teamID: String, keyID: String
  ) async throws(StoreError) -> SharedProviderToken? {
    let reply = try await call(
      RedisCommand("HMGET", Self.tokenKey(teamID, keyID), "jwt", "minted"))
    return try reading { () throws(RedisError) in
      try reply.arrayValue().contains(.null) ? nil : try Self.token(reply)
    }
  }

  private static func token(_ reply: RESPValue) throws(RedisError) -> SharedProviderToken {
    let values = try reply.arrayValue()
    guard values.count == 2 else { throw reply.unexpected("a provider token") }
    return SharedProviderToken(
      jwt: try values[0].stringValue(),
      mintedAt: UnixTime(milliseconds: try values[1].integerValue()))
  }

  private static func tokenKey(_ teamID: String, _ keyID: String) -> String {
    "fc:{key:\(teamID):\(keyID)}:token"
  }

  static let shareTokenScript = RedisScript(
    name: "shareToken",
    source: #"""
      #!lua flags=allow-oom
      -- Keeps the present provider token, or replaces it if it is too old.
      -- KEYS 1 token
      -- ARGV 1 candidate, 2 when it was minted (ms), 3 oldest time of minting that is kept (ms)
      -- Answers {token, when it was minted}
      local present = redis.call('HMGET', KEYS[1], 'jwt', 'minted')
      if present[1] and tonumber(present[2]) >= tonumber(ARGV[3]) then return present end
      redis.call('HSET', KEYS[1], 'jwt', ARGV[1], 'minted', ARGV[2])
      -- APNs takes no token that is older than an hour.
      redis.call('PEXPIRE', KEYS[1], 3600000)
      return { ARGV[1], ARGV[2] }
      """#,
    isSafeToRepeat: true)
}
