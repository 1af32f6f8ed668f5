import Clocks
import Glibc
import Testing
import Transport

@testable import Redis

@Suite struct `A Redis connection` {
  @Test func `matches replies to thousands of commands under way`() async throws {
    try await withRedis { server in
      let connection = try await RedisConnection.connect(server.configuration, loop: loop)
      let wrong = await withTaskGroup(of: Int.self) { group in
        for worker in 0..<50 {
          group.addTask(executorPreference: loop.tasks) {
            var wrong = 0
            for round in 0..<200 {
              let text = "\(worker)/\(round)"
              let reply = try? await connection.call(RedisCommand("ECHO", text))
              if reply != .bulk(Array(text.utf8)) { wrong += 1 }
            }
            return wrong
          }
        }
        return await group.reduce(0, +)
      }
      #expect(wrong == 0)
      await connection.close()
    }
  }

  @Test func `sends the commands of one turn in one write`() async throws {
    try await withRedis { server in
      let connection = try await RedisConnection.connect(server.configuration, loop: loop)
      let before = try await readsProcessed(connection)
      await withTaskGroup(of: Void.self) { group in
        for _ in 0..<1000 {
          group.addTask(executorPreference: loop.tasks) {
            _ = try? await connection.call(RedisCommand("INCR", "counter"))
          }
        }
      }
      let reads = try await readsProcessed(connection) - before
      #expect(reads < 50)
      #expect(try await connection.call(RedisCommand("GET", "counter")).intValue() == 1000)
      await connection.close()
    }
  }

  private func readsProcessed(_ connection: RedisConnection) async throws -> Int {
    let info = try await connection.call(RedisCommand("INFO", "stats")).stringValue()
    let line = try #require(info.split(separator: "\r\n").first { $0.hasPrefix("total_reads") })
    return try #require(Int(line.split(separator: ":")[1]))
  }

  @Test func `gives each command of a batch its own outcome`() async throws {
    try await withRedis { server in
      let connection = try await RedisConnection.connect(server.configuration, loop: loop)
      var batch = RedisBatch()
      batch.append("SET", "a", "text")
      batch.append("LPUSH", "a", "x")
      batch.append("GET", "a")
      let replies = await connection.callAll(batch, before: .distantFuture)
      #expect(replies.count == 3)
      #expect(replies[0] == .success(.simple("OK")))
      #expect(throws: RedisError.self) { try replies[1].get() }
      #expect(replies[2] == .success(.bulk(Array("text".utf8))))
      #expect(await connection.callAll(RedisBatch(), before: .distantFuture).isEmpty)
      await connection.close()
    }
  }

  @Test func `carries any bytes, also very many`() async throws {
    try await withRedis { server in
      let connection = try await RedisConnection.connect(server.configuration, loop: loop)
      let all = (0..<1024).map { UInt8(truncatingIfNeeded: $0) }
      _ = try await connection.call(RedisCommand("SET", "bytes", all))
      #expect(try await connection.call(RedisCommand("GET", "bytes")).bytesValue() == all)
      var huge = [UInt8](repeating: 0, count: 24 << 20)
      for index in stride(from: 0, to: huge.count, by: 4093) { huge[index] = UInt8(index % 251) }
      _ = try await connection.call(RedisCommand("SET", "huge", huge))
      #expect(try await connection.call(RedisCommand("GET", "huge")).bytesValue() == huge)
      await connection.close()
    }
  }

  @Test func `ends when the server sends more than is accepted`() async throws {
    try await withRedis { server in
      var configuration = server.configuration
      configuration.maxReplyBytes = 100_000
      let connection = try await RedisConnection.connect(configuration, loop: loop)
      _ = try await connection.call(
        RedisCommand("SET", "large", [UInt8](repeating: 7, count: 1_000_000)))
      let error = await redisError { _ = try await connection.call(RedisCommand("GET", "large")) }
      #expect(error?.failure?.kind == .protocolViolation)
    }
  }

  @Test func `ends when a command misses its deadline, and says what is known of each`()
    async throws
  {
    try await withRedis { server in
      let connection = try await RedisConnection.connect(server.configuration, loop: loop)
      server.process.signal(SIGSTOP)
      defer { server.process.signal(SIGCONT) }
      async let late = redisError {
        _ = try await connection.call(
          RedisCommand("INCR", "a"), before: MonotonicClock.now() + .milliseconds(80))
      }
      async let other = redisError {
        _ = try await connection.call(
          RedisCommand("INCR", "b"), before: MonotonicClock.now() + .seconds(30))
      }
      let errors = await (late, other)
      guard case .unknownOutcome(let lateFailure)? = errors.0,
        case .unknownOutcome(let otherFailure)? = errors.1
      else {
        Issue.record("\(errors)")
        return
      }
      #expect(lateFailure.kind == .deadline)
      #expect(otherFailure.kind == .lost)
      #expect(await connection.isOpen == false)
      let after = await redisError { _ = try await connection.call(RedisCommand("PING")) }
      guard case .notSent? = after else {
        Issue.record("\(String(describing: after))")
        return
      }
    }
  }

