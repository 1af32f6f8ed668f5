import Clocks
import RedisStage
import Testing
import Transport

@testable import Redis

/// What Sentinels say, against ones that say what a test wants.
@Suite(.timeLimit(.minutes(2))) struct `What Sentinels say` {
  /// Watches a primary called `trips`.
  private func answer(
    _ sentinel: FakeNode, primary port: Int, epoch: Int = 1, others: [FakeNode] = []
  ) {
    let ports = others.map(\.port)
    sentinel.answer { words, _ in
      switch words[0] {
      case "HELLO": "*2\r\n$4\r\nrole\r\n$8\r\nsentinel\r\n"
      case "PING": "+PONG\r\n"
      case "SENTINEL" where words[2] != "trips": "-ERR No such master with that name\r\n"
      case "SENTINEL" where words[1] == "GET-MASTER-ADDR-BY-NAME":
        Self.array(["127.0.0.1", "\(port)"])
      case "SENTINEL" where words[1] == "MASTER": Self.array(["config-epoch", "\(epoch)"])
      case "SENTINEL":
        "*\(ports.count)\r\n"
          + ports.map { Self.array(["ip", "127.0.0.1", "port", "\($0)"]) }.joined()
      default: "+OK\r\n"
      }
    }
  }

  private static func array(_ texts: [String]) -> String {
    "*\(texts.count)\r\n" + texts.map(FakeNode.bulk).joined()
  }

  private func watch(_ seeds: [FakeNode], name: String = "trips") -> SentinelWatch {
    let configuration = RedisConfiguration(endpoint: seeds[0].address.endpoint)
    return SentinelWatch(
      name: name, seeds: seeds.map(\.address), sentinel: configuration, server: configuration,
      loop: loop)
  }

  @Test func `is believed of the one that has seen the latest failover`() async throws {
    let sentinels = [try await FakeNode(), try await FakeNode(), try await FakeNode()]
    answer(sentinels[0], primary: 1, epoch: 4)
    answer(sentinels[1], primary: 2, epoch: 7)
    answer(sentinels[2], primary: 1, epoch: 4)
    let watch = watch(sentinels)
    let place = try await watch.locate(before: MonotonicClock.now() + .seconds(5))
    #expect(place.address == "127.0.0.1:2")
    // Only those who were left behind can be reached now.
    sentinels[1].answer { _, _ in nil }
    sentinels[2].answer { _, _ in nil }
    let later = try await watch.locate(before: MonotonicClock.now() + .seconds(5))
    #expect(later.address == "127.0.0.1:2")
    await watch.close()
  }

  @Test func `is asked of those too that they name`() async throws {
    let known = try await FakeNode()
    let other = try await FakeNode()
    answer(known, primary: 1, others: [other])
    answer(other, primary: 1)
    let watch = watch([known])
    _ = try await watch.locate(before: MonotonicClock.now() + .seconds(5))
    known.answer { _, _ in nil }
    answer(other, primary: 2, epoch: 2)
    let place = try await watch.locate(before: MonotonicClock.now() + .seconds(5))
    #expect(place.address == "127.0.0.1:2")
    await watch.close()
  }

  @Test func `is told when they do not know the name, or do not answer`() async throws {
    let sentinel = try await FakeNode()
    answer(sentinel, primary: 1)
    let watch = watch([sentinel], name: "other")
    let unknown = await redisError {
      _ = try await watch.locate(before: MonotonicClock.now() + .seconds(5))
    }
    let text = "\(try #require(unknown))"
    #expect(text.contains("\"other\""))
    sentinel.answer { _, _ in nil }
    let silent = await redisError {
      _ = try await watch.locate(before: MonotonicClock.now() + .seconds(5))
    }
    #expect(silent?.failure?.kind == .cannotConnect)
    await watch.close()
  }
}

/// Real Sentinels, a primary and its replica.
@Suite(.timeLimit(.minutes(3))) struct `A failover by Sentinels` {
  private func withBackend(
    _ body: (RedisBackend, PrivateSentinels) async throws -> Void
  ) async throws {
    try await PrivateSentinels.withTemporary(on: loop) { stage in
      var deployment = try RedisDeployment(url: stage.url) { throw StageError("no TLS here") }
      deployment.server.firstBackoff = .milliseconds(20)
      deployment.server.longestBackoff = .milliseconds(500)
      deployment.server.commandDeadline = .seconds(30)
      let backend = RedisBackend(deployment, loop: loop)
      try await backend.caller.waitUntilConnected(deadline: .seconds(10))
      do {
        try await body(backend, stage)
      } catch {
        await backend.close(atOnce: true)
        throw error
      }
      await backend.close(atOnce: true)
    }
  }

  /// The next message that is heard; gaps before it are counted.
  private func nextMessage(
    _ subscriber: RedisSubscriber, gaps: inout Int
  ) async -> [UInt8]? {
    while let events = await subscriber.nextBatch() {
      for event in events {
        switch event {
        case .gap: gaps += 1
        case .message(_, let payload): return payload
        default: break
        }
      }
    }
    return nil
  }

  @Test func `is followed by commands, subscriptions and streams when the primary dies`()
    async throws
  {
    try await withBackend { backend, stage in
      let caller = backend.caller
      let reader = backend.groupReader(key: "stream", group: "g", consumer: "c")
      let subscriber = backend.subscriber()
      await subscriber.subscribe(to: ["news"])
      #expect(await subscriber.nextBatch() == [.subscribed(channel: "news")])
      _ = try await caller.call(RedisCommand("SET", "k", "v").repeatable())
      try await stage.waitUntilReplicated()
      try await stage.failOver()
      #expect(try await caller.call(RedisCommand("GET", "k")).stringValue() == "v")
      _ = try await caller.call(RedisCommand("SET", "k", "w").repeatable())
      _ = try await caller.call(
        .xadd("stream", [StreamEntry.Field("n", "1")]))
      #expect(try await reader.next().count == 1)
      try await eventually {
        try await caller.call(RedisCommand("PUBLISH", "news", "hello")).intValue() > 0
      }
      var gaps = 0
      #expect(await nextMessage(subscriber, gaps: &gaps) == Array("hello".utf8))
      #expect(gaps == 1)
      await subscriber.close()
      await reader.close()
    }
  }

  @Test func `leaves a primary that goes on as a replica`() async throws {
    try await withBackend { backend, stage in
      let subscriber = backend.subscriber()
      await subscriber.subscribe(to: ["news"])
      _ = try await backend.caller.call(RedisCommand("INCR", "n"))
      try await stage.switchOver()
      // The old one may take a write or two before it knows; those are lost.
      try await eventually {
        _ = try await backend.caller.call(RedisCommand("SET", "n", "here").repeatable())
        return try await stage.servers[1].command(RedisCommand("GET", "n")).stringValue() == "here"
      }
      try await eventually {
        let counts = try await stage.servers[1].command(
          RedisCommand("PUBSUB", "NUMSUB", "news")
        ).arrayValue()
        return try counts[1].intValue() == 1
      }
      await subscriber.close()
    }
  }
}
