import Clocks
import Glibc
import RedisStage
import Testing
import Transport

@testable import Redis

private func add(_ client: RedisClient, _ key: String, _ text: String) async throws -> StreamID {
  try await client.call(.xadd(key, [.init("t", text)])).streamIDValue()
}

private func texts(_ entries: [StreamEntry]) -> [String] { entries.map { $0.text("t") ?? "?" } }

@Suite struct `A stream's ID` {
  @Test func `is read and written as Redis does`() {
    #expect(StreamID("1700000000000-3") == StreamID(milliseconds: 1_700_000_000_000, sequence: 3))
    #expect(StreamID("5") == StreamID(milliseconds: 5, sequence: 0))
    #expect(StreamID(milliseconds: 5, sequence: 18).description == "5-18")
    for text in ["", "-", "a-1", "1-", "1-b", "1-2-3", "-1-1"] { #expect(StreamID(text) == nil) }
  }

  @Test func `is ordered by time, then number, as numbers and not as text`() {
    #expect(StreamID("9-9")! < StreamID("10-0")!)
    #expect(StreamID("9-9")! < StreamID("9-10")!)
    #expect(StreamID.zero < StreamID("0-1")!)
  }
}

@Suite(.timeLimit(.minutes(2))) struct `Reading many streams` {
  private func withTail(
    block: Duration = .seconds(30),
    _ body: (StreamTail, RedisClient, PrivateRedisServer) async throws -> Void
  ) async throws {
    try await withClient { client, server in
      let tail = StreamTail(configuration: server.configuration, commands: client, block: block)
      try await body(tail, client, server)
      await tail.close()
    }
  }

  @Test func `returns each entry once, in order, from several streams`() async throws {
    try await withTail { tail, client, _ in
      _ = try await add(client, "a", "before")
      let start = try await add(client, "a", "a0")
      await tail.follow([(key: "a", after: start), (key: "b", after: .zero)])
      let writing = Task {
        for number in 1...300 {
          _ = try await add(client, "a", "a\(number)")
          _ = try await add(client, "b", "b\(number)")
        }
      }
      var seen: [String: [String]] = [:]
      while seen["a", default: []].count < 300 || seen["b", default: []].count < 300 {
        for batch in try await tail.next() { seen[batch.key, default: []] += texts(batch.entries) }
      }
      try await writing.value
      #expect(seen["a"] == (1...300).map { "a\($0)" })
      #expect(seen["b"] == (1...300).map { "b\($0)" })
    }
  }

  @Test func `includes a stream that was added while it waited`() async throws {
    try await withTail { tail, client, server in
      let reading = Task { try await tail.next() }
      await tail.follow("a", after: .zero)
      try await eventually { try await Self.blocked(client) == 1 }
      _ = try await add(client, "b", "there")
      // The read has no end of its own for half a minute; only being unblocked ends it.
      await tail.follow("b", after: .zero)
      let batches = try await reading.value
      #expect(batches.map(\.key) == ["b"])
      #expect(texts(batches[0].entries) == ["there"])
      _ = server
    }
  }

  private static func blocked(_ client: RedisClient) async throws -> Int {
    let info = try await client.call(RedisCommand("INFO", "clients")).stringValue()
    let line = info.split(separator: "\r\n").first { $0.hasPrefix("blocked_clients") }
    return line.flatMap { Int($0.split(separator: ":")[1]) } ?? 0
  }

  @Test func `goes on where it was when its connection is lost`() async throws {
    try await withTail(block: .milliseconds(200)) { tail, client, _ in
      await tail.follow("a", after: .zero)
      let killing = Task {
        for number in 0..<200 {
          _ = try await add(client, "a", "\(number)")
          if number.isMultiple(of: 20) {
            _ = try await client.call(
              RedisCommand("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"))
          }
        }
      }
      var seen: [String] = []
      while seen.count < 200 {
        for batch in try await tail.next() { seen += texts(batch.entries) }
      }
      try await killing.value
      #expect(seen == (0..<200).map { "\($0)" })
    }
  }

  @Test func `drops what it has forgotten`() async throws {
    try await withTail { tail, client, _ in
      await tail.follow([(key: "a", after: .zero), (key: "b", after: .zero)])
      await tail.forget("a")
      _ = try await add(client, "a", "unwanted")
      _ = try await add(client, "b", "wanted")
      let batches = try await tail.next()
      #expect(batches.map(\.key) == ["b"])
      #expect(await tail.position(of: "a") == nil)
      #expect(await tail.position(of: "b") == batches[0].entries[0].id)
    }
  }

  @Test func `ends a wait when it is closed`() async throws {
    try await withTail { tail, client, _ in
      await tail.follow("a", after: .zero)
      let reading = Task { await redisError { _ = try await tail.next() } }
      try await eventually { try await Self.blocked(client) == 1 }
      await tail.close()
      #expect(await reading.value?.failure?.kind == .closing)
    }
  }
}

@Suite(.timeLimit(.minutes(2))) struct `A consumer group's reader` {
  private func reader(
    _ client: RedisClient, _ server: PrivateRedisServer, consumer: String = "one",
    block: Duration = .milliseconds(100)
  ) -> StreamGroupReader {
    StreamGroupReader(
      key: "in", group: "fieldcast", consumer: consumer, configuration: server.configuration,
      commands: client, count: 50, block: block)
  }

  @Test func `makes its group, and is given what was there before`() async throws {
    try await withClient { client, server in
      _ = try await add(client, "in", "early")
      let reader = reader(client, server)
      let entries = try await reader.next()
      #expect(texts(entries) == ["early"])
      try await reader.acknowledge(entries.map(\.id))
      let pending = try await client.call(RedisCommand("XPENDING", "in", "fieldcast")).arrayValue()
      #expect(pending.first == .integer(0))
      #expect(await reader.recreations == 0)
      await reader.close()
    }
  }

  @Test func `is given again what an earlier life did not acknowledge`() async throws {
    try await withClient { client, server in
      for number in 0..<120 { _ = try await add(client, "in", "\(number)") }
      let first = reader(client, server)
      var taken: [StreamEntry] = []
      while taken.count < 120 { taken += try await first.next() }
      try await first.acknowledge(taken[..<10].map(\.id))
      await first.close()
      _ = try await add(client, "in", "new")
      let second = reader(client, server)
      var again: [String] = []
      while again.last != "new" { again += texts(try await second.next()) }
      #expect(again == (10..<120).map { "\($0)" } + ["new"])
      await second.close()
    }
  }

  @Test func `loses nothing when its connection is cut again and again`() async throws {
    try await withClient { client, server in
      let reader = reader(client, server)
      let writing = Task {
        for number in 0..<400 {
          _ = try await add(client, "in", "\(number)")
          if number.isMultiple(of: 25) {
            _ = try await client.call(
              RedisCommand("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"))
          }
        }
      }
      var seen: Set<String> = []
      while seen.count < 400 {
        let entries = try await reader.next()
        seen.formUnion(texts(entries))
        try await reader.acknowledge(entries.map(\.id))
      }
      try await writing.value
      await reader.close()
    }
  }

  @Test func `fetches entries again that were handed to it in a reply that was lost`() async throws
  {
    try await withClient { client, server in
      let relay = try await Relay.open(to: server.configuration.endpoint, on: loop)
      let reader = StreamGroupReader(
        key: "in", group: "fieldcast", consumer: "one", configuration: await relay.configuration,
        commands: client, block: .milliseconds(100))
      _ = try await add(client, "in", "seen")
      #expect(texts(try await reader.next()) == ["seen"])
      await relay.loseReply(containing: "lost on the way")
      let reading = Task { try await reader.next() }
      _ = try await add(client, "in", "lost on the way")
      #expect(texts(try await reading.value) == ["lost on the way"])
      #expect(await relay.hasLostIt)
      _ = try await add(client, "in", "after")
      #expect(texts(try await reader.next()) == ["after"])
      await reader.close()
      await relay.close()
    }
  }

  @Test func `makes a lost group anew and misses nothing in between`() async throws {
    try await withClient { client, server in
      let reader = reader(client, server)
      _ = try await add(client, "in", "0")
      #expect(texts(try await reader.next()) == ["0"])
      for round in 1...3 {
        if round.isMultiple(of: 2) {
          _ = try await client.call(RedisCommand("DEL", "in"))
        } else {
          _ = try await client.call(RedisCommand("XGROUP", "DESTROY", "in", "fieldcast"))
        }
        _ = try await add(client, "in", "\(round)")
        #expect(texts(try await reader.next()) == ["\(round)"])
      }
      #expect(await reader.recreations == 3)
      await reader.close()
    }
  }

  @Test func `shares the work, and takes over what another left lying`() async throws {
    try await withClient { client, server in
      for number in 0..<80 { _ = try await add(client, "in", "\(number)") }
      let idle = reader(client, server, consumer: "idle")
      let busy = reader(client, server, consumer: "busy")
      let held = try await idle.next()
      let own = try await busy.next()
      #expect(held.count == 50)
      #expect(own.count == 30)
      let claimed = try await busy.claim(idleFor: .zero)
      #expect(Set(claimed.map(\.id)).isSuperset(of: held.map(\.id)))
      try await busy.acknowledge((own + held).map(\.id))
      let pending = try await client.call(RedisCommand("XPENDING", "in", "fieldcast")).arrayValue()
      #expect(pending.first == .integer(0))
      await idle.close()
      await busy.close()
    }
  }

  private static func length(_ client: RedisClient) async throws -> Int64 {
    try await client.call(RedisCommand("XLEN", "in")).integerValue()
  }

  @Test func `takes out of the stream what is finished, and never what waits`() async throws {
    try await withClient { client, server in
      for number in 0..<120 { _ = try await add(client, "in", "\(number)") }
      let reader = reader(client, server)
      let first = try await reader.next()
      let second = try await reader.next()
      #expect(first.count == 50 && second.count == 50)
      // The first fifty are still under way: nothing behind them goes.
      try await reader.finish(second.map(\.id))
      #expect(try await Self.length(client) == 120)
      try await reader.finish(first[1...].map(\.id))
      #expect(try await Self.length(client) == 120)
      try await reader.finish([first[0].id])
      #expect(try await Self.length(client) == 20)
      let third = try await reader.next()
      #expect(texts(third) == (100..<120).map { "\($0)" })
      try await reader.finish(third.map(\.id))
      #expect(try await Self.length(client) == 0)
      // An empty stream is read on.
      _ = try await add(client, "in", "later")
      #expect(texts(try await reader.next()) == ["later"])
      await reader.close()
    }
  }

  /// That is how room is made again.
  @Test func `finishes entries when the server has no memory left`() async throws {
    try await withClient { client, server in
      for number in 0..<30 { _ = try await add(client, "in", "\(number)") }
      let reader = reader(client, server)
      let entries = try await reader.next()
      _ = try await client.call(RedisCommand("CONFIG", "SET", "maxmemory", 1))
      try await reader.finish(entries.map(\.id))
      #expect(try await Self.length(client) == 0)
      await reader.close()
    }
  }

  @Test func `leaves in the stream what another group has not finished`() async throws {
    try await withClient { client, server in
      for number in 0..<60 { _ = try await add(client, "in", "\(number)") }
      _ = try await client.call(.xgroupCreate("in", group: "other", after: .zero))
      let ours = reader(client, server)
      let other = StreamGroupReader(
        key: "in", group: "other", consumer: "one", configuration: server.configuration,
        commands: client, count: 40, block: .milliseconds(100))
      var taken = try await ours.next()
      taken += try await ours.next()
      try await ours.finish(taken.map(\.id))
      #expect(try await Self.length(client) == 60)
      let theirs = try await other.next()
      #expect(theirs.count == 40)
      try await other.finish(theirs[..<30].map(\.id))
      #expect(try await Self.length(client) == 30)
      try await other.finish(theirs[30...].map(\.id))
      #expect(try await Self.length(client) == 20)
      await ours.close()
      await other.close()
    }
  }

  @Test func `finishes nothing in a stream that is gone`() async throws {
    try await withClient { client, server in
      _ = try await add(client, "in", "0")
      let reader = reader(client, server)
      let entries = try await reader.next()
      _ = try await client.call(RedisCommand("DEL", "in"))
      try await reader.finish(entries.map(\.id))
      await reader.close()
    }
  }

  @Test func `marks pending entries that the stream has no more`() async throws {
    try await withClient { client, server in
      let id = try await add(client, "in", "short-lived")
      let first = reader(client, server)
      _ = try await first.next()
      await first.close()
      _ = try await client.call(RedisCommand("XDEL", "in", id))
      let second = reader(client, server)
      let entries = try await second.next()
      #expect(entries == [StreamEntry(id: id, fields: [], isDeleted: true)])
      await second.close()
    }
  }

  @Test func `passes on that its key is no stream`() async throws {
    try await withClient { client, server in
      _ = try await client.call(RedisCommand("SET", "in", "text"))
      let reader = reader(client, server)
      let error = await redisError { _ = try await reader.next() }
      #expect(error?.refusal?.kind == .wrongType)
      await reader.close()
    }
  }
}
