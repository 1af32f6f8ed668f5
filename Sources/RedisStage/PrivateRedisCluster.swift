internal import Clocks
package import Redis
package import Transport

/// A cluster of `redis-server`s of our own on this machine: masters, and replicas of each.
///
/// Its nodes take each other for dead after a second, so that failovers do not take long.
package actor PrivateRedisCluster {
  package struct Node: Sendable {
    package let server: PrivateRedisServer
    package let address: RedisAddress
    /// By which the cluster names it.
    package let id: String
  }

  package nonisolated let masters: [Node]
  /// Of each master, in their order.
  package nonisolated let replicas: [[Node]]
  package nonisolated let loop: EventLoop

  private init(masters: [Node], replicas: [[Node]], loop: EventLoop) {
    self.masters = masters
    self.replicas = replicas
    self.loop = loop
  }

  package nonisolated var nodes: [Node] { masters + replicas.flatMap(\.self) }

  /// By the first two masters; the others are found.
  package nonisolated var url: String {
    "redis-cluster://" + masters.prefix(2).map { "\($0.address)" }.joined(separator: ",")
  }

  package nonisolated var seeds: [RedisAddress] { masters.prefix(2).map(\.address) }

  // MARK: Life

  /// Runs `body` with a cluster, and ends that afterwards.
  ///
  /// - Parameter replicas: of each master.
  package static func withTemporary<Value: Sendable>(
    masters: Int, replicas: Int = 0, on loop: EventLoop,
    _ body: (PrivateRedisCluster) async throws -> Value
  ) async throws -> Value {
    var nodes: [Node] = []
    do {
      try await startNodes(masters * (1 + replicas), into: &nodes, on: loop)
      try await join(nodes, masters: masters, on: loop)
      let cluster = PrivateRedisCluster(
        masters: Array(nodes[..<masters]),
        replicas: (0..<masters).map { master in
          (1..<(1 + replicas)).map { nodes[master + $0 * masters] }
        }, loop: loop)
      let value = try await body(cluster)
      await stop(nodes)
      return value
    } catch {
      await stop(nodes)
      throw error
    }
  }

  /// - Parameter nodes: gets those that have started, also when one does not.
  private static func startNodes(
    _ count: Int, into nodes: inout [Node], on loop: EventLoop
  ) async throws {
    let results = await withTaskGroup(of: Result<Node, any Error>.self) { group in
      for _ in 0..<count {
        group.addTask {
          do { return .success(try await startNode(on: loop)) } catch { return .failure(error) }
        }
      }
      return await group.reduce(into: []) { $0.append($1) }
    }
    for case .success(let node) in results { nodes.append(node) }
    for case .failure(let error) in results { throw error }
  }

  private static func startNode(on loop: EventLoop) async throws -> Node {
    let port = try await StreamListener.freePort(on: loop)
    let bus = try await StreamListener.freePort(on: loop)
    var options = try PrivateRedisServer.Options.temporary()
    options.port = port
    options.arguments = [
      "--cluster-enabled", "yes", "--cluster-port", String(bus), "--cluster-node-timeout", "1000",
      "--cluster-announce-ip", "127.0.0.1", "--repl-diskless-sync-delay", "0",
      "--cluster-require-full-coverage", "no",
    ]
    let server = try await PrivateRedisServer.start(options, on: loop)
    do {
      let id = try await server.command(RedisCommand("CLUSTER", "MYID")).stringValue()
      return Node(
        server: server, address: RedisAddress(host: "127.0.0.1", port: port), id: id)
    } catch {
      await server.stop()
      throw error
    }
  }

  private static func join(_ nodes: [Node], masters: Int, on loop: EventLoop) async throws {
    let share = 16_384 / masters
    for (number, node) in nodes.enumerated() {
      _ = try await node.server.command(
        RedisCommand("CLUSTER", "SET-CONFIG-EPOCH", number + 1))
      guard number < masters else { continue }
      let last = number == masters - 1 ? 16_383 : (number + 1) * share - 1
      _ = try await node.server.command(
        RedisCommand("CLUSTER", "ADDSLOTSRANGE", number * share, last))
    }
    for (number, node) in nodes.enumerated() {
      for other in nodes[..<number] { try await node.meet(other) }
    }
    for node in nodes {
      try await waitUntil(for: node.server.process, on: loop) {
        try await node.facts()["cluster_known_nodes"] == String(nodes.count)
      }
    }
    for (number, node) in nodes.enumerated() where number >= masters {
      let master = nodes[number % masters].id
      try await waitUntil(for: node.server.process, on: loop) {
        (try? await node.server.command(RedisCommand("CLUSTER", "REPLICATE", master))) != nil
      }
    }
    for node in nodes {
      try await waitUntil(for: node.server.process, on: loop) {
        let facts = try await node.facts()
        return facts["cluster_state"] == "ok" && facts["cluster_size"] == String(masters)
      }
    }
    for node in nodes[masters...] {
      try await waitUntil(for: node.server.process, on: loop) { try await node.server.isLinked() }
    }
  }

  private static func stop(_ nodes: [Node]) async {
    await withDiscardingTaskGroup { group in
      for node in nodes {
        group.addTask {
          // Nothing of it is kept.
          node.server.process.signal(9)
          _ = await node.server.process.waitForExit()
          await node.server.stop()
        }
      }
    }
  }

  // MARK: Changes

  /// The node that serves a slot, as the first one that is alive sees it.
  package func master(of slot: Int) async throws -> Node {
    guard let asked = nodes.first(where: { $0.server.process.isRunning }) else {
      throw StageError("No node of the cluster is left.")
    }
    let ranges = try await asked.server.command(RedisCommand("CLUSTER", "SLOTS")).arrayValue()
    for range in ranges {
      let parts = try range.arrayValue()
      guard (try parts[0].intValue()...parts[1].intValue()).contains(slot) else { continue }
      let port = try parts[2].arrayValue()[1].intValue()
      if let node = nodes.first(where: { $0.address.port == port }) { return node }
    }
    throw StageError("Slot \(slot) has no master.")
  }

  /// Moves a slot with its keys to another master, as a rebalancing does.
  ///
  /// - Parameter between: called when the slot is announced as moving and no key has moved.
  package func move(
    _ slot: Int, to target: Node, between: () async throws -> Void = {}
  ) async throws {
    let source = try await master(of: slot)
    guard source.id != target.id else { return }
    _ = try await target.server.command(
      RedisCommand("CLUSTER", "SETSLOT", slot, "IMPORTING", source.id))
    _ = try await source.server.command(
      RedisCommand("CLUSTER", "SETSLOT", slot, "MIGRATING", target.id))
    try await between()
    while true {
      let keys = try await source.server.command(
        RedisCommand("CLUSTER", "GETKEYSINSLOT", slot, 20)
      ).stringsValue()
      if keys.isEmpty { break }
      _ = try await source.server.command(
        RedisCommand(
          "MIGRATE", target.address.host, target.address.port, "", 0, 5_000, "KEYS",
          Spread(keys)))
    }
    for node in [target, source] + masters.filter({ ![target.id, source.id].contains($0.id) }) {
      guard node.server.process.isRunning else { continue }
      _ = try await node.server.command(
        RedisCommand("CLUSTER", "SETSLOT", slot, "NODE", target.id))
    }
  }

  /// Kills a master, and waits until a replica has taken its place.
  ///
  /// - Returns: that replica.
  @discardableResult
  package func failOver(_ number: Int) async throws -> Node {
    masters[number].server.process.signal(9)
    _ = await masters[number].server.process.waitForExit()
    var promoted: Node?
    try await waitUntil(for: replicas[number][0].server.process, on: loop) {
      for replica in replicas[number] where try await replica.server.isPrimary() {
        promoted = replica
      }
      return promoted != nil
    }
    guard let promoted else { throw StageError("No replica took the master's place.") }
    return promoted
  }
}

extension PrivateRedisCluster.Node {
  fileprivate func meet(_ other: PrivateRedisCluster.Node) async throws {
    let bus = try await other.server.command(RedisCommand("CONFIG", "GET", "cluster-port"))
      .stringsValue()
    _ = try await server.command(
      RedisCommand("CLUSTER", "MEET", other.address.host, other.address.port, bus[1]))
  }

  /// `CLUSTER INFO`.
  fileprivate func facts() async throws -> [String: String] {
    try await server.command(RedisCommand("CLUSTER", "INFO")).infoValue()
  }
}
