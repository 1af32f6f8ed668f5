package import Clocks
package import Transport

/// What sends commands to Redis, however that is set up.
///
/// A command goes where its first key lives; see ``RedisCommand/slot``. All its keys must share a
/// hash tag.
package protocol RedisCaller: Sendable {
  /// Whether keys are spread over several servers. Messages for few then travel by `SPUBLISH`.
  nonisolated var isCluster: Bool { get }

  /// Sends a command and waits for its reply.
  ///
  /// - Parameter deadline: for all of it; the configuration's when nil.
  /// - Throws: ``RedisError/refused(_:)`` for an error reply.
  func call(
    _ command: RedisCommand, deadline: Duration?
  ) async throws(RedisError) -> RESPValue

  /// Sends the commands of a batch in as few writes as can be; each has an outcome of its own.
  func callAll(
    _ batch: RedisBatch, deadline: Duration?
  ) async -> [RedisReply]
}

/// A caller with connections of its own: ``RedisClient`` to one server, which may be the primary that
/// Sentinels name, or ``RedisCluster`` to many.
package protocol ConnectedRedis: RedisCaller {
  nonisolated var loop: EventLoop { get }

  /// Begins to connect, if no call has done so yet, and waits until commands can be sent.
  ///
  /// - Throws: ``RedisError/notSent(_:)`` with the last attempt's failure when the deadline passes.
  func waitUntilConnected(deadline: Duration) async throws(RedisError)

  /// Takes no more calls. Cannot be undone.
  ///
  /// - Parameter atOnce: ends calls under way too, with an unknown outcome.
  func close(atOnce: Bool) async

  /// Closes at once, from a place that cannot wait.
  nonisolated func closeSoon()

  /// Whether every server that commands go to is connected.
  var isConnected: Bool { get async }
  /// How often a connection for commands was lost.
  var losses: Int { get async }
}

extension RedisCaller {
  package func call(
    _ command: RedisCommand
  ) async throws(RedisError) -> RESPValue {
    try await call(command, deadline: nil)
  }

  package func callAll(_ batch: RedisBatch) async -> [RedisReply] {
    await callAll(batch, deadline: nil)
  }
}

/// Says which server a new connection should lead to. Asked before each, since the answer changes.
package protocol RedisLocator: Sendable {
  /// - Throws: ``RedisError/notSent(_:)`` when nobody can say so before `end`.
  func locate(before end: Moment) async throws(RedisError) -> RedisConfiguration

  /// A connection to that place did not come about, or showed that it leads astray.
  func noteWrong(_ configuration: RedisConfiguration) async
}