  @Test func `lets calls wait for room, and refuses those beyond`() async throws {
    try await withRedis { server in
      var configuration = server.configuration
      configuration.maxInFlight = 2
      configuration.maxWaiting = 3
      let connection = try await RedisConnection.connect(configuration, loop: loop)
      server.process.signal(SIGSTOP)
      let calls = (0..<5).map { _ in
        Task(executorPreference: loop.tasks) {
          try await connection.call(RedisCommand("INCR", "n")).intValue()
        }
      }
      try await eventually { await connection.callsWaiting == 3 }
      let refused = await redisError { _ = try await connection.call(RedisCommand("INCR", "n")) }
      #expect(refused?.failure?.kind == .queueFull)
      server.process.signal(SIGCONT)
      var numbers: [Int] = []
      for call in calls { numbers.append(try await call.value) }
      #expect(numbers.sorted() == [1, 2, 3, 4, 5])
      await connection.close()
    }
  }

  @Test func `fails a call that waits for room at its own deadline, unsent`() async throws {
    try await withRedis { server in
      var configuration = server.configuration
      configuration.maxInFlight = 1
      let connection = try await RedisConnection.connect(configuration, loop: loop)
      server.process.signal(SIGSTOP)
      let first = Task(executorPreference: loop.tasks) {
        try await connection.call(RedisCommand("INCR", "n"))
      }
      try await eventually { await connection.commandsUnderWay == 1 }
      let error = await redisError {
        _ = try await connection.call(
          RedisCommand("INCR", "n"), before: MonotonicClock.now() + .milliseconds(50))
      }
      guard case .notSent(let failure)? = error else {
        Issue.record("\(String(describing: error))")
        return
      }
      #expect(failure.kind == .deadline)
      server.process.signal(SIGCONT)
      #expect(try await first.value == .integer(1))
      await connection.close()
    }
  }

  @Test func `lets commands under way finish when it is closed`() async throws {
    try await withRedis { server in
      let connection = try await RedisConnection.connect(server.configuration, loop: loop)
      let call = Task(executorPreference: loop.tasks) {
        try await connection.call(RedisCommand("BLPOP", "list", 10))
      }
      try await eventually { await connection.commandsUnderWay == 1 }
      await connection.close()
      let error = await redisError { _ = try await connection.call(RedisCommand("PING")) }
      #expect(error?.failure?.kind == .closing)
      let other = try await RedisConnection.connect(server.configuration, loop: loop)
      _ = try await other.call(RedisCommand("LPUSH", "list", "x"))
      #expect(try await call.value.arrayValue().count == 2)
      #expect(await connection.waitUntilClosed().kind == .closing)
      await other.close()
    }
  }

  @Test func `notices an idle server that has stopped answering`() async throws {
    try await withRedis { server in
      var configuration = server.configuration
      configuration.keepAlive = .milliseconds(50)
      let connection = try await RedisConnection.connect(configuration, loop: loop)
      server.process.signal(SIGSTOP)
      defer { server.process.signal(SIGCONT) }
      #expect(await connection.waitUntilClosed().kind == .lost)
    }
  }

  @Test func `stays open while it is idle and the server is well`() async throws {
    try await withRedis { server in
      var configuration = server.configuration
      configuration.keepAlive = .milliseconds(400)
      let connection = try await RedisConnection.connect(configuration, loop: loop)
      let other = try await RedisConnection.connect(server.configuration, loop: loop)
      try await eventually {
        let info = try await other.call(RedisCommand("INFO", "commandstats")).stringValue()
        guard
          let ping = info.split(separator: "\r\n").first(where: { $0.hasPrefix("cmdstat_ping") })
        else { return false }
        let count = ping.split(separator: ",")[0].split(separator: "=")[1]
        // Two introductions and two signs of life.
        return Int(count).map { $0 >= 4 } ?? false
      }
      #expect(await connection.isOpen)
      await connection.close()
      await other.close()
    }
  }
}

