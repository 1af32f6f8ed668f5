import Clocks
import Glibc
import Testing
import Transport

@testable import Redis

/// Takes a subscriber's events one by one.
private struct Ear {
  let subscriber: RedisSubscriber
  private var waiting: [SubscriberEvent] = []

  init(_ subscriber: RedisSubscriber) { self.subscriber = subscriber }

  mutating func next() async -> SubscriberEvent? {
    while waiting.isEmpty {
      guard let batch = await subscriber.nextBatch() else { return nil }
      waiting = batch
    }
    return waiting.removeFirst()
  }

  /// The next message's payload, whatever comes before it.
  mutating func message() async -> String? {
    while let event = await next() {
      if case .message(_, let payload) = event { return String(decoding: payload, as: UTF8.self) }
    }
    return nil
  }

  mutating func gap() async -> SubscriptionGap? {
    while let event = await next() {
      if case .gap(let gap) = event { return gap }
    }
    return nil
  }
}

@Suite(.timeLimit(.minutes(2))) struct `A subscriber` {
  private func withSubscriber(
    maxBuffered: Int = 10_000,
    _ body: (RedisSubscriber, RedisClient, PrivateRedisServer) async throws -> Void
  ) async throws {
    try await withClient { client, server in
      var configuration = server.configuration
      configuration.firstBackoff = .milliseconds(2)
      configuration.longestBackoff = .milliseconds(50)
      // Other tests share the loop and the machine, so a busy moment must not look like silence.
      configuration.keepAlive = .milliseconds(1_500)
      let subscriber = RedisSubscriber(
        configuration: configuration, loop: loop, maxBuffered: maxBuffered)
      try await body(subscriber, client, server)
      await subscriber.close()
    }
  }

  @Test func `hears what is published on its channels, in order and whole`() async throws {
    try await withSubscriber { subscriber, client, _ in
      await subscriber.subscribe(to: ["notes"])
      var ear = Ear(subscriber)
      #expect(await ear.next() == .subscribed(channel: "notes"))
      #expect(await subscriber.isHearingAll)
      let payload: [UInt8] = [0, 255, 13, 10, 36]
      _ = try await client.call(RedisCommand("PUBLISH", "notes", payload))
      _ = try await client.call(RedisCommand("PUBLISH", "other", "unheard"))
      for number in 0..<1000 {
        _ = try await client.call(RedisCommand("PUBLISH", "notes", number))
      }
      #expect(await ear.next() == .message(channel: "notes", payload: payload))
      var heard: [String?] = []
      for _ in 0..<1000 { heard.append(await ear.message()) }
      #expect(heard == (0..<1000).map { String($0) })
    }
  }

  @Test func `reports a gap for each loss, and hears again`() async throws {
    try await withSubscriber { subscriber, client, _ in
      await subscriber.subscribe(to: ["notes"])
      var ear = Ear(subscriber)
      #expect(await ear.next() == .subscribed(channel: "notes"))
      for round in 0..<10 {
        _ = try await client.call(RedisCommand("CLIENT", "KILL", "TYPE", "pubsub"))
        let gap = try #require(await ear.gap())
        #expect(gap.channel == "notes")
        #expect(gap.from <= gap.until)
        _ = try await client.call(RedisCommand("PUBLISH", "notes", "\(round)"))
        #expect(await ear.message() == "\(round)")
      }
      #expect(await subscriber.gaps == 10)
    }
  }

  @Test func `forgets no channel when it is cut off again while it subscribes`() async throws {
    try await withSubscriber { subscriber, client, server in
      let channels = (0..<20).map { "channel-\($0)" }
      await subscriber.subscribe(to: channels)
      for _ in 0..<100 {
        // Hits connections at any point of their introduction and their subscribing.
        _ = try await client.call(RedisCommand("CLIENT", "KILL", "TYPE", "pubsub"))
        let list = try await client.call(RedisCommand("CLIENT", "LIST", "TYPE", "normal"))
        for line in try list.stringValue().split(separator: "\n") where !line.contains("cmd=client")
        {
          let id = line.split(separator: " ")[0].dropFirst(3)
          _ = try await client.call(RedisCommand("CLIENT", "KILL", "ID", String(id)))
        }
      }
      try await eventually { await subscriber.isHearingAll }
      let counts = try await client.call(RedisCommand("PUBSUB", "NUMSUB", Spread(channels)))
        .arrayValue()
      #expect(counts.count == 40)
      for index in stride(from: 1, to: counts.count, by: 2) {
        #expect(counts[index] == .integer(1))
      }
      _ = server
    }
  }

  @Test func `ends where its wishes end, however they came about`() async throws {
    try await withSubscriber { subscriber, client, _ in
      await subscriber.subscribe(to: ["a", "b"])
      await subscriber.unsubscribe(from: ["a"])
      await subscriber.subscribe(to: ["c", "a"])
      await subscriber.unsubscribe(from: ["b", "a"])
      _ = try await client.call(RedisCommand("CLIENT", "KILL", "TYPE", "pubsub"))
      await subscriber.subscribe(to: ["d"])
      await subscriber.unsubscribe(from: ["c"])
      try await eventually { await subscriber.isHearingAll }
      try await eventually {
        try await client.call(RedisCommand("PUBSUB", "CHANNELS")).stringsValue() == ["d"]
      }
    }
  }

  @Test func `notices a server that is silent`() async throws {
    try await withSubscriber { subscriber, client, server in
      await subscriber.subscribe(to: ["notes"])
      var ear = Ear(subscriber)
      #expect(await ear.next() == .subscribed(channel: "notes"))
      try await eventually {
        // The introduction and two signs of life.
        let info = try await client.call(RedisCommand("INFO", "commandstats")).stringValue()
        let ping = info.split(separator: "\r\n").first { $0.hasPrefix("cmdstat_ping") }
        let calls = ping?.split(separator: ",")[0].split(separator: "=")[1]
        return calls.flatMap { Int($0) } ?? 0 >= 4
      }
      // No claim that there was no gap by now: on a busy machine the server, or we, may have been
      // silent for that long.
      server.process.signal(SIGSTOP)
      try await eventually { await subscriber.isHearingAll == false }
      server.process.signal(SIGCONT)
      let gap = try #require(await ear.gap())
      #expect(gap.reason.contains("sign of life"))
    }
  }

  @Test func `makes the server wait when nobody takes its messages`() async throws {
    try await withSubscriber(maxBuffered: 10) { subscriber, client, _ in
      await subscriber.subscribe(to: ["notes"])
      var ear = Ear(subscriber)
      #expect(await ear.next() == .subscribed(channel: "notes"))
      let payload = String(repeating: "x", count: 10_000)
      var batch = RedisBatch()
      for number in 0..<1000 { batch.append("PUBLISH", "notes", "\(number) \(payload)") }
      for reply in await client.callAll(batch) { #expect(try reply.get() == .integer(1)) }
      // Longer than two signs of life would take: waiting for us must not count as silence.
      try await loop.sleep(for: .milliseconds(4_000))
      for number in 0..<1000 {
        #expect(await ear.message()?.hasPrefix("\(number) ") == true)
      }
      #expect(await subscriber.gaps == 0)
    }
  }

  @Test func `says when it may not subscribe`() async throws {
    let arguments = ["--user", "deaf", "on", ">pw", "~*", "resetchannels", "+@all"]
    try await withRedis(arguments: arguments) { server in
      var configuration = server.configuration
      configuration.user = "deaf"
      configuration.password = "pw"
      let subscriber = RedisSubscriber(configuration: configuration, loop: loop)
      await subscriber.subscribe(to: ["notes"])
      guard case .refused(let refusal)? = await subscriber.nextBatch()?.first else {
        Issue.record("not refused")
        return
      }
      #expect(refusal.kind == .noPermission)
      await subscriber.close()
    }
  }

  @Test func `ends its sequence when it is closed`() async throws {
    try await withSubscriber { subscriber, _, _ in
      await subscriber.subscribe(to: ["notes"])
      let listening = Task {
        var count = 0
        for await batch in subscriber.batches { count += batch.count }
        return count
      }
      try await eventually { await subscriber.isHearingAll }
      await subscriber.close()
      #expect(await listening.value == 1)
    }
  }
}
