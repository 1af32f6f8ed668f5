import APNsSimulator
import Foundation
import JSON
import LoadHarness
import Redis
import Testing
import Transport

@testable import FieldcastServer

@Suite struct `The doctor's judgement` {
  /// A server as it should be.
  private var good: RedisFacts {
    var facts = RedisFacts()
    facts.info = [
      "redis_version": "7.0.15", "role": "master", "used_memory": "20000000",
      "aof_last_write_status": "ok", "rdb_last_bgsave_status": "ok", "evicted_keys": "0",
    ]
    facts.settings = [
      "maxmemory-policy": "noeviction", "maxmemory": "1000000000", "appendonly": "yes",
      "appendfsync": "everysec", "save": "",
      "client-output-buffer-limit":
        "normal 0 0 0 slave 268435456 67108864 60 pubsub 33554432 8388608 60",
    ]
    facts.deniedCommands = []
    facts.roundTrip = .microseconds(400)
    facts.clockLead = .milliseconds(3)
    return facts
  }

  private func found(
    _ code: String, _ change: (inout RedisFacts) -> Void
  ) throws -> Finding {
    var facts = good
    change(&facts)
    return try #require(facts.findings.first { $0.code == code }, "\(facts.findings)")
  }

  @Test func `finds nothing wrong with a server that is as it should be`() {
    #expect(good.findings.allSatisfy { $0.severity == .good }, "\(good.findings)")
    #expect(good.findings.count >= 10)
  }

  @Test func `says what is wrong, why, and what to do`() throws {
    let cases: [(String, Finding.Severity, String, (inout RedisFacts) -> Void)] = [
      ("version", .wrong, "7.0 or newer", { $0.info["redis_version"] = "6.2.14" }),
      ("version", .good, "", { $0.info["redis_version"] = "10.0.1" }),
      ("version", .unknown, "+info", { $0.info["redis_version"] = nil }),
      ("role", .wrong, "REPLICAOF NO ONE", { $0.info["role"] = "slave" }),
      (
        "maxmemory-policy", .wrong, "CONFIG SET maxmemory-policy noeviction",
        { $0.settings?["maxmemory-policy"] = "allkeys-lru" }
      ),
      (
        // Where CONFIG is not offered, INFO says as much.
        "maxmemory-policy", .wrong, "noeviction",
        {
          $0.settings = nil
          $0.info["maxmemory_policy"] = "volatile-ttl"
        }
      ),
      ("maxmemory-policy", .unknown, "config|get", { $0.settings = nil }),
      (
        "persistence", .wrong, "CONFIG SET appendonly yes",
        { $0.settings?["appendonly"] = "no" }
      ),
      (
        "persistence", .advice, "appendonly yes",
        {
          $0.settings?["appendonly"] = "no"
          $0.settings?["save"] = "3600 1"
        }
      ),
      ("appendfsync", .wrong, "everysec", { $0.settings?["appendfsync"] = "no" }),
      ("appendfsync", .advice, "everysec", { $0.settings?["appendfsync"] = "always" }),
      ("disk", .wrong, "free space", { $0.info["aof_last_write_status"] = "err" }),
      ("maxmemory", .advice, "maxmemory", { $0.settings?["maxmemory"] = "0" }),
      ("maxmemory", .advice, "bigkeys", { $0.info["used_memory"] = "810000000" }),
      ("maxmemory", .wrong, "bigkeys", { $0.info["used_memory"] = "960000000" }),
      ("evictions", .wrong, "reconcile", { $0.info["evicted_keys"] = "3" }),
      ("scripts", .wrong, "ACL SETUSER", { $0.scriptProblem = "NOPERM" }),
      (
        "rights", .wrong, "+xadd +publish",
        { $0.deniedCommands = ["XADD fieldcast:notes:dead", "PUBLISH x"] }
      ),
      ("rights", .unknown, "", { $0.deniedCommands = nil }),
      (
        "client-output-buffer-limit", .advice, "pubsub 33554432",
        { $0.settings?["client-output-buffer-limit"] = "pubsub 1048576 0 60" }
      ),
      (
        "client-output-buffer-limit", .good, "",
        { $0.settings?["client-output-buffer-limit"] = "pubsub 0 0 0" }
      ),
      ("latency", .advice, "--latency", { $0.roundTrip = .milliseconds(30) }),
      ("latency", .wrong, "--latency", { $0.roundTrip = .milliseconds(300) }),
      ("clock", .advice, "set-ntp", { $0.clockLead = .seconds(-4) }),
      ("clock", .wrong, "set-ntp", { $0.clockLead = .seconds(40) }),
    ]
    for (code, severity, mend, change) in cases {
      let finding = try found(code, change)
      #expect(finding.severity == severity, "\(finding)")
      #expect(mend.isEmpty || finding.mend.contains(mend), "\(finding)")
      #expect(
        finding.severity == .good || severity == .unknown || !finding.why.isEmpty, "\(finding)")
    }
    #expect(
      try found("clock") { $0.clockLead = .milliseconds(-4_260) }.what.contains("4.2 s behind"))
  }

  @Test func `tells what APNs does not take from what cannot be reached`() {
    func facts(_ answer: APNsFacts.Answer) -> APNsFacts {
      APNsFacts(app: "app", host: "manage:2196", answer: answer, pushHost: "push:443")
    }
    let cases: [(APNsFacts.Answer, Finding.Severity, String)] = [
      (.listed(3), .good, ""), (.notAuthenticated("403"), .wrong, "FIELDCAST_APNS_KEY_ID"),
      (.broadcastsOff("403"), .wrong, "Broadcast Capability"), (.refused("500"), .advice, "again"),
      (.unreachable("timeout"), .wrong, "FIELDCAST_APNS_PROXY"),
    ]
    for (answer, severity, mend) in cases {
      let finding = facts(answer).findings[0]
      #expect(finding.severity == severity && (mend.isEmpty || finding.mend.contains(mend)))
    }
    var later = facts(.listed(0))
    later.pushProblem = "connection refused"
    later.clockLead = .seconds(90)
    #expect(later.findings.map(\.severity) == [.good, .wrong, .wrong])
    later.clockLead = .seconds(2)
    #expect(later.findings.last?.severity == .good)
  }

  @Test func `judges what the data are and who serves them`() {
    var data = DataFacts(supportedVersion: 1, configuredPartitions: 256)
    #expect(data.findings.map(\.severity) == [.good], "nobody has used it")
    (data.version, data.partitions) = ("1", "256")
    data.unowned = [7, 9]
    #expect(data.findings.map(\.severity) == [.good, .good], "nobody runs")
    data.nodes = ["a", "b"]
    #expect(data.findings[1].severity == .wrong)
    #expect(data.findings[1].what.hasPrefix("2 partitions have no owner, such as p7"))
    data.unowned = []
    #expect(data.findings[1].severity == .good)
    data.partitions = "16"
    #expect(data.findings.last?.code == "partitions" && data.findings.last?.severity == .wrong)
    data.version = "2"
    #expect(data.findings.map(\.severity) == [.wrong])
  }
}

