package import Clocks
internal import Redis

extension TripStore {
  /// When something that is done at regular times was done last, by whichever node; nil for never.
  ///
  /// - Parameter chore: its name.
  package func lastRun(of chore: String) async throws(StoreError) -> UnixTime? {
    let reply = try await call(RedisCommand("GET", Self.choreKey(chore)))
    return try reading { () throws(RedisError) in
      reply.isNull ? nil : UnixTime(milliseconds: try reply.integerValue())
    }
  }

  package func noteRun(of chore: String, at now: UnixTime) async throws(StoreError) {
    _ = try await call(
      RedisCommand("SET", Self.choreKey(chore), now.milliseconds).repeatable())
  }

  private static func choreKey(_ chore: String) -> String { "fc:ran:\(chore)" }
}
