package import Clocks
package import FieldTrips
internal import Redis

/// What became of the wish to ask APNs for a channel.
package enum IntentOutcome: Sendable, Equatable {
  /// It is recorded: APNs may be asked.
  case recorded
  /// The trip has this channel; ask for none.
  case hasChannel(ChannelID)
  /// APNs would refuse: as many channels are in use as the quota has.
  case quotaUsedUp(used: Int)
}

extension TripStore {
  /// A channel for a trip without asking APNs: the one it has, or the oldest of the warm pool.
  ///
  /// The books say first that the channel is the trip's, then the trip may be told. If the node
  /// dies in between, the same call finds it again.
  ///
  /// - Returns: nil when the pool is empty.
  package func takeChannel(
    for trip: TripID, of app: AppID, storage: StoragePolicy
  ) async throws(StoreError) -> ChannelID? {
    let keys = AppKeys(app)
    let reply = try await call(
      RedisCommand(
        Self.takeChannelScript,
        keys: [keys.assigned, keys.channels, keys.warm[storage.rawValue]],
        arguments: trip.utf8))
    return try reading { () throws(RedisError) in
      reply.isNull ? nil : try ChannelID.read(reply)
    }
  }

  /// Records that a channel is going to be asked for, before it is: if the node dies before the
  /// answer is recorded, the creation is still known, and its channel can be told from others'.
  package func intend(
    _ intent: ChannelIntent, of app: AppID, quota: ChannelQuota = ChannelQuota()
  ) async throws(StoreError) -> IntentOutcome {
    let keys = AppKeys(app)
    let reply = try await call(
      RedisCommand(
        Self.intendScript,
        keys: [keys.creations, keys.channels, keys.foreign, keys.assigned],
        arguments: intent.requestID, intent.text, intent.trip?.text ?? "", quota.limit))
    return try reading { () throws(RedisError) in
      let (code, rest) = try reply.codedAnswer()
      switch code {
      case 1: return .recorded
      case 2: return .hasChannel(try ChannelID.read(rest.value(0)))
      case 0: return .quotaUsedUp(used: try rest.value(0).intValue())
      default: throw reply.unexpected("what became of a creation")
      }
    }
  }

  /// Records the channel that APNs created.
  ///
  /// - Returns: what it is for. A trip's, unless that got another one meanwhile; then it is warm,
  ///   since nobody has subscribed to it yet.
  package func channelCreated(
    _ channel: ChannelID, for intent: ChannelIntent, of app: AppID, at now: UnixTime
  ) async throws(StoreError) -> ChannelRecord {
    let keys = AppKeys(app)
    func record(_ use: KnownChannel.Use) -> String {
      let known = KnownChannel(channel, use, createdAt: now)
      return ChannelRecord(channel: known, storage: intent.storage).text
    }
    let reply = try await call(
      RedisCommand(
        Self.channelCreatedScript,
        keys: [
          keys.creations, keys.channels, keys.assigned, keys.warm[intent.storage.rawValue],
          keys.foreign,
        ],
        arguments: intent.requestID, channel.text, intent.trip?.text ?? "",
        intent.trip.map { record(.trip($0)) } ?? "", record(.warm), now.milliseconds))
    return try reading { () throws(RedisError) in try ChannelRecord.read(channel, reply) }
  }

  /// Forgets an intent of which APNs certainly made nothing: it refused, the request never left, or
  /// a reconciliation found no channel.
  package func creationRefused(
    _ requestID: String, of app: AppID
  ) async throws(StoreError) {
    _ = try await call(RedisCommand("HDEL", AppKeys(app).creations, requestID).repeatable())
  }

  static let takeChannelScript = RedisScript(
    name: "takeChannel",
    source: #"""
      #!lua
      -- Finds a trip's channel, or gives it the oldest of the warm pool.
      -- KEYS 1 assigned, 2 channels, 3 the warm pool of the storage policy
      -- ARGV 1 trip ID
      -- Answers a channel ID or nothing
      local channel = redis.call('HGET', KEYS[1], ARGV[1])
      if channel then return channel end
      channel = redis.call('ZPOPMIN', KEYS[3])[1]
      if not channel then return false end
      local record = redis.call('HGET', KEYS[2], channel)
      redis.call('HSET', KEYS[1], ARGV[1], channel)
      redis.call('HSET', KEYS[2], channel,
        'trip ' .. ARGV[1] .. ' ' .. string.match(record, '(%d+ %d+)$'))
      return channel
      """#,
    isSafeToRepeat: true)

  static let intendScript = RedisScript(
    name: "intendChannel",
    source: #"""
      #!lua
      -- Records that a channel is going to be created.
      -- KEYS 1 creations, 2 channels, 3 foreign, 4 assigned
      -- ARGV 1 request, 2 its record, 3 trip ID or '', 4 channels that the app may have
      -- Answers {1} recorded, {2, channel}: the trip has one, {0, channels}: there are too many
      if ARGV[3] ~= '' then
        local channel = redis.call('HGET', KEYS[4], ARGV[3])
        if channel then return { 2, channel } end
      end
      local known = redis.call('HEXISTS', KEYS[1], ARGV[1]) == 1
      local used = redis.call('HLEN', KEYS[1]) + redis.call('HLEN', KEYS[2])
        + redis.call('SCARD', KEYS[3])
      if not known and used >= tonumber(ARGV[4]) then return { 0, used } end
      redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
      return { 1 }
      """#,
    isSafeToRepeat: true)

  static let channelCreatedScript = RedisScript(
    name: "channelCreated",
    source: #"""
      #!lua flags=allow-oom
      -- Records a channel that was created.
      -- KEYS 1 creations, 2 channels, 3 assigned, 4 the warm pool of its storage policy, 5 foreign
      -- ARGV 1 request, 2 channel, 3 trip ID or '', 4 record for that, 5 record as a warm one,
      --      6 time of creation (ms)
      -- Answers the channel's record
      redis.call('HDEL', KEYS[1], ARGV[1])
      redis.call('SREM', KEYS[5], ARGV[2])
      local record = redis.call('HGET', KEYS[2], ARGV[2])
      if record then return record end
      local trip = ARGV[3]
      if trip ~= '' and redis.call('HSETNX', KEYS[3], trip, ARGV[2]) == 1 then
        redis.call('HSET', KEYS[2], ARGV[2], ARGV[4])
        return ARGV[4]
      end
      redis.call('HSET', KEYS[2], ARGV[2], ARGV[5])
      redis.call('ZADD', KEYS[4], ARGV[6], ARGV[2])
      return ARGV[5]
      """#,
    isSafeToRepeat: true)
}
