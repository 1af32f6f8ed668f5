import Clocks
import Crypto
import RedisStage
import Testing
import Transport

@testable import Redis

/// A client and a real cluster.
@Suite(.timeLimit(.minutes(3))) struct `A Redis cluster` {
  private func withCluster(
    masters: Int = 2, replicas: Int = 0,
    _ change: (inout RedisConfiguration) -> Void = { _ in },
    _ body: (RedisCluster, PrivateRedisCluster) async throws -> Void
  ) async throws {
    try await PrivateRedisCluster.withTemporary(
      masters: masters, replicas: replicas, on: loop
    ) { servers in
      var configuration = RedisConfiguration(endpoint: servers.seeds[0].endpoint)
      configuration.firstBackoff = .milliseconds(20)
      configuration.commandDeadline = .seconds(30)
      change(&configuration)
      let cluster = RedisCluster(
        configuration: configuration, seeds: servers.seeds, loop: loop)
      try await cluster.waitUntilConnected(deadline: .seconds(10))
      do {
        try await body(cluster, servers)
      } catch {
        await cluster.close(atOnce: true)
        throw error
      }
      await cluster.close(atOnce: true)
    }
  }

  /// Two keys that change together, and a third that is there only sometimes.
  private static let both = RedisScript(
    name: "both",
    source: #"""
      #!lua
      redis.call('INCR', KEYS[1])
      if redis.call('EXISTS', KEYS[3]) == 1 then redis.call('DEL', KEYS[3])
      else redis.call('SET', KEYS[3], 1) end
      return redis.call('INCR', KEYS[2])
      """#)

  @Test func `carries out each command once while its slot moves to and fro`() async throws {
    try await withCluster { cluster, servers in
      let tags = (0..<6).map { "t\($0)" }
      let stop = Stop()
      try await withThrowingTaskGroup(of: [String: Int].self) { group in
        for worker in 0..<4 {
          group.addTask(executorPreference: loop.tasks) {
            try await Self.work(worker, tags, cluster, until: stop)
          }
        }
        for round in 0..<3 {
          for tag in tags {
            let slot = ClusterSlot.of(tag)
            let from = try await servers.master(of: slot)
            let to = try #require(servers.masters.first { $0.id != from.id })
            try await servers.move(slot, to: to) {
              // Some commands must run into a slot that is on its way.
              try await loop.sleep(for: .milliseconds(round == 0 ? 30 : 5))
            }
          }
        }
        stop.set()
        var counts: [String: Int] = [:]
        for try await part in group { counts.merge(part) { $0 + $1 } }
        for tag in tags {
          let done = counts[tag, default: 0]
          #expect(done > 0)
          for key in ["{\(tag)}a", "{\(tag)}b"] {
            #expect(try await cluster.call(RedisCommand("GET", key)).intValue() == done)
          }
          #expect(
            try await cluster.call(RedisCommand("GET", "{\(tag)}c")).intValue()
              == counts["c" + tag, default: 0])
        }
      }
    }
  }

  /// - Returns: how often each was carried out, as far as we were told.
  private static func work(
    _ worker: Int, _ tags: [String], _ cluster: RedisCluster, until stop: Stop
  ) async throws -> [String: Int] {
    var counts: [String: Int] = [:]
    while !stop.isSet {
      var batch = RedisBatch()
      for tag in tags {
        batch.append(both, keys: ["{\(tag)}a", "{\(tag)}b", "{\(tag)}\(worker)"])
        batch.append("INCR", "{\(tag)}c")
      }
      for (index, reply) in await cluster.callAll(batch).enumerated() {
        let tag = tags[index / 2]
        switch reply {
        case .success: counts[index.isMultiple(of: 2) ? tag : "c" + tag, default: 0] += 1
        // Refusals mean that nothing was done; the slot is still on its way.
        case .failure(.refused(let refusal)): #expect(refusal.isPassing, "\(refusal)")
        case .failure(let error): Issue.record("\(error)")
        }
      }
    }
    return counts
  }

  @Test func `goes on with the replica of a master that is lost`() async throws {
    try await withCluster(masters: 3, replicas: 1) { cluster, servers in
      let keys = (0..<30).map { "k\($0)" }
      for key in keys {
        _ = try await cluster.call(RedisCommand("SET", key, key).repeatable())
      }
      let promoted = try await withThrowingTaskGroup(of: Void.self) { group in
        let stop = Stop()
        group.addTask(executorPreference: loop.tasks) {
          // Commands meet the master before, during and after.
          while !stop.isSet {
            for key in keys {
              _ = try await cluster.call(RedisCommand("SET", key, key).repeatable())
            }
          }
        }
        let promoted = try await servers.failOver(0)
        for key in keys {
          let value = try await cluster.call(RedisCommand("GET", key)).stringValue()
          #expect(value == key)
        }
        stop.set()
        try await group.waitForAll()
        return promoted
      }
      #expect(await cluster.masters.contains(promoted.address))
      #expect(await cluster.losses > 0)
      // The master comes back in a cluster that has another: it is a replica now.
      #expect(await !cluster.masters.contains(servers.masters[0].address))
    }
  }

  @Test func `hears sharded channels wherever their slots are, and says when it did not`()
    async throws
  {
    try await withCluster { cluster, servers in
      let listener = ShardSubscriber(cluster: cluster)
      let channels = (0..<8).map { "{c\($0)}bell" }
      await listener.subscribe(to: channels)
      var heard = Heard(listener: listener)
      try await heard.wait { $0.subscribed == Set(channels) }
      for channel in channels {
        let count = try await cluster.call(RedisCommand("SPUBLISH", channel, "1")).intValue()
        #expect(count == 1)
      }
      try await heard.wait { $0.messages.count == channels.count }
      let slot = ClusterSlot.of("c0")
      let from = try await servers.master(of: slot)
      try await servers.move(slot, to: try #require(servers.masters.first { $0.id != from.id }))
      try await heard.wait { $0.gaps == [channels[0]] }
      #expect(
        try await cluster.call(RedisCommand("SPUBLISH", channels[0], "2")).intValue() == 1)
      try await heard.wait { $0.messages.count == channels.count + 1 }
      await listener.unsubscribe(from: channels)
      try await eventually {
        try await cluster.call(RedisCommand("SPUBLISH", channels[0], "3")).intValue() == 0
      }
      await listener.close()
    }
  }

  /// What a listener heard so far.
  private struct Heard {
    let listener: ShardSubscriber
    var subscribed: Set<String> = []
    var messages: [String] = []
    var gaps: Set<String> = []

    mutating func wait(until isMet: (Heard) -> Bool) async throws {
      while !isMet(self) {
        for event in try #require(await listener.nextBatch()) {
          switch event {
          case .subscribed(let channel): subscribed.insert(channel)
          case .message(let channel, _): messages.append(channel)
          case .gap(let gap): gaps.insert(gap.channel)
          case .refused(let refusal): Issue.record("\(refusal)")
          case .dropped: Issue.record("a dropped channel is looked for, and not passed on")
          }
        }
      }
    }
  }

  @Test func `reads a stream on while its slot moves`() async throws {
    try await withCluster { cluster, servers in
      let key = "stream"
      let slot = ClusterSlot.of(key)
      let reader = StreamGroupReader(
        key: key, group: "g", consumer: "c", configuration: cluster.configuration,
        locator: SlotLocator(cluster: cluster, slot: slot), commands: cluster,
        block: .seconds(20))
      let count = 300
      async let read = Self.read(count, from: reader)
      for number in 1...count {
        _ = try await cluster.call(
          .xadd(key, [StreamEntry.Field("n", "\(number)")]))
        guard number.isMultiple(of: 100) else { continue }
        let from = try await servers.master(of: slot)
        try await servers.move(slot, to: try #require(servers.masters.first { $0.id != from.id }))
      }
      #expect(try await read == Array(1...count))
      await reader.close()
    }
  }

  private static func read(_ count: Int, from reader: StreamGroupReader) async throws -> [Int] {
    var numbers: [Int] = []
    while numbers.count < count {
      do throws(RedisError) {
        let entries = try await reader.next()
        try await reader.acknowledge(entries.map(\.id))
        numbers += entries.compactMap { $0.text("n").flatMap { Int($0) } }
      } catch {
        // Between two nodes for a moment.
        guard error.refusal != nil else { throw error }
      }
    }
    return numbers
  }

  @Test func `is not what a single server takes itself for`() async throws {
    let port = try await StreamListener.freePort(on: loop)
    try await PrivateRedisServer.withTemporary(on: loop, port: port) { server in
      let cluster = RedisCluster(
        configuration: server.configuration,
        seeds: [RedisAddress(host: "127.0.0.1", port: port)], loop: loop)
      let error = await redisError {
        try await cluster.waitUntilConnected(deadline: .milliseconds(300))
      }
      let text = "\(try #require(error))"
      #expect(text.contains("cluster support disabled"))
      await cluster.close(atOnce: true)
    }
  }
}

/// A flag that tasks look at.
final class Stop: Sendable {
  private let flag = Lock(false)

  var isSet: Bool { flag.withLock { $0 } }

  func set() { flag.withLock { $0 = true } }
}

/// Names and passwords hold for nodes too that the cluster named.
@Suite(.timeLimit(.minutes(2))) struct `A cluster over TLS` {
  /// One node with all slots that calls itself 127.0.0.1, and a certificate for these names.
  private func withNode(
    _ names: [CertificateAuthority.SubjectName],
    _ body: (RedisCluster) async throws -> Void
  ) async throws {
    let now = WallClock.now().wholeSeconds
    let validity = CertificateAuthority.Validity.days(1, fromSeconds: now)
    let authority = try CertificateAuthority(commonName: "Test", validity: validity)
    let issued = try authority.issue(.server, names: names, validity: validity)
    let folder = try TemporaryFolder(for: "redis").path
    defer { TemporaryFolder.remove(folder) }
    try StageFile.write(String(decoding: issued.chainPEM, as: UTF8.self), to: folder + "/chain.pem")
    try StageFile.write(
      String(decoding: issued.privateKeyPEM, as: UTF8.self), to: folder + "/key.pem")
    let trusted = try authority.certificatePEM()
    try StageFile.write(String(decoding: trusted, as: UTF8.self), to: folder + "/trusted.pem")
    let port = try await StreamListener.freePort(on: loop)
    let bus = try await StreamListener.freePort(on: loop)
    let arguments = [
      "--cluster-enabled", "yes", "--cluster-port", "\(bus)", "--cluster-announce-ip",
      "127.0.0.1", "--tls-port", "\(port)", "--tls-cluster", "yes", "--tls-cert-file",
      folder + "/chain.pem", "--tls-key-file", folder + "/key.pem", "--tls-ca-cert-file",
      folder + "/trusted.pem", "--tls-auth-clients", "no",
    ]
    try await withRedis(arguments: arguments) { server in
      let connection = try await RedisConnection.connect(server.configuration, loop: loop)
      _ = try await connection.call(RedisCommand("CLUSTER", "ADDSLOTSRANGE", 0, 16_383))
      _ = try await connection.call(
        RedisCommand("ACL", "SETUSER", "me", "on", ">secret", "~*", "&*", "+@all"))
      // Nobody comes in without it.
      _ = try await connection.call(RedisCommand("ACL", "SETUSER", "default", "nopass", "-@all"))
      let deployment = try RedisDeployment(
        url: "rediss-cluster://me:secret@localhost:\(port)"
      ) { try TLSClientContext(trust: .pem(trusted), alpn: []) }
      guard case .cluster(let seeds) = deployment.layout else {
        Issue.record("\(deployment.layout)")
        return
      }
      var configuration = deployment.server
      configuration.firstBackoff = .milliseconds(20)
      let cluster = RedisCluster(configuration: configuration, seeds: seeds, loop: loop)
      try await body(cluster)
      await cluster.close(atOnce: true)
      await connection.abort()
    }
  }

  @Test func `carries commands to nodes that it found, with user and password`() async throws {
    try await withNode([.dns("localhost"), .ip("127.0.0.1")]) { cluster in
      _ = try await cluster.call(RedisCommand("SET", "k", "v"))
      #expect(try await cluster.call(RedisCommand("GET", "k")).stringValue() == "v")
      #expect(await cluster.masters.map(\.host) == ["127.0.0.1"])
    }
  }

  @Test func `refuses a node whose certificate is not one for where it was found`() async throws {
    try await withNode([.dns("localhost")]) { cluster in
      let error = await redisError {
        _ = try await cluster.call(RedisCommand("GET", "k"), deadline: .seconds(1))
      }
      #expect(error?.failure?.kind == .cannotConnect)
      // The first node was believed: it was named as its certificate has it.
      #expect(await cluster.masters.map(\.host) == ["127.0.0.1"])
    }
  }
}
