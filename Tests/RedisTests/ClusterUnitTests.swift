import Testing

@testable import Redis

@Suite struct `A key's slot` {
  @Test func `is the one that Redis says`() {
    // As CLUSTER KEYSLOT answers.
    #expect(ClusterSlot.of("123456789") == 12_739)
    #expect(ClusterSlot.of("foo") == 12_182)
    #expect(ClusterSlot.of("") == 0)
  }

  @Test func `is its tag's, if it has one`() {
    #expect(ClusterSlot.of("fc:{p042}:log") == ClusterSlot.of("p042"))
    #expect(ClusterSlot.of("foo{{bar}}zap") == ClusterSlot.of("{bar"))
    #expect(ClusterSlot.of("foo{}{bar}") != ClusterSlot.of("bar"))
    #expect(ClusterSlot.of("foo{bar") != ClusterSlot.of("bar"))
  }

  @Test func `is found in every kind of command`() {
    let script = RedisScript(name: "s", source: "return 1")
    let slot = ClusterSlot.of("k")
    let keyed = [
      RedisCommand("GET", "k"), RedisCommand("DEL", Spread(["k", "l"])),
      RedisCommand(script, keys: ["k", "l"], arguments: "a"),
      RedisCommand("XGROUP", "CREATE", "k", "g", "0"), RedisCommand("XINFO", "STREAM", "k"),
      .xread([("k", after: .zero)], count: 1, block: .seconds(1)),
      .xreadgroup("k", group: "g", consumer: "c", after: nil, count: 1, block: .seconds(1)),
      RedisCommand("SPUBLISH", "k", "text"),
    ]
    for command in keyed { #expect(command.slot == slot, "\(command.label)") }
    let free = [
      RedisCommand("PING"), RedisCommand("PUBLISH", "k", "text"), script.loading,
      RedisCommand(script, keys: [], arguments: "a"), RedisCommand("CLUSTER", "INFO"),
    ]
    for command in free { #expect(command.slot == nil, "\(command.label)") }
    let batch = RedisBatch(keyed + free)
    #expect((0..<batch.count).map(batch.slot(of:)) == (keyed + free).map(\.slot))
  }
}

@Suite struct `A map of slots` {
  private func node(_ host: RESPValue, _ port: Int64) -> RESPValue {
    .array([host, .integer(port), .bulk(Array("id".utf8))])
  }

  private func host(_ text: String) -> RESPValue { .bulk(Array(text.utf8)) }

  @Test func `is read from what a node says, which may leave out where it is itself`() throws {
    let map = try SlotMap(
      .array([
        .array([
          .integer(0), .integer(99), node(host("a"), 1), node(host("b"), 2), node(.null, 3),
        ]),
        .array([.integer(200), .integer(16_383), node(host(""), 4)]),
      ]), askedAt: "me")
    let a = RedisAddress(host: "a", port: 1)
    let me = RedisAddress(host: "me", port: 4)
    #expect(map.masters == [a, me])
    #expect(map.nodes.count == 4)
    #expect(map.master(of: 99) == a)
    #expect(map.master(of: 100) == nil)
    #expect(map.master(of: 16_383) == me)
    #expect(!map.isComplete)
  }

  @Test func `follows a slot to a master that it knows`() throws {
    var map = try SlotMap(
      .array([
        .array([.integer(0), .integer(99), node(host("a"), 1)]),
        .array([.integer(100), .integer(199), node(host("b"), 1)]),
      ]), askedAt: "")
    let b = RedisAddress(host: "b", port: 1)
    let isKnown = map.move(5, to: b)
    #expect(isKnown)
    #expect(map.master(of: 5) == b)
    #expect(map.master(of: 6) == RedisAddress(host: "a", port: 1))
    let strange = [map.move(6, to: RedisAddress(host: "c", port: 1)), map.move(-1, to: b)]
    #expect(strange == [false, false])
  }

  @Test func `takes nothing that cannot be one`() {
    for reply: RESPValue in [
      .integer(1), .array([.array([.integer(0)])]),
      .array([.array([.integer(0), .integer(16_384), node(host("a"), 1)])]),
      .array([.array([.integer(5), .integer(4), node(host("a"), 1)])]),
      .array([.array([.integer(0), .integer(9), node(host("a"), 0)])]),
    ] {
      #expect(throws: RedisError.self) { try SlotMap(reply, askedAt: "") }
    }
  }
}

@Suite struct `What is done about a refused command` {
  private func remedy(_ text: String, isRepeatable: Bool = false) -> ClusterRemedy {
    ClusterRemedy(
      for: .refused(RedisRefusal(text: text)), isRepeatable: isRepeatable, askedAt: "me")
  }

  @Test func `depends on what the node says, since it did not run`() {
    let there = RedisAddress(host: "10.0.0.1", port: 7)
    #expect(remedy("MOVED 3 10.0.0.1:7") == .follow(there, slot: 3))
    #expect(remedy("MOVED 3 :7") == .follow(RedisAddress(host: "me", port: 7), slot: 3))
    #expect(remedy("ASK 3 10.0.0.1:7") == .ask(there))
    #expect(remedy("NOSCRIPT No matching script.") == .sendInFull)
    #expect(remedy("TRYAGAIN Multiple keys") == .wait)
    #expect(remedy("BUSY Redis is busy") == .wait)
    for text in ["CLUSTERDOWN x", "LOADING x", "READONLY x", "MASTERDOWN x"] {
      #expect(remedy(text) == .lookAgain)
    }
    for text in ["OOM x", "WRONGTYPE x", "NOREPLICAS x", "MISCONF x", "NOPERM x", "ERR x"] {
      #expect(remedy(text) == .none)
    }
  }

  @Test func `depends on whether twice is as good as once where no answer came`() {
    let lost = RedisFailure(.lost, "")
    func remedy(_ error: RedisError, _ isRepeatable: Bool) -> ClusterRemedy {
      ClusterRemedy(for: error, isRepeatable: isRepeatable, askedAt: "")
    }
    #expect(remedy(.unknownOutcome(lost), true) == .lookAgain)
    #expect(remedy(.unknownOutcome(lost), false) == .none)
    #expect(remedy(.notSent(lost), false) == .lookAgain)
    #expect(remedy(.notSent(RedisFailure(.queueFull, "")), true) == .none)
    #expect(remedy(.unknownOutcome(RedisFailure(.deadline, "")), true) == .none)
  }
}
