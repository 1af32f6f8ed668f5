package import Clocks
package import FieldTrips
internal import Redis

/// What became of the wish to make a channel ahead.
package enum WarmIntentOutcome: Sendable, Equatable {
  /// It is recorded: APNs may be asked.
  case recorded
  /// The pool is full, or will be once those come that were asked for.
  case poolFull
  /// Channels are so scarce that none should wait for a trip.
  case scarce(used: Int)
}

extension TripStore {
  /// Records that a channel is going to be asked for that no trip waits for yet.
  ///
  /// Creations under way count as warm, so many nodes together fill a pool no fuller than its size.
  /// One whose outcome is not known counts until a reconciliation settles it.
  package func intendWarm(
    _ intent: ChannelIntent, of app: AppID, poolSize: Int, quota: ChannelQuota
  ) async throws(StoreError) -> WarmIntentOutcome {
    let keys = AppKeys(app)
    let reply = try await call(
      RedisCommand(
        Self.intendWarmScript,
        keys: [keys.creations, keys.channels, keys.foreign, keys.warm[intent.storage.rawValue]],
        arguments: intent.requestID, intent.text, "- \(intent.storage.rawValue) ", poolSize,
        quota.scarceFrom))
    return try reading { () throws(RedisError) in
      let (code, rest) = try reply.codedAnswer()
      switch code {
      case 1: return .recorded
      case 2: return .poolFull
      case 0: return .scarce(used: try rest.value(0).intValue())
      default: throw reply.unexpected("what became of a creation")
      }
    }
  }

  /// Takes warm channels that are too old, and the oldest of those that are too many, out of the
  /// pool: they are to be deleted.
  ///
  /// - Returns: how many.
  @discardableResult
  package func retireWarm(
    of app: AppID, storage: StoragePolicy, createdBefore: UnixTime, keeping size: Int,
    at now: UnixTime
  ) async throws(StoreError) -> Int {
    let keys = AppKeys(app)
    let reply = try await call(
      RedisCommand(
        Self.retireWarmScript,
        keys: [keys.warm[storage.rawValue], keys.channels, keys.deletions],
        arguments: createdBefore.milliseconds, size, now.milliseconds))
    return try reading { () throws(RedisError) in try reply.intValue() }
  }

  static let intendWarmScript = RedisScript(
    name: "intendWarm",
    source: #"""
      #!lua
      -- Records that a channel is going to be created ahead of need.
      -- KEYS 1 creations, 2 channels, 3 foreign, 4 the warm pool of its storage policy
      -- ARGV 1 request, 2 its record, 3 what records for the same pool begin with, 4 pool size,
      --      5 how many channels are too many for that
      -- Answers {1} recorded, {2} there are enough, {0, channels}: they are scarce
      if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 1 then return { 1 } end
      local coming = 0
      for _, record in ipairs(redis.call('HVALS', KEYS[1])) do
        if string.sub(record, 1, #ARGV[3]) == ARGV[3] then coming = coming + 1 end
      end
      if redis.call('ZCARD', KEYS[4]) + coming >= tonumber(ARGV[4]) then return { 2 } end
      local used = redis.call('HLEN', KEYS[1]) + redis.call('HLEN', KEYS[2])
        + redis.call('SCARD', KEYS[3])
      if used + 1 >= tonumber(ARGV[5]) then return { 0, used } end
      redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
      return { 1 }
      """#,
    isSafeToRepeat: true)

  static let retireWarmScript = RedisScript(
    name: "retireWarm",
    source: #"""
      #!lua flags=allow-oom
      -- Retires warm channels that are too old or too many, a hundred at most.
      -- KEYS 1 the warm pool, 2 channels, 3 deletions
      -- ARGV 1 made before (ms), 2 how many stay, 3 now (ms)
      -- Answers how many
      local retired = 0
      while retired < 100 do
        local oldest = redis.call('ZRANGE', KEYS[1], 0, 0, 'WITHSCORES')
        local channel, madeAt = oldest[1], tonumber(oldest[2])
        if not channel then break end
        if madeAt >= tonumber(ARGV[1])
          and redis.call('ZCARD', KEYS[1]) <= tonumber(ARGV[2]) then break end
        redis.call('ZREM', KEYS[1], channel)
        local record = redis.call('HGET', KEYS[2], channel)
        redis.call('HSET', KEYS[2], channel, 'deletion - ' .. string.match(record, '(%d+ %d+)$'))
        redis.call('ZADD', KEYS[3], ARGV[3], channel)
        retired = retired + 1
      end
      return retired
      """#,
    isSafeToRepeat: true)
}
