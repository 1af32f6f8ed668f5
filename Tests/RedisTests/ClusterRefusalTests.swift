import Synchronization
import Testing
import Transport

@testable import Redis

/// Keys in the first node's half of the slots, and in the second's.
private let low = "bar"
private let high = "foo"

/// What a cluster's client does, against nodes that say what a test wants.
@Suite(.timeLimit(.minutes(2))) struct `A cluster's refusals` {
  /// Two nodes that share the slots, and a client.
  private func withNodes(
    _ body: (RedisCluster, FakeNode, FakeNode) async throws -> Void
  ) async throws {
    let first = try await FakeNode()
    let second = try await FakeNode()
    share(first, second)
    var configuration = RedisConfiguration(endpoint: first.address.endpoint)
    configuration.firstBackoff = .milliseconds(5)
    let cluster = RedisCluster(
      configuration: configuration, seeds: [first.address], loop: loop)
    try await body(cluster, first, second)
    await cluster.close(atOnce: true)
    first.close()
    second.close()
  }

  private func share(
    _ first: FakeNode, _ second: FakeNode,
    _ atFirst: @escaping FakeNode.Answer = { _, _ in "+1\r\n" },
    _ atSecond: @escaping FakeNode.Answer = { _, _ in "+2\r\n" }
  ) {
    let slots = [(0...8_191, first), (8_192...16_383, second)]
    first.answerInCluster(slots, atFirst)
    second.answerInCluster(slots, atSecond)
  }

  private func expect(
    _ answer: String, _ command: RedisCommand, _ cluster: RedisCluster,
    sourceLocation: SourceLocation = #_sourceLocation
  ) async throws {
    let reply = try await cluster.call(command)
    #expect(reply == .simple(answer), sourceLocation: sourceLocation)
  }

  @Test func `sends each command to the node that has its slot`() async throws {
    #expect(ClusterSlot.of(low) < 8_192 && ClusterSlot.of(high) >= 8_192)
    try await withNodes { cluster, first, second in
      try await expect("1", RedisCommand("GET", low), cluster)
      try await expect("2", RedisCommand("GET", high), cluster)
      var batch = RedisBatch()
      for key in [high, low, low, high] { batch.append("INCR", key) }
      #expect(
        await cluster.callAll(batch)
          == ["2", "1", "1", "2"].map { .success(.simple($0)) })
      #expect(first.heard("INCR").count == 2)
      #expect(second.heard("INCR").count == 2)
    }
  }

  @Test func `follows a slot that has moved, and remembers where`() async throws {
    try await withNodes { cluster, first, second in
      let slot = ClusterSlot.of(low)
      let moved = "-MOVED \(slot) \(second.address)\r\n"
      share(first, second, { _, _ in moved })
      for _ in 0..<3 {
        try await expect("2", RedisCommand("INCR", low), cluster)
      }
      #expect(first.heard("INCR").count == 1)
      #expect(second.heard("INCR").count == 3)
    }
  }

  @Test func `asks where a slot is on its way to, and for that one command only`() async throws {
    try await withNodes { cluster, first, second in
      let ask = "-ASK \(ClusterSlot.of(low)) \(second.address)\r\n"
      var batch = RedisBatch()
      batch.append("SET", "{\(low)}", "old")
      batch.append("INCR", low)
      share(
        first, second, { words, _ in words[0] == "INCR" ? ask : "+1\r\n" },
        { words, _ in words[0] == "ASKING" ? "+OK\r\n" : "+2\r\n" })
      #expect(
        await cluster.callAll(batch) == [.success(.simple("1")), .success(.simple("2"))])
      #expect(second.heard("ASKING").count == 1)
      #expect(second.heard("SET").isEmpty)
      #expect(first.heard("INCR").count == 1)
    }
  }

  @Test(arguments: [
    "TRYAGAIN Multiple keys request during rehashing of slot", "CLUSTERDOWN The cluster is down",
    "LOADING Redis is loading the dataset in memory", "BUSY Redis is busy running a script",
    "MASTERDOWN Link with MASTER is down", "READONLY You can't write against a read only replica.",
  ])
  func `waits until what was refused for the moment is done`(refusal: String) async throws {
    try await withNodes { cluster, first, second in
      share(
        first, second,
        { words, count in
          words[0] == "INCR" && count < 3 ? "-\(refusal)\r\n" : "+done\r\n"
        })
      try await expect("done", RedisCommand("INCR", low), cluster)
      #expect(first.heard("INCR").count == 4)
    }
  }

  @Test func `gives up at the deadline, with what the node said last`() async throws {
    try await withNodes { cluster, first, second in
      share(first, second, { _, _ in "-CLUSTERDOWN Hash slot not served\r\n" })
      let error = await redisError {
        _ = try await cluster.call(
          RedisCommand("INCR", low), deadline: .milliseconds(200))
      }
      #expect(error?.refusal?.kind == .clusterDown)
    }
  }

  @Test func `passes on what waiting does not help`() async throws {
    try await withNodes { cluster, first, second in
      share(first, second, { _, _ in "-OOM command not allowed\r\n" })
      let error = await redisError {
        _ = try await cluster.call(RedisCommand("INCR", low))
      }
      #expect(error?.refusal?.kind == .outOfMemory)
      #expect(first.heard("INCR").count == 1)
    }
  }

  @Test func `sends a script in full to each node that does not know it`() async throws {
    try await withNodes { cluster, first, second in
      let answer: FakeNode.Answer = { words, _ in
        words[0] == "EVALSHA" ? "-NOSCRIPT No matching script.\r\n" : ":7\r\n"
      }
      share(first, second, answer, answer)
      let script = RedisScript(name: "seven", source: "return 7")
      var batch = RedisBatch()
      batch.append(script, keys: [low])
      batch.append(script, keys: [high])
      #expect(await cluster.callAll(batch) == [.success(.integer(7)), .success(.integer(7))])
      #expect(first.heard("EVAL").map { $0[1] } == ["return 7"])
      #expect(second.heard("EVAL").count == 1)
    }
  }

  @Test func `repeats after a lost answer only what may be done twice`() async throws {
    try await withNodes { cluster, first, second in
      // The first of each name gets no answer.
      share(first, second, { _, count in count == 0 ? nil : "+1\r\n" })
      try await expect("1", RedisCommand("GET", low), cluster)
      #expect(first.heard("GET").count == 2)
      let error = await redisError {
        _ = try await cluster.call(RedisCommand("INCR", low))
      }
      guard case .unknownOutcome(let failure) = error else {
        Issue.record("\(String(describing: error))")
        return
      }
      #expect(failure.kind == .lost)
      #expect(first.heard("INCR").count == 1)
    }
  }

  @Test func `does not let a batch wait long for one node of several`() async throws {
    try await withNodes { cluster, first, second in
      try await expect("1", RedisCommand("GET", low), cluster)
      share(first, second, { _, _ in "-CLUSTERDOWN Hash slot not served\r\n" })
      var batch = RedisBatch()
      batch.append("INCR", low)
      batch.append("INCR", high)
      // With an hour to go, only the batch itself can end this.
      let replies = await cluster.callAll(batch, deadline: .seconds(3_600))
      #expect(replies[1] == .success(.simple("2")))
      guard case .failure(let error) = replies[0] else {
        Issue.record("\(replies[0])")
        return
      }
      #expect(error.refusal?.kind == .clusterDown)
    }
  }

  @Test func `never gives up the nodes that it was given`() async throws {
    try await withNodes { cluster, first, second in
      try await expect("1", RedisCommand("GET", low), cluster)
      // The cluster says that it is somewhere else, where nobody is.
      let nowhere = try await FakeNode()
      nowhere.close()
      first.answerInCluster([(0...16_383, nowhere)])
      second.answerInCluster([(0...16_383, nowhere)])
      try await eventually {
        await cluster.lookAgain(hint: nil)
        return await cluster.masters == [nowhere.address]
      }
      let error = await redisError {
        _ = try await cluster.call(RedisCommand("GET", low), deadline: .milliseconds(300))
      }
      #expect(error?.failure?.kind == .cannotConnect)
      share(first, second)
      try await expect("1", RedisCommand("GET", low), cluster)
    }
  }
}
