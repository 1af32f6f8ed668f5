import Clocks
import FieldcastServer
import Foundation
import Randomness
import Redis
import RedisStage
import Testing
import Transport

/// Something goes wrong with Redis, with a node, or between them while notes flow. Afterwards the
/// rules hold as the simulator's phones see it. `FIELDCAST_FAULT_SEED` repeats a run's choices.
@Suite(.faultTable, .timeLimit(.minutes(5))) struct `A service under faults` {
  var random = SplitMix64(seed: NoteFlow.seed)

  /// A service on one server, with two trips.
  ///
  /// - Parameters:
  ///   - program: what starts the server; nil for itself.
  ///   - isDurable: whether it keeps an append-only file.
  private func withServer(
    _ program: String? = nil, isDurable: Bool = false, arguments: [String] = [],
    log: ServiceLog = .silent,
    _ body: (World, RestartingRedis, TestCaller, [TestCaller.Trip]) async throws -> Void
  ) async throws {
    func change(_ options: inout PrivateRedisServer.Options) {
      options.executable = program
      options.isDurable = isDurable
      options.arguments = arguments
    }
    try await World.onServer(change) { world, redis in
      try await world.withService(World.underFaults, log: log) { caller, _ in
        try await body(world, redis, caller, try await world.createTrips(2, by: caller))
      }
    }
  }

  // MARK: One server

  /// Writes are in the file before they are answered, so nothing that was answered is lost.
  @Test mutating func `loses nothing when Redis dies and reads its file again`() async throws {
    let pauses = (0..<2).map { _ in Duration.milliseconds(50 + random.below(400)) }
    try await withServer(isDurable: true, arguments: ["--appendfsync", "always"]) {
      world, redis, caller, trips in
      try await world.expectConvergence(
        of: trips, by: caller, through: "Redis is killed, and starts with its append-only file",
        times: pauses.count
      ) { flow in
        for pause in pauses {
          await redis.kill()
          try await world.loop.sleep(for: pause)
          try await redis.start()
          try await flow.pass(3, of: trips)
        }
      }
    }
  }

  @Test func `takes nothing in while Redis has no memory left, and all of it afterwards`()
    async throws
  {
    try await withServer { world, redis, caller, trips in
      let rounds = 3
      let refused = try await world.expectConvergence(
        of: trips, by: caller, through: "Redis reaches its maxmemory, and gets room again",
        times: rounds
      ) { flow in
        for _ in 0..<rounds {
          let used = Int(try await redis.fact("used_memory")) ?? 0
          _ = try await redis.command(
            RedisCommand("CONFIG", "SET", "maxmemory", used + (4 << 20)))
          _ = try await redis.command(RedisCommand("SETRANGE", "filler", 8 << 20, "x"))
          let before = flow.refusals
          try await world.waitUntil("notes are refused") { flow.refusals > before + 3 }
          _ = try await redis.command(RedisCommand("DEL", "filler"))
          try await flow.pass(2, of: trips)
        }
      }
      #expect(refused > 0)
      // What was taken in before memory ran out was also finished meanwhile.
      try await world.waitUntil("nothing is left in the stream") {
        try await redis.command(RedisCommand("XLEN", "fieldcast:notes:in")).intValue() == 0
      }
    }
  }

  @Test mutating func `does not care that Redis forgets its scripts`() async throws {
    let pauses = (0..<30).map { _ in Duration.milliseconds(5 + random.below(60)) }
    try await withServer { world, redis, caller, trips in
      try await world.expectConvergence(
        of: trips, by: caller, through: "SCRIPT FLUSH", times: pauses.count
      ) { _ in
        for pause in pauses {
          _ = try await redis.command(RedisCommand("SCRIPT", "FLUSH"))
          try await world.loop.sleep(for: pause)
        }
      }
    }
  }

  @Test func `waits while Redis cannot save its data`() async throws {
    try await withServer { world, redis, caller, trips in
      _ = try await redis.command(RedisCommand("CONFIG", "SET", "save", "3600 1"))
      let obstacle = redis.options.folder + "/dump.rdb"
      func save(_ status: String) async throws {
        _ = try await redis.command(RedisCommand("BGSAVE"))
        try await world.waitUntil("the last save is \(status)") {
          let isSaving = try await redis.fact("rdb_bgsave_in_progress") == "1"
          let last = try await redis.fact("rdb_last_bgsave_status")
          return !isSaving && last == status
        }
      }
      let refused = try await world.expectConvergence(
        of: trips, by: caller, through: "Redis cannot write its snapshot (MISCONF)"
      ) { flow in
        // A folder where the file should be.
        try FileManager.default.createDirectory(
          atPath: obstacle + "/x", withIntermediateDirectories: true)
        try await save("err")
        let before = flow.refusals
        try await world.waitUntil("notes are refused") { flow.refusals > before + 3 }
        try FileManager.default.removeItem(atPath: obstacle)
        try await save("ok")
      }
      #expect(refused > 0)
    }
  }

  @Test func `waits while Redis' disk is full`() async throws {
    let limits = try #require(Subprocess.executable(named: "prlimit"))
    let program = try #require(Subprocess.executable(named: "redis-server"))
    let folder = try TemporaryFolder(for: "redis")
    defer { folder.remove() }
    // A file that may not grow is refused, and does not end the server.
    let starter = folder.path + "/redis-server"
    try StageFile.write("#!/bin/sh\ntrap '' XFSZ\nexec \(program) \"$@\"\n", to: starter)
    try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: starter)
    try await withServer(starter, isDurable: true) { world, redis, caller, trips in
      func limit(_ bytes: String, until status: String) async throws {
        let pid = await redis.processID
        let process = try await Subprocess.start(
          limits, arguments: ["--pid", "\(pid)", "--fsize=\(bytes):"], on: world.loop)
        #expect(await process.waitForExit() == 0)
        try await world.waitUntil("its last write is \(status)") {
          try await redis.fact("aof_last_write_status") == status
        }
      }
      let refused = try await world.expectConvergence(
        of: trips, by: caller, through: "Redis cannot write its append-only file (MISCONF)"
      ) { flow in
        try await limit("1", until: "err")
        let before = flow.refusals
        try await world.waitUntil("notes are refused") { flow.refusals > before + 3 }
        try await limit("unlimited", until: "ok")
      }
      #expect(refused > 0)
    }
  }

  /// Publish/subscribe has no memory: what the subscriber was too slow for is lost, and said to be.
  @Test func `says that published notes may be missing when it read too slowly`() async throws {
    let gaps = Lock(0)
    let log = ServiceLog(minimum: .warning) { _, message, _ in
      if message == "published notes may have been missed" { gaps.withLock { $0 += 1 } }
    }
    let limit = ["--client-output-buffer-limit", "pubsub 64kb 0 0"]
    try await withServer(arguments: limit, log: log) { world, redis, caller, trips in
      try await caller.publish(#"{"id":"first","trip":"\#(trips[0].id)"}"#)
      try await world.waitForPhones(on: trips[0].channelID) { $0["notesCaptured"]?.int64 == 1 }
      let rounds = 3
      try await world.expectConvergence(
        of: trips, by: caller, through: "a slow subscriber is dropped", times: rounds
      ) { flow in
        for round in 1...rounds {
          // In one step, so that nobody can read meanwhile.
          let burst = """
            for i = 1, 300 do redis.call('PUBLISH', KEYS[1], ARGV[1] .. string.rep(' ', 1000)) end
            """
          _ = try await redis.command(
            RedisCommand("EVAL", burst, 1, "fieldcast:notes", #"{"id":"x","trip":"gone"}"#))
          try await world.waitUntil("the gap is reported") { gaps.withLock { $0 } == round }
          try await flow.pass(2, of: trips)
        }
      }
      let notes = try await caller.call("GET", "/v1/trips/\(trips[0].id)")
      let count = try #require(notes.body["contentState"]?["notesCaptured"]?.int64)
      try await caller.publish(#"{"id":"last","trip":"\#(trips[0].id)"}"#)
      try await world.waitForPhones(on: trips[0].channelID) {
        $0["notesCaptured"]?.int64 == count + 1
      }
    }
  }
}