@Suite struct `fieldcast doctor` {
  private struct Answer {
    let status: Int32
    let value: JSONValue

    func severity(_ subject: String, _ code: String) -> String? {
      value["findings"]?.array?.first {
        ($0["subject"]?.string ?? "").hasPrefix(subject) && $0["code"]?.string == code
      }?["severity"]?.string
    }
  }

  private func arguments(
    _ world: World, redis: String, service: Int = 1, _ others: [String: String] = [:]
  ) throws -> [String] {
    let access = world.simulator.access
    var options = [
      "--bundle-id": world.bundleID, "--environment": "development", "--team-id": access.teamID,
      "--key-id": access.keyID, "--key-file": try #require(access.keyFile),
      "--apns-push": "\(access.host):\(access.pushPort)",
      "--apns-management": "\(access.host):\(access.managementPort)",
      "--apns-trust": try #require(access.trustFile), "--clock": world.clockSetting,
      "--redis": redis, "--service": "127.0.0.1:\(service)",
    ]
    for (name, value) in others { options[name] = value }
    return ["doctor"] + options.flatMap { [$0.key, $0.value] }
  }

  private func examine(
    _ world: World, redis: String, service: Int = 1, _ others: [String: String] = [:]
  ) async throws -> Answer {
    let (status, output) = try await world.run(
      try arguments(world, redis: redis, service: service, others) + ["--json"])
    let line = try #require(output.split(separator: "\n").last, "\(output)")
    return Answer(status: status, value: try JSONValue.parse(Array(line.utf8)))
  }

