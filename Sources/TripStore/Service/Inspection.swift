internal import FieldTrips
internal import Redis

extension TripStore {
  /// What the database holds, without writing anything; nil for one that no service has used.
  package func heldVersion() async throws(StoreError) -> (version: String, partitions: String)? {
    let reply = try await call(
      RedisCommand("HMGET", Self.versionKey, "version", "partitions").repeatable())
    return try reading { () throws(RedisError) in
      let values = try reply.arrayValue()
      guard values.count == 2, !values[0].isNull else { return nil }
      return (try values[0].stringValue(), values[1].isNull ? "" : try values[1].stringValue())
    }
  }

  /// Runs a script that changes nothing, as those do that change something: `EVALSHA` on a key of the
  /// store.
  ///
  /// - Returns: those of the service's commands that its user may not run on its keys or channels,
  ///   such as `XADD fieldcast:notes:in`.
  package func deniedCommands() async throws(StoreError) -> [String] {
    let needs = Self.needs(bell: keys(Partition(number: 0)).bell, isCluster: redis.isCluster)
    let reply = try await call(
      RedisCommand(
        Self.inspectScript, keys: [Self.versionKey],
        arguments: Spread(needs.map { $0.joined(separator: " ") })))
    let denied = try reading { () throws(RedisError) in try reply.stringsValue() }
    return denied.map { $0.split(separator: " ").prefix(2).joined(separator: " ") }
  }

  /// Every command that the service sends or its scripts run, on a key or channel that it is for.
  static func needs(bell: String, isCluster: Bool) -> [[String]] {
    let doors = [
      [isCluster ? "SPUBLISH" : "PUBLISH", bell, "x"],
      [isCluster ? "SSUBSCRIBE" : "SUBSCRIBE", bell], ["SUBSCRIBE", "fieldcast:notes"],
      ["XGROUP", "CREATE", "fieldcast:notes:in", "x", "0"],
      ["XACK", "fieldcast:notes:in", "x", "0"],
      ["XAUTOCLAIM", "fieldcast:notes:in", "x", "x", "0", "0"],
      ["XREADGROUP", "GROUP", "x", "x", "STREAMS", "fieldcast:notes:in", "0"],
      ["XADD", deadLetterKey, "*", "x", "x"],
    ]
    let plain = [
      "DEL", "EXISTS", "GET", "HDEL x", "HEXISTS x", "HGET x", "HGETALL", "HINCRBY x 1", "HLEN",
      "HMGET x", "HSCAN 0", "HSET x x", "HSETNX x x", "HVALS", "PEXPIRE 1", "PTTL", "SADD x",
      "SCARD",
      "SET x", "SISMEMBER x", "SMEMBERS", "SMISMEMBER x", "SRANDMEMBER 1", "SREM x", "SSCAN 0",
      "UNLINK", "XADD * x x", "XDEL 0", "XLEN", "XRANGE 0 1", "XREVRANGE 1 0", "XTRIM MAXLEN 1",
      "ZADD 1 x", "ZCARD", "ZPOPMIN", "ZRANGE 0 1", "ZREM x", "ZREMRANGEBYSCORE 0 1", "ZSCORE x",
    ]
    return doors + [["XREAD", "STREAMS", versionKey, "0"], ["TIME"], ["PING"]]
      + plain.map { line in
        var words = line.split(separator: " ").map(String.init)
        words.insert(versionKey, at: 1)
        return words
      }
  }

  static let inspectScript = RedisScript(
    name: "inspect",
    source: #"""
      #!lua flags=no-writes,allow-oom
      -- Asks which commands the user may run, and runs none of them.
      -- KEYS 1 a key of the store
      -- ARGV commands with their arguments, each as words with a space between
      -- Answers those that are denied
      local denied = {}
      for _, line in ipairs(ARGV) do
        local words = {}
        for word in string.gmatch(line, '%S+') do words[#words + 1] = word end
        local known, allowed = pcall(redis.acl_check_cmd, unpack(words))
        if not known or not allowed then denied[#denied + 1] = line end
      end
      return denied
      """#,
    isSafeToRepeat: true)
}
