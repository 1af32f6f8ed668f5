import Clocks
import Glibc
import RedisStage
import Synchronization
import Testing
import Transport

@testable import Redis

@Suite(.timeLimit(.minutes(2))) struct `The Redis client` {
  @Test func `connects by itself with the first call`() async throws {
    try await withClient { client, _ in
      #expect(await client.isConnected == false)
      let reply = try await client.call(RedisCommand("PING"))
      #expect(reply == .simple("PONG"))
      #expect(await client.isConnected)
    }
  }

  @Test func `sends again what may be repeated, and reports what may not`() async throws {
    try await withClient { client, server in
      try await client.waitUntilConnected(deadline: .seconds(5))
      let other = try await RedisConnection.connect(server.configuration, loop: loop)
      let safe = Task { try await client.call(RedisCommand("BLPOP", "x", 0).repeatable()) }
      let unsafe = Task { try await client.call(RedisCommand("BLPOP", "y", 0)) }
      try await eventually { try await Self.blockedClients(other) == 1 }
      _ = try await other.call(RedisCommand("CLIENT", "KILL", "TYPE", "normal"))
      let error = await redisError { _ = try await unsafe.value }
      guard case .unknownOutcome(let failure)? = error else {
        Issue.record("\(String(describing: error))")
        return
      }
      #expect(failure.kind == .lost)
      _ = try await other.call(RedisCommand("LPUSH", "x", "later"))
      #expect(try await safe.value.arrayValue().last == .bulk(Array("later".utf8)))
      #expect(await client.losses == 1)
      await other.close()
    }
  }

  @Test func `does not count twice when the reply to a write is lost`() async throws {
    try await withRedis { server in
      let relay = try await Relay.open(to: server.configuration.endpoint, on: loop)
      let client = RedisClient(configuration: await relay.configuration, loop: loop)
      _ = try await client.call(RedisCommand("SET", "n", 41))
      await relay.loseReply(containing: ":42")
      let error = await redisError { _ = try await client.call(RedisCommand("INCR", "n")) }
      guard case .unknownOutcome? = error else {
        Issue.record("\(String(describing: error))")
        return
      }
      #expect(try await client.call(RedisCommand("GET", "n")).intValue() == 42)
      await relay.loseReply(containing: "$2")
      #expect(try await client.call(RedisCommand("GET", "n")).intValue() == 42)
      #expect(await relay.hasLostIt)
      await client.close()
      await relay.close()
    }
  }

  @Test func `repeats those of a batch that may be, and reports the others`() async throws {
    try await withRedis { server in
      let relay = try await Relay.open(to: server.configuration.endpoint, on: loop)
      let client = RedisClient(configuration: await relay.configuration, loop: loop)
      _ = try await client.call(RedisCommand("SET", "text", "needle"))
      await relay.loseReply(containing: "needle")
      var batch = RedisBatch()
      batch.append("INCR", "n")
      batch.append("GET", "text", isRepeatable: true)
      batch.append("INCR", "n")
      let replies = await client.callAll(batch)
      guard case .failure(.unknownOutcome) = replies[0], case .failure(.unknownOutcome) = replies[2]
      else {
        Issue.record("\(replies)")
        return
      }
      #expect(replies[1] == .success(.bulk(Array("needle".utf8))))
      #expect(try await client.call(RedisCommand("GET", "n")).intValue() == 2)
      await client.close()
      await relay.close()
    }
  }

  private static func blockedClients(_ connection: RedisConnection) async throws -> Int {
    let info = try await connection.call(RedisCommand("INFO", "clients")).stringValue()
    let line = info.split(separator: "\r\n").first { $0.hasPrefix("blocked_clients") }
    return line.flatMap { Int($0.split(separator: ":")[1]) } ?? 0
  }

  @Test func `survives many lost connections without losing or doubling what is safe to repeat`()
    async throws
  {
    try await withClient(firstBackoff: .milliseconds(2)) { client, server in
      let killer = Task {
        let other = try await RedisConnection.connect(server.configuration, loop: loop)
        for _ in 0..<30 {
          _ = try await other.call(RedisCommand("CLIENT", "KILL", "TYPE", "normal"))
          try await loop.sleep(for: .milliseconds(15))
        }
        await other.close()
      }
      for number in 0..<3000 {
        let command = RedisCommand("HSET", "h", "\(number)", number).repeatable()
        _ = try await client.call(command, deadline: .seconds(20))
      }
      try await killer.value
      #expect(try await client.call(RedisCommand("HLEN", "h")).intValue() == 3000)
      #expect(await client.losses > 3)
    }
  }

  @Test func `waits for a server that restarts, and finds its data`() async throws {
    let folder = try TemporaryFolder(for: "redis")
    defer { folder.remove() }
    let options = PrivateRedisServer.Options(folder: folder.path)
    let first = try await PrivateRedisServer.start(options, on: loop)
    let client = RedisClient(configuration: first.configuration, loop: loop)
    _ = try await client.call(RedisCommand("SET", "kept", "yes"))
    await first.stop()
    let waiting = Task {
      try await client.call(RedisCommand("GET", "kept"), deadline: .seconds(20))
    }
    try await eventually { await client.isConnected == false }
    let second = try await PrivateRedisServer.start(options, on: loop)
    #expect(try await waiting.value == .bulk(Array("yes".utf8)))
    await client.close()
    await second.stop()
  }

  @Test func `says within the deadline why there is no connection`() async throws {
    let configuration = RedisConfiguration(endpoint: .unix(path: "/tmp/fieldcast-no-such.sock"))
    let client = RedisClient(configuration: configuration, loop: loop)
    let error = await redisError {
      _ = try await client.call(RedisCommand("PING"), deadline: .milliseconds(60))
    }
    guard case .notSent(let failure)? = error else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(failure.kind == .cannotConnect)
    #expect("\(failure)".contains("No such file"))
    #expect(await client.whyNotConnected != nil)
    await client.close()
    let after = await redisError { _ = try await client.call(RedisCommand("PING")) }
    #expect(after?.failure?.kind == .closing)
  }

  @Test func `refuses calls beyond those that may wait`() async throws {
    var configuration = RedisConfiguration(endpoint: .unix(path: "/tmp/fieldcast-no-such.sock"))
    configuration.maxWaiting = 2
    let client = RedisClient(configuration: configuration, loop: loop)
    let kinds = await withTaskGroup(of: RedisFailure.Kind?.self) { group in
      for _ in 0..<3 {
        group.addTask {
          await redisError {
            _ = try await client.call(RedisCommand("PING"), deadline: .milliseconds(300))
          }?.failure?.kind
        }
      }
      return await group.reduce(into: []) { $0.append($1) }
    }
    #expect(kinds.filter { $0 == .queueFull }.count == 1)
    #expect(kinds.filter { $0 == .cannotConnect }.count == 2)
    await client.close()
  }

  @Test func `tells what happens to its connection`() async throws {
    let events = Mutex<[RedisClientEvent]>([])
    try await withRedis { server in
      let client = RedisClient(configuration: server.configuration, loop: loop) { event in
        events.withLock { $0.append(event) }
      }
      _ = try await client.call(RedisCommand("PING"))
      await client.reconnect()
      _ = try await client.call(RedisCommand("PING"))
      await client.close()
    }
    let seen = events.withLock { $0 }
    try #require(seen.count == 3)
    guard case .connected = seen[0], case .lost = seen[1], case .connected = seen[2] else {
      Issue.record("\(seen)")
      return
    }
  }

  @Test func `passes on that the server's memory is full, with what to do`() async throws {
    try await withClient { client, _ in
      _ = try await client.call(RedisCommand("CONFIG", "SET", "maxmemory", 1))
      let error = await redisError { _ = try await client.call(RedisCommand("SET", "a", "b")) }
      #expect(error?.refusal?.kind == .outOfMemory)
      #expect(error.map { "\($0)".contains("maxmemory") } == true)
    }
  }

  @Test func `leaves a server that has become a replica`() async throws {
    try await withClient { client, server in
      _ = try await client.call(RedisCommand("REPLICAOF", "127.0.0.1", 1))
      let error = await redisError { _ = try await client.call(RedisCommand("INCR", "n")) }
      #expect(error?.refusal?.kind == .readOnly)
      try await eventually { await client.whyNotConnected != nil }
      var reader = server.configuration
      reader.requiresPrimary = false
      let other = try await RedisConnection.connect(reader, loop: loop)
      _ = try await other.call(RedisCommand("REPLICAOF", "NO", "ONE"))
      #expect(try await client.call(RedisCommand("INCR", "n")) == .integer(1))
      await other.close()
    }
  }
}

