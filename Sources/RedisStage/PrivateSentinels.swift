internal import Clocks
package import Redis
package import Transport

/// Three Sentinels of our own that watch a primary and its replicas, all on this machine.
///
/// They take a server for dead after a second.
package actor PrivateSentinels {
  package struct Sentinel: Sendable {
    package let address: RedisAddress
    package let process: Subprocess
    fileprivate let folder: String
  }

  package static let name = "fieldcast"

  /// In the beginning the first is the primary.
  package nonisolated let servers: [PrivateRedisServer]
  package nonisolated let sentinels: [Sentinel]
  package nonisolated let loop: EventLoop

  private init(servers: [PrivateRedisServer], sentinels: [Sentinel], loop: EventLoop) {
    self.servers = servers
    self.sentinels = sentinels
    self.loop = loop
  }

  package nonisolated var url: String {
    "redis-sentinel://" + sentinels.map { "\($0.address)" }.joined(separator: ",")
      + "/" + Self.name
  }

  // MARK: Life

  package static func withTemporary<Value: Sendable>(
    replicas: Int = 1, on loop: EventLoop,
    _ body: (PrivateSentinels) async throws -> Value
  ) async throws -> Value {
    var servers: [PrivateRedisServer] = []
    var sentinels: [Sentinel] = []
    do {
      let primary = try await startServer(on: loop)
      servers.append(primary)
      for _ in 0..<replicas {
        let replica = try await startServer(on: loop)
        servers.append(replica)
        _ = try await replica.command(
          RedisCommand("REPLICAOF", "127.0.0.1", primary.options.port ?? 0))
        try await waitUntil(for: replica.process, on: loop) { try await replica.isLinked() }
      }
      for _ in 0..<3 {
        sentinels.append(try await startSentinel(watching: primary.options.port ?? 0, on: loop))
      }
      let stage = PrivateSentinels(servers: servers, sentinels: sentinels, loop: loop)
      try await stage.waitUntilAcquainted()
      let value = try await body(stage)
      await stop(servers, sentinels)
      return value
    } catch {
      await stop(servers, sentinels)
      throw error
    }
  }

  private static func startServer(on loop: EventLoop) async throws -> PrivateRedisServer {
    var options = try PrivateRedisServer.Options.temporary()
    options.port = try await StreamListener.freePort(on: loop)
    options.arguments = ["--repl-diskless-sync-delay", "0"]
    return try await PrivateRedisServer.start(options, on: loop)
  }

  private static func startSentinel(watching port: Int, on loop: EventLoop) async throws -> Sentinel
  {
    guard let executable = Subprocess.executable(named: "redis-server") else {
      throw PrivateRedisError.notInstalled
    }
    let own = try await StreamListener.freePort(on: loop)
    let folder = try TemporaryFolder(for: "sentinel").path
    let settings = """
      port \(own)
      bind 127.0.0.1
      dir \(folder)
      sentinel monitor \(name) 127.0.0.1 \(port) 2
      sentinel down-after-milliseconds \(name) 1000
      sentinel failover-timeout \(name) 4000
      """
    do {
      try StageFile.write(settings + "\n", to: folder + "/sentinel.conf")
      let process = try await Subprocess.start(
        executable, arguments: [folder + "/sentinel.conf", "--sentinel"],
        outputPath: folder + "/sentinel.log", on: loop)
      return Sentinel(
        address: RedisAddress(host: "127.0.0.1", port: own), process: process, folder: folder)
    } catch {
      TemporaryFolder.remove(folder)
      throw error
    }
  }

  /// Sentinels find each other, and the replica, through the primary.
  private func waitUntilAcquainted() async throws {
    for sentinel in sentinels {
      try await waitUntil(for: sentinel.process, on: loop) {
        guard
          let facts = try? await ask(sentinel, RedisCommand("SENTINEL", "MASTER", Self.name))
            .fieldMap()
        else { return false }
        func text(_ name: String) -> String { String(decoding: facts[name] ?? [], as: UTF8.self) }
        return text("num-other-sentinels") == "2" && text("num-slaves") == "\(servers.count - 1)"
          && text("flags") == "master"
      }
    }
  }

  private func ask(_ sentinel: Sentinel, _ command: RedisCommand) async throws -> RESPValue {
    let connection = try await RedisConnection.connect(
      RedisConfiguration(endpoint: sentinel.address.endpoint), loop: loop)
    let reply = try await connection.call(command, before: MonotonicClock.now() + .seconds(5))
    await connection.close()
    return reply
  }

  private static func stop(_ servers: [PrivateRedisServer], _ sentinels: [Sentinel]) async {
    for sentinel in sentinels {
      sentinel.process.signal(9)
      _ = await sentinel.process.waitForExit()
      TemporaryFolder.remove(sentinel.folder)
    }
    for server in servers {
      server.process.signal(18)  // SIGCONT: one that is stopped cannot end
      server.process.signal(9)
      _ = await server.process.waitForExit()
      await server.stop()
    }
  }

  // MARK: Changes

  /// Kills the first server, and waits until another is the primary.
  package func failOver() async throws {
    servers[0].process.signal(9)
    _ = await servers[0].process.waitForExit()
    try await waitUntilPromoted()
  }

  /// Makes another server the primary, though the first is well and stays as its replica.
  package func switchOver() async throws {
    _ = try await ask(sentinels[0], RedisCommand("SENTINEL", "FAILOVER", Self.name))
    try await waitUntilPromoted()
  }

  private func waitUntilPromoted() async throws {
    try await waitUntil(for: servers[1].process, on: loop) {
      for server in servers[1...] where try await server.isPrimary() { return true }
      return false
    }
  }
}

/// What a replica does not get, a failover loses.
extension PrivateSentinels {
  package func waitUntilReplicated() async throws {
    try await waitUntil(for: servers[0].process, on: loop) {
      let primary = try await servers[0].command(RedisCommand("ROLE")).arrayValue()
      let replica = try await servers[1].command(RedisCommand("ROLE")).arrayValue()
      // The second of the one, the fifth of the other: how far the stream of writes has come.
      return try replica.count == 5 && primary[1].intValue() == replica[4].intValue()
    }
  }

  /// The second server gets nothing more of the first, until ``restoreReplication()``.
  package func cutReplication() async throws {
    _ = try await servers[0].command(RedisCommand("ACL", "SETUSER", "default", "-psync", "-sync"))
    _ = try await servers[0].command(RedisCommand("CLIENT", "KILL", "TYPE", "replica"))
  }

  package func restoreReplication() async throws {
    _ = try await servers[0].command(RedisCommand("ACL", "SETUSER", "default", "+@all"))
  }
}
