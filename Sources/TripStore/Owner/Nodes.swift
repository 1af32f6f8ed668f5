internal import Clocks
internal import Redis

extension TripStore {
  /// Says that `node` lives, and answers which nodes do, in order of their names.
  ///
  /// Redis' clock judges, so nodes whose clocks differ agree on who lives.
  ///
  /// - Parameter window: who was heard within it lives. Others are struck off the list.
  package func heartbeat(
    node: String, window: Duration
  ) async throws(StoreError) -> [String] {
    let reply = try await call(
      RedisCommand(
        Self.heartbeatScript, keys: [Self.nodesKey],
        arguments: node, window.wholeNanoseconds / 1_000_000))
    return try reading { () throws(RedisError) in try reply.stringsValue().sorted() }
  }

  /// Strikes `node` off the list of those that live: it is about to stop.
  package func signOff(node: String) async throws(StoreError) {
    _ = try await call(RedisCommand("ZREM", Self.nodesKey, node).repeatable())
  }

  static let nodesKey = "fc:nodes"

  static let heartbeatScript = RedisScript(
    name: "heartbeat",
    source: #"""
      #!lua flags=allow-oom
      -- Notes that a node lives, and forgets those that were not heard of.
      -- KEYS 1 nodes
      -- ARGV 1 node, 2 how old a sign of life may be (ms)
      -- Answers the nodes that live
      local time = redis.call('TIME')
      local now = time[1] * 1000 + math.floor(time[2] / 1000)
      redis.call('ZADD', KEYS[1], now, ARGV[1])
      redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now - tonumber(ARGV[2]))
      return redis.call('ZRANGE', KEYS[1], 0, -1)
      """#,
    isSafeToRepeat: true)
}
