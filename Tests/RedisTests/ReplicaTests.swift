import Clocks
import RedisStage
import Testing
import Transport

@testable import Redis

/// Waiting for replicas before a reply counts.
@Suite(.timeLimit(.minutes(2))) struct `A reply that waits for replicas` {
  /// A primary that a replica follows, and a client that wants one to confirm.
  private func withPair(
    replicaDeadline: Duration,
    _ body: (RedisClient, _ primary: PrivateRedisServer, _ replica: PrivateRedisServer) async throws
      -> Void
  ) async throws {
    let port = try await StreamListener.freePort(on: loop)
    try await PrivateRedisServer.withTemporary(
      on: loop, port: port, arguments: ["--repl-diskless-sync-delay", "0"]
    ) { primary in
      try await withRedis { replica in
        _ = try await replica.command(RedisCommand("REPLICAOF", "127.0.0.1", port))
        try await eventually { try await replica.isLinked() }
        var configuration = primary.configuration
        configuration.replicas = 1
        configuration.replicaDeadline = replicaDeadline
        configuration.commandDeadline = .seconds(20)
        let client = RedisClient(configuration: configuration, loop: loop)
        try await body(client, primary, replica)
        await client.close(atOnce: true)
      }
    }
  }

  @Test func `comes when the replica has the write`() async throws {
    try await withPair(replicaDeadline: .seconds(15)) { client, _, replica in
      for number in 1...50 {
        _ = try await client.call(RedisCommand("SET", "n", number))
        #expect(try await replica.command(RedisCommand("GET", "n")).intValue() == number)
      }
      let batch = RedisBatch((0..<100).map { RedisCommand("INCRBY", "m", $0) })
      let replies = await client.callAll(batch)
      #expect(replies.count == 100)
      #expect(try await replica.command(RedisCommand("GET", "m")).intValue() == 4_950)
    }
  }

  @Test func `does not come when the replica is away, and says so`() async throws {
    try await withPair(replicaDeadline: .milliseconds(200)) { client, primary, replica in
      _ = try await client.call(RedisCommand("SET", "n", 1).repeatable())
      _ = try await replica.command(RedisCommand("REPLICAOF", "NO", "ONE"))
      let error = await redisError { _ = try await client.call(RedisCommand("INCR", "n")) }
      guard case .unknownOutcome(let failure) = error else {
        Issue.record("\(String(describing: error))")
        return
      }
      #expect(failure.kind == .notReplicated)
      // It was done where it was sent, once, and is not done again.
      #expect(try await primary.command(RedisCommand("GET", "n")).intValue() == 2)
      // What was refused needs no replica.
      let refused = await redisError { _ = try await client.call(RedisCommand("LPOP", "n")) }
      #expect(refused?.refusal?.kind == .wrongType)
      // What may be done twice goes on until the replica is back.
      async let late = client.call(RedisCommand("SET", "n", 5).repeatable(), deadline: .seconds(20))
      _ = try await replica.command(
        RedisCommand("REPLICAOF", "127.0.0.1", primary.options.port ?? 0))
      _ = try await late
      #expect(try await replica.command(RedisCommand("GET", "n")).intValue() == 5)
    }
  }
}