@Suite struct `A script` {
  private let counting = RedisScript(
    name: "count", source: "return redis.call('INCRBY', KEYS[1], ARGV[1])")

  @Test func `is called by its digest, and sent in full when it was forgotten`() async throws {
    try await withClient { client, _ in
      let call = RedisCommand(counting, keys: ["n"], arguments: 2)
      #expect(try await client.call(call) == .integer(2))
      #expect(counting.digest?.count == 40)
      #expect(try await client.call(call) == .integer(4))
      _ = try await client.call(RedisCommand("SCRIPT", "FLUSH"))
      #expect(try await client.call(call) == .integer(6))
      #expect(try await client.call(call) == .integer(8))
      let info = try await client.call(RedisCommand("INFO", "commandstats")).stringValue()
      #expect(info.contains("cmdstat_eval:calls=1,"))
    }
  }

  @Test func `runs in batches, once each also when it was forgotten`() async throws {
    try await withClient { client, _ in
      var batch = RedisBatch()
      for _ in 0..<100 { batch.append(counting, keys: ["n"], arguments: 1) }
      batch.append("GET", "n")
      var replies = await client.callAll(batch)
      #expect(try replies[99].get() == .integer(100))
      #expect(try replies[100].get() == .bulk(Array("100".utf8)))
      _ = try await client.call(RedisCommand("SCRIPT", "FLUSH"))
      replies = await client.callAll(batch)
      #expect(try replies[0].get() == .integer(101))
      #expect(try replies[99].get() == .integer(200))
    }
  }

  @Test func `is never run twice while its server forgets all the time`() async throws {
    try await withClient { client, server in
      let forgetting = Task {
        let other = try await RedisConnection.connect(server.configuration, loop: loop)
        while !Task.isCancelled { _ = try await other.call(RedisCommand("SCRIPT", "FLUSH")) }
        await other.close()
      }
      for _ in 0..<200 {
        var batch = RedisBatch()
        for _ in 0..<10 { batch.append(counting, keys: ["n"], arguments: 1) }
        for reply in await client.callAll(batch) { _ = try reply.get() }
      }
      forgetting.cancel()
      try await forgetting.value
      #expect(try await client.call(RedisCommand("GET", "n")).intValue() == 2000)
    }
  }

  @Test func `may answer with a word of its own`() async throws {
    try await withClient { client, _ in
      let fenced = RedisScript(
        name: "fence", source: "return redis.error_reply('FENCED epoch 4 is over')")
      let error = await redisError {
        _ = try await client.call(RedisCommand(fenced, keys: []))
      }
      #expect(error?.refusal?.code == "FENCED")
    }
  }
}
