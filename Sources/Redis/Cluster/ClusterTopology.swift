internal import Clocks
internal import Transport

/// Asks the nodes of a cluster for the map of its slots, over one connection of its own, so that a
/// node that is slow to answer costs nobody else's commands.
actor ClusterTopology {
  nonisolated var unownedExecutor: UnownedSerialExecutor {
    loop.serial.asUnownedSerialExecutor()
  }

  private nonisolated let loop: EventLoop
  private let configuration: RedisConfiguration
  /// As they were configured: they are never given up, whatever the cluster says of itself later.
  private let seeds: [RedisAddress]
  private var connection: (address: RedisAddress, link: RedisConnection)?
  private var newestEpoch: Int64 = 0
  private var isClosed = false

  /// - Parameter configuration: how to speak with each node.
  init(configuration: RedisConfiguration, seeds: [RedisAddress], loop: EventLoop) {
    // Replicas know the map as well.
    self.configuration = configuration.forInquiries
    self.seeds = seeds
    self.loop = loop
  }

  /// Asks one node after the other until one answers that is well and whose map is not older than
  /// what was known. If there is none such, the best of the others counts.
  ///
  /// - Throws: ``RedisError/notSent(_:)`` when no node has a map.
  func read(hint: RedisAddress?, known: SlotMap) async throws(RedisError) -> SlotMap {
    var second: Answer?
    var failure: RedisError?
    for address in candidates(hint: hint, known: known) {
      do throws(RedisError) {
        let answer = try await ask(address)
        guard !answer.map.isEmpty else { throw noSlots(address) }
        if answer.isWell, answer.epoch >= newestEpoch {
          newestEpoch = answer.epoch
          return answer.map
        }
        drop()
        if answer.epoch > second?.epoch ?? -1 { second = answer }
      } catch {
        drop()
        failure = error
      }
    }
    if let second { return second.map }
    throw failure ?? .notSent(RedisFailure(.cannotConnect, "No node of the cluster is known."))
  }

  func close() {
    isClosed = true
    drop()
  }

  private struct Answer {
    let map: SlotMap
    /// Whether the node sees a majority of masters.
    let isWell: Bool
    /// Rises with each change.
    let epoch: Int64
  }

  private func candidates(hint: RedisAddress?, known: SlotMap) -> [RedisAddress] {
    var seen: Set<RedisAddress> = []
    let all =
      [hint, connection?.address].compactMap(\.self) + known.masters.shuffled()
      + known.nodes.shuffled() + seeds
    return all.filter { seen.insert($0).inserted }
  }

  private func ask(_ address: RedisAddress) async throws(RedisError) -> Answer {
    let link = try await link(to: address)
    var batch = RedisBatch()
    batch.append("CLUSTER", "INFO")
    batch.append("CLUSTER", "SLOTS")
    let replies = await link.callAll(batch, before: loop.now + .seconds(1))
    let facts = try replies[0].get().infoValue()
    return Answer(
      map: try SlotMap(replies[1].get(), askedAt: address.host),
      isWell: facts["cluster_state"] == "ok",
      epoch: facts["cluster_current_epoch"].flatMap { Int64($0) } ?? 0)
  }

  private func link(to address: RedisAddress) async throws(RedisError) -> RedisConnection {
    if let connection, connection.address == address, await connection.link.isOpen {
      return connection.link
    }
    drop()
    let link = try await RedisConnection.connect(configuration.at(address), loop: loop)
    if isClosed {
      await link.abort()
      throw .notSent(RedisFailure(.closing, "The cluster's client is closed."))
    }
    connection = (address, link)
    return link
  }

  private func drop() {
    connection?.link.assumeIsolated { $0.abort() }
    connection = nil
  }

  private func noSlots(_ address: RedisAddress) -> RedisError {
    .notSent(
      RedisFailure(
        .cannotConnect,
        "Redis at \(address) belongs to no cluster yet: it knows of no slots. "
          + "redis-cli --cluster create makes one."))
  }
}
