package import Redis
package import Transport

/// A `redis-server` of our own that dies and is started again in its folder.
package actor RestartingRedis {
  private var server: PrivateRedisServer
  package nonisolated let options: PrivateRedisServer.Options
  package nonisolated let loop: EventLoop

  private init(_ server: PrivateRedisServer) {
    self.server = server
    options = server.options
    loop = server.loop
  }

  /// - Parameter change: of the server's options.
  package static func withTemporary<Value: Sendable>(
    on loop: EventLoop, _ change: (inout PrivateRedisServer.Options) -> Void = { _ in },
    _ body: (RestartingRedis) async throws -> Value
  ) async throws -> Value {
    var options = try PrivateRedisServer.Options.temporary()
    change(&options)
    let redis = RestartingRedis(try await PrivateRedisServer.start(options, on: loop))
    do {
      let value = try await body(redis)
      await redis.server.stop()
      return value
    } catch {
      await redis.server.stop()
      throw error
    }
  }

  /// The kernel keeps what was written to its files.
  package func kill() async {
    server.process.signal(9)
    _ = await server.process.waitForExit()
  }

  package func start() async throws {
    server = try await PrivateRedisServer.start(options, on: loop)
  }

  package var configuration: RedisConfiguration { server.configuration }
  package var processID: Int32 { server.process.processID }

  package func command(_ command: RedisCommand) async throws -> RESPValue {
    try await server.command(command)
  }

  /// A line of `INFO`.
  package func fact(_ name: String) async throws -> String {
    let facts = try await command(RedisCommand("INFO", "all")).infoValue()
    guard let fact = facts[name] else { throw StageError("INFO says nothing of \(name).") }
    return fact
  }
}
