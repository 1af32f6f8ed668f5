internal import Clocks
package import Redis
package import Transport

/// What went wrong with servers that a test has set up.
package struct StageError: Error, CustomStringConvertible {
  package let description: String

  package init(_ description: String) { self.description = description }
}

extension PrivateRedisServer {
  /// Sends one command to this very server, whatever its part is, over its socket.
  package nonisolated func command(_ command: RedisCommand) async throws -> RESPValue {
    var configuration = configuration
    configuration.requiresPrimary = false
    let connection = try await RedisConnection.connect(configuration, loop: loop)
    let reply: RESPValue
    do {
      reply = try await connection.call(command, before: MonotonicClock.now() + .seconds(20))
    } catch {
      await connection.abort()
      throw error
    }
    await connection.close()
    return reply
  }

  /// Whether it is a replica that follows its primary.
  package nonisolated func isLinked() async throws -> Bool {
    try await command(RedisCommand("INFO", "replication")).stringValue()
      .contains("master_link_status:up")
  }

  /// Whether it is no replica.
  nonisolated func isPrimary() async throws -> Bool {
    try await command(RedisCommand("ROLE")).arrayValue().first?.stringValue() == "master"
  }
}

/// Waits for something that servers do in their own time, for at most a minute. One that cannot be
/// asked now is asked again: servers end connections when their parts change.
///
/// - Parameter process: without which it will not come to be.
package func waitUntil(
  for process: Subprocess, on loop: EventLoop, _ condition: () async throws -> Bool
) async throws {
  let end = MonotonicClock.now() + .seconds(60)
  var failure: (any Error)?
  while MonotonicClock.now() < end {
    do {
      if try await condition() { return }
    } catch {
      failure = error
    }
    guard process.isRunning else { throw StageError("A server ended that others wait for.") }
    try await loop.sleep(for: .milliseconds(15))
  }
  let reason = failure.map { " The last failure: \($0)" } ?? ""
  throw StageError("Servers did not come to what they were waited for within a minute.\(reason)")
}