  @Test func `finds what is wrong with a Redis that is set up wrongly`() async throws {
    try await World.with(speed: 1) { world in
      var options = try PrivateRedisServer.Options.temporary()
      let port = try await StreamListener.freePort(on: world.loop)
      options.port = port
      options.arguments = [
        "--maxmemory", "64mb", "--maxmemory-policy", "allkeys-lru",
        "--client-output-buffer-limit", "pubsub 64kb 32kb 10",
      ]
      let server = try await PrivateRedisServer.start(options, on: world.loop)
      let redis = "unix://\(server.options.socketPath)"
      let bad = try await examine(world, redis: redis)
      #expect(bad.status == 1 && bad.value["status"]?.string == "wrong")
      #expect(bad.severity("redis", "maxmemory-policy") == "wrong")
      #expect(bad.severity("redis", "persistence") == "wrong")
      #expect(bad.severity("redis", "client-output-buffer-limit") == "advice")
      for code in ["version", "role", "maxmemory", "scripts", "rights", "clock"] {
        #expect(bad.severity("redis", code) == "good", "\(code)")
      }
      #expect(bad.severity("redis", "latency") != nil)
      #expect(bad.severity(world.bundleID, "apns") == "good")
      #expect(bad.severity(world.bundleID, "push") == "good")
      #expect(bad.severity(world.bundleID, "clock") == "good")
      #expect(bad.severity("data", "version") == "good")
      #expect(bad.severity("service", "ready") == "unknown")
      // The same for people: what, why and the command.
      let (status, words) = try await world.run(try arguments(world, redis: redis))
      #expect(status == 1)
      for part in [
        "maxmemory-policy is allkeys-lru.", "it would throw away trips", "must be changed.",
        "Do: CONFIG SET maxmemory-policy noeviction",
      ] { #expect(words.contains(part), "\(words)") }

      // As each finding says.
      let client = RedisClient(configuration: server.configuration, loop: world.loop)
      for (name, value) in [
        ("maxmemory-policy", "noeviction"), ("appendonly", "yes"),
        ("client-output-buffer-limit", "pubsub 33554432 8388608 60"),
      ] {
        _ = try await client.call(RedisCommand("CONFIG", "SET", name, value))
      }
      let mended = try await examine(world, redis: redis)
      #expect(mended.status == 0, "\(mended.value)")

      // A user who may read and write, and not run what doors need.
      _ = try await client.call(
        RedisCommand(
          "ACL", "SETUSER", "narrow", "on", ">secret", "~fc:*", "&fc:*", "+@all", "-xadd",
          "-config"))
      let narrow = try await examine(
        world, redis: "redis://narrow:secret@127.0.0.1:\(port)")
      #expect(narrow.severity("redis", "rights") == "wrong", "\(narrow.value)")
      let text = narrow.value.serializedText
      #expect(
        text.contains("XADD fieldcast:notes:dead") && text.contains("SUBSCRIBE fieldcast:notes"))
      #expect(narrow.severity("redis", "appendfsync") == "unknown")
      #expect(!text.contains("secret"))

      // One that follows another.
      _ = try await client.call(RedisCommand("REPLICAOF", "127.0.0.1", 1))
      let replica = try await examine(world, redis: redis)
      #expect(replica.severity("redis", "role") == "wrong" && replica.status == 1)
      await client.close(atOnce: true)
      await server.stop()
      let gone = try await examine(world, redis: redis)
      #expect(gone.severity("redis", "address") == "wrong" && gone.status == 1)
      #expect(gone.severity(world.bundleID, "apns") == "good")
    }
  }

  @Test func `sees a service that works, and one whose trips nobody looks after`() async throws {
    try await World.with(speed: 1) { world in
      let redis = world.storeURL
      try await world.withService { caller in
        guard case .tcp(_, let port) = caller.endpoint else { return }
        _ = try await caller.createTrip()
        let well = try await examine(world, redis: redis, service: port)
        #expect(well.severity("service", "ready") == "good")
        #expect(well.severity("data", "owners") == "good", "\(well.value)")
        #expect(well.value.serializedText.contains("nodes: test"))
      }
      // A node that says that it lives, and holds nothing.
      for command in [
        RedisCommand("ZADD", "fc:nodes", 9_999_999_999_999, "idle"),
        RedisCommand("SET", "fc:node:idle", "{}"),
      ] { _ = try await world.redis.call(command) }
      let idle = try await examine(world, redis: redis)
      #expect(idle.severity("data", "owners") == "wrong", "\(idle.value)")
      _ = try await world.redis.call(RedisCommand("HSET", "fc:version", "version", "9"))
      #expect(try await examine(world, redis: redis).severity("data", "version") == "wrong")
    }
  }

  @Test func `tells a key that APNs does not take, and settings that no service starts with`()
    async throws
  {
    try await World.with(speed: 1) { world in
      let redis = world.storeURL
      let stranger = try await examine(world, redis: redis, ["--key-id": "ZZZZZZZZZZ"])
      #expect(stranger.severity(world.bundleID, "apns") == "wrong", "\(stranger.value)")
      #expect(stranger.value.serializedText.contains("does not take the key"))
      let away = try await examine(
        world, redis: redis,
        [
          "--apns-management": "127.0.0.1:1", "--apns-push": "127.0.0.1:1", "--patience": "2",
        ])
      #expect(away.severity(world.bundleID, "push") == "wrong")
      #expect(away.value.serializedText.contains("127.0.0.1:1 cannot be reached"), "\(away.value)")
      let none = try await examine(world, redis: redis, ["--key-file": "/nowhere.p8"])
      #expect(none.severity("settings", "settings") == "wrong" && none.status == 1)
      #expect(none.severity("redis", "scripts") == "good", "the rest is looked at")
    }
  }

  @Test func `looks at each master of a cluster`() async throws {
    try await World.onCluster { world, cluster in
      let master = RedisClient(
        configuration: cluster.masters[1].server.configuration, loop: world.loop)
      _ = try await master.call(
        RedisCommand("CONFIG", "SET", "maxmemory-policy", "allkeys-lru"))
      await master.close(atOnce: true)
      let answer = try await examine(world, redis: world.storeURL)
      let policies = answer.value["findings"]?.array?.filter {
        $0["code"]?.string == "maxmemory-policy"
      }
      #expect(policies?.count == 3, "\(answer.value)")
      #expect(policies?.filter { $0["severity"]?.string == "wrong" }.count == 1)
      #expect(answer.severity("redis", "rights") == "good")
      #expect(answer.severity("data", "version") == "good")
    }
  }
}
