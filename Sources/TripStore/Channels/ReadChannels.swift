package import Clocks
package import FieldTrips
internal import Redis

/// How many channels of an app there are, without reading them.
package struct ChannelUsage: Hashable, Sendable {
  /// All that the books have: trips', warm, and to be deleted.
  package var recorded = 0
  package var warm: [StoragePolicy: Int] = [:]
  package var awaitingDeletion = 0
  /// Asked for at APNs, with no answer yet or never one.
  package var intended = 0
  /// At APNs and in nobody's books when its list was last read: another service's, or lost ones.
  package var foreign = 0

  /// What counts against Apple's limit, as far as we know.
  package var used: Int { recorded + intended + foreign }
}

extension TripStore {
  /// All channels of an app that are in the books; at most what Apple's limit allows.
  ///
  /// To reconcile, ask APNs for its list first, then for ``channelIntents(of:)``, then for this, so
  /// that no channel is missed that was created in between.
  package func channels(of app: AppID) async throws(StoreError) -> [ChannelRecord] {
    let reply = try await call(RedisCommand("HGETALL", AppKeys(app).channels))
    return try reading { () throws(RedisError) in
      let values = try reply.arrayValue()
      var records: [ChannelRecord] = []
      records.reserveCapacity(values.count / 2)
      for index in stride(from: 0, to: values.count - 1, by: 2) {
        records.append(try .read(try ChannelID.read(values[index]), values[index + 1]))
      }
      return records
    }
  }

  /// Creations whose outcome is not known: under way, or of a node that died.
  package func channelIntents(of app: AppID) async throws(StoreError) -> [ChannelIntent] {
    let reply = try await call(RedisCommand("HGETALL", AppKeys(app).creations))
    return try reading { () throws(RedisError) in
      var intents: [ChannelIntent] = []
      for (name, value) in try reply.fieldsValue() {
        intents.append(try ChannelIntent.read(name, .bulk(value)))
      }
      return intents
    }
  }

  package func channelUsage(of app: AppID) async throws(StoreError) -> ChannelUsage {
    let keys = AppKeys(app)
    var batch = RedisBatch()
    batch.append("HLEN", keys.channels, isRepeatable: true)
    batch.append("HLEN", keys.creations, isRepeatable: true)
    batch.append("SCARD", keys.foreign, isRepeatable: true)
    batch.append("ZCARD", keys.deletions, isRepeatable: true)
    for key in keys.warm { batch.append("ZCARD", key, isRepeatable: true) }
    let counts = await callAll(batch) { (_, reply) throws(RedisError) in try reply.intValue() }
    return ChannelUsage(
      recorded: try counts[0].get(),
      warm: [.noStorage: try counts[4].get(), .mostRecent: try counts[5].get()],
      awaitingDeletion: try counts[3].get(), intended: try counts[1].get(),
      foreign: try counts[2].get())
  }

  /// When the next of an app's channels is deleted that no trip looks after; nil if none is to be.
  package func nextDeletion(of app: AppID) async throws(StoreError) -> UnixTime? {
    let reply = try await call(
      RedisCommand("ZRANGE", AppKeys(app).deletions, 0, 0, "WITHSCORES"))
    return try reading { () throws(RedisError) in
      guard let score = try reply.arrayValue().last else { return nil }
      return try score.stringValue().split(separator: ".").first.flatMap { Int64($0) }
        .map { UnixTime(milliseconds: $0) }
    }
  }

  /// Remembers which of the channels that APNs lists are not ours, in place of what was remembered.
  package func setForeignChannels(
    _ channels: Set<ChannelID>, of app: AppID
  ) async throws(StoreError) {
    _ = try await call(
      RedisCommand(
        Self.setForeignScript, keys: [AppKeys(app).foreign],
        arguments: Spread(channels.map(\.text))))
  }

  static let setForeignScript = RedisScript(
    name: "setForeign",
    source: #"""
      #!lua
      -- Replaces the set of channels that other services made.
      -- KEYS 1 foreign
      -- ARGV the channels
      redis.call('DEL', KEYS[1])
      for i = 1, #ARGV do redis.call('SADD', KEYS[1], ARGV[i]) end
      return #ARGV
      """#,
    isSafeToRepeat: true)
}