@Suite struct `Introducing ourselves to Redis` {
  @Test func `sets name and database, and learns who answers`() async throws {
    try await withRedis { server in
      var configuration = server.configuration
      configuration.database = 3
      configuration.clientName = "trip-owner"
      let connection = try await RedisConnection.connect(configuration, loop: loop)
      let list = try await connection.call(RedisCommand("CLIENT", "LIST")).stringValue()
      #expect(list.contains("name=trip-owner"))
      #expect(list.contains("db=3"))
      let greeting = await connection.greeting
      #expect(greeting.version?.isEmpty == false)
      #expect(greeting.role == "master")
      #expect(greeting.clientID != nil)
      await connection.close()
    }
  }

  @Test func `uses user and password, and never repeats them in an error`() async throws {
    let user = ["--user", "trips", "on", ">battery-staple", "~*", "&*", "+@all"]
    let arguments = ["--requirepass", "correct-horse"] + user
    try await withRedis(arguments: arguments) { server in
      var configuration = server.configuration
      configuration.password = "correct-horse"
      let owner = try await RedisConnection.connect(configuration, loop: loop)
      configuration.user = "trips"
      configuration.password = "battery-staple"
      let named = try await RedisConnection.connect(configuration, loop: loop)
      #expect(try await named.call(RedisCommand("ACL", "WHOAMI")).stringValue() == "trips")
      await named.close()
      configuration.password = "wrong-staple"
      let error = await redisError {
        _ = try await RedisConnection.connect(configuration, loop: loop)
      }
      #expect(error?.failure?.refusal?.kind == .wrongPassword)
      #expect(error.map { "\($0)".contains("staple") } == false)
      configuration.password = nil
      configuration.user = nil
      let without = await redisError {
        _ = try await RedisConnection.connect(configuration, loop: loop)
      }
      #expect(without?.failure?.refusal?.kind == .noAuth)
      // The test's own server would not stop without its password.
      _ = try? await owner.call(RedisCommand("SHUTDOWN", "NOSAVE"))
    }
  }

  @Test func `works for a user who may do no more than needed`() async throws {
    let arguments = ["--user", "small", "on", ">pw", "~*", "-@all", "+get", "+set"]
    try await withRedis(arguments: arguments) { server in
      var configuration = server.configuration
      configuration.user = "small"
      configuration.password = "pw"
      let connection = try await RedisConnection.connect(configuration, loop: loop)
      _ = try await connection.call(RedisCommand("SET", "a", "b"))
      let error = await redisError { _ = try await connection.call(RedisCommand("DEL", "a")) }
      #expect(error?.refusal?.kind == .noPermission)
      await connection.close()
    }
  }

  @Test func `refuses a replica, which takes no writes`() async throws {
    try await withRedis { server in
      let primary = try await RedisConnection.connect(server.configuration, loop: loop)
      _ = try await primary.call(RedisCommand("REPLICAOF", "127.0.0.1", 1))
      let error = await redisError {
        _ = try await RedisConnection.connect(server.configuration, loop: loop)
      }
      #expect(error.map { "\($0)".contains("replica") } == true)
      var reader = server.configuration
      reader.requiresPrimary = false
      let connection = try await RedisConnection.connect(reader, loop: loop)
      let write = await redisError { _ = try await connection.call(RedisCommand("INCR", "n")) }
      #expect(write?.refusal?.kind == .readOnly)
      await primary.abort()
      await connection.close()
    }
  }

  @Test func `passes on what a server says that turns us away`() async throws {
    let server = try await ScriptedServer(
      answering: "-ERR max number of clients reached\r\n")
    let error = await redisError {
      _ = try await RedisConnection.connect(server.configuration, loop: loop)
    }
    #expect(error.map { "\($0)".contains("max number of clients") } == true)
    server.close()
  }

  @Test func `notices that the other side is not Redis`() async throws {
    let server = try await ScriptedServer(answering: "HTTP/1.1 400 Bad Request\r\n\r\n")
    let error = await redisError {
      _ = try await RedisConnection.connect(server.configuration, loop: loop)
    }
    #expect(error?.failure?.kind == .protocolViolation)
    server.close()
  }

  @Test func `gives up on a server that accepts and stays silent`() async throws {
    let server = try await ScriptedServer(answering: "")
    var configuration = server.configuration
    configuration.connectDeadline = .milliseconds(60)
    let error = await redisError {
      _ = try await RedisConnection.connect(configuration, loop: loop)
    }
    guard case .notSent(let failure)? = error else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(failure.kind == .deadline)
    server.close()
  }

  @Test func `says where nobody listens`() async throws {
    let configuration = RedisConfiguration(endpoint: .unix(path: "/tmp/fieldcast-no-such.sock"))
    let error = await redisError {
      _ = try await RedisConnection.connect(configuration, loop: loop)
    }
    #expect(error?.failure?.kind == .cannotConnect)
    #expect(error.map { "\($0)".contains("/tmp/fieldcast-no-such.sock") } == true)
  }
}
