package import Clocks
package import FieldTrips
internal import Redis

/// A channel whose deletion is due, claimed by whoever asks APNs.
package struct DeletionClaim: Sendable, Equatable {
  package let channel: ChannelID
  package let dueAt: UnixTime
}

extension TripStore {
  /// Takes a channel from its trip or from the warm pool, and remembers when to delete it. The
  /// earliest time counts.
  ///
  /// For channels that no trip looks after: a warm one that got too old, a second one, one whose
  /// trip is not there. Also for a trip's own, if the caller wants it deleted apart from the trip's
  /// due items; otherwise that stays the trip's until ``channelDeleted(_:of:)``.
  package func retireChannel(
    _ channel: ChannelID, of app: AppID, deleteAt: UnixTime
  ) async throws(StoreError) {
    let keys = AppKeys(app)
    _ = try await call(
      RedisCommand(
        Self.retireChannelScript,
        keys: [keys.channels, keys.assigned, keys.warm[0], keys.warm[1], keys.deletions],
        arguments: channel.text, deleteAt.milliseconds))
  }

  /// Forgets a channel that APNs deleted or does not know, whatever it was for.
  package func channelDeleted(
    _ channel: ChannelID, of app: AppID
  ) async throws(StoreError) {
    let keys = AppKeys(app)
    _ = try await call(
      RedisCommand(
        Self.channelDeletedScript,
        keys: [
          keys.channels, keys.assigned, keys.warm[0], keys.warm[1], keys.deletions, keys.foreign,
        ],
        arguments: channel.text))
  }

  /// Takes retired channels whose deletion is due. One that is not deleted when the claim runs out
  /// is due again.
  package func claimDeletions(
    of app: AppID, by now: UnixTime, claim: Duration, limit: Int = 100
  ) async throws(StoreError) -> [DeletionClaim] {
    let reply = try await call(
      RedisCommand(
        Self.claimDueScript, keys: [AppKeys(app).deletions],
        arguments: now.milliseconds, (now + claim).milliseconds, limit, ""))
    return try reading { () throws(RedisError) in
      let (_, rest) = try reply.codedAnswer()
      var claims: [DeletionClaim] = []
      for index in stride(from: 0, to: rest.count - 1, by: 2) {
        claims.append(
          DeletionClaim(
            channel: try ChannelID.read(rest.value(index)),
            dueAt: UnixTime(milliseconds: try rest.value(index + 1).integerValue())))
      }
      return claims
    }
  }

  static let retireChannelScript = RedisScript(
    name: "retireChannel",
    source: #"""
      #!lua flags=allow-oom
      -- Gives a channel a time at which it is to be deleted, unless it has an earlier one.
      -- KEYS 1 channels, 2 assigned, 3 and 4 warm pools, 5 deletions
      -- ARGV 1 channel, 2 when (ms)
      -- Answers 1, or 0: no such channel
      local record = redis.call('HGET', KEYS[1], ARGV[1])
      if not record then return 0 end
      local use, trip = string.match(record, '^(%a+) (%S+)')
      if use == 'deletion' then
        redis.call('ZADD', KEYS[5], 'LT', ARGV[2], ARGV[1])
        return 1
      end
      if use == 'trip' and redis.call('HGET', KEYS[2], trip) == ARGV[1] then
        redis.call('HDEL', KEYS[2], trip)
      end
      redis.call('ZREM', KEYS[3], ARGV[1])
      redis.call('ZREM', KEYS[4], ARGV[1])
      redis.call('HSET', KEYS[1], ARGV[1], 'deletion - ' .. string.match(record, '(%d+ %d+)$'))
      redis.call('ZADD', KEYS[5], ARGV[2], ARGV[1])
      return 1
      """#,
    isSafeToRepeat: true)

  static let channelDeletedScript = RedisScript(
    name: "channelDeleted",
    source: #"""
      #!lua flags=allow-oom
      -- Forgets a channel.
      -- KEYS 1 channels, 2 assigned, 3 and 4 warm pools, 5 deletions, 6 foreign
      -- ARGV 1 channel
      -- Answers 1, or 0: no such channel
      local record = redis.call('HGET', KEYS[1], ARGV[1])
      redis.call('SREM', KEYS[6], ARGV[1])
      if not record then return 0 end
      local use, trip = string.match(record, '^(%a+) (%S+)')
      if use == 'trip' and redis.call('HGET', KEYS[2], trip) == ARGV[1] then
        redis.call('HDEL', KEYS[2], trip)
      end
      for i = 3, 5 do redis.call('ZREM', KEYS[i], ARGV[1]) end
      return redis.call('HDEL', KEYS[1], ARGV[1])
      """#,
    isSafeToRepeat: true)
}
