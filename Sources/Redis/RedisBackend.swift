package import Transport

/// All that one process needs of a Redis, however it is set up: commands, and the connections of
/// their own for what is published and for streams that are read as they grow.
package struct RedisBackend: Sendable {
  /// By what the servers are found.
  private enum Guide: Sendable {
    case address
    case sentinels(SentinelWatch)
    case cluster(RedisCluster)
  }

  /// For commands.
  package let caller: any ConnectedRedis
  private let guide: Guide
  private let server: RedisConfiguration

  /// - Parameters:
  ///   - onEvent: hears of the connections for commands; called on the loop, must not block.
  ///   - onFailover: hears when Sentinels have made another server the primary, likewise.
  package init(
    _ deployment: RedisDeployment, loop: EventLoop,
    onEvent: @escaping @Sendable (RedisClientEvent) -> Void = { _ in },
    onFailover: @escaping @Sendable (RedisAddress, RedisAddress) -> Void = { _, _ in }
  ) {
    server = deployment.server
    switch deployment.layout {
    case .server:
      caller = RedisClient(configuration: server, loop: loop, onEvent: onEvent)
      guide = .address
    case .sentinel(let addresses, let name):
      let watch = SentinelWatch(
        name: name, seeds: addresses, sentinel: deployment.sentinel, server: server, loop: loop,
        onChange: onFailover)
      let client = RedisClient(
        configuration: server, locator: watch, loop: loop, onEvent: onEvent)
      caller = client
      guide = .sentinels(watch)
      follow(watch) { address in client.assumeIsolated { $0.leave(unlessAt: address) } }
    case .cluster(let addresses):
      let cluster = RedisCluster(
        configuration: server, seeds: addresses, loop: loop, onEvent: onEvent)
      caller = cluster
      guide = .cluster(cluster)
    }
  }

  /// Hears what is published by `PUBLISH`, wherever.
  package func subscriber() -> RedisSubscriber {
    switch guide {
    case .address: return RedisSubscriber(configuration: server, loop: caller.loop)
    case .sentinels(let watch):
      let subscriber = RedisSubscriber(configuration: server, locator: watch, loop: caller.loop)
      follow(watch) { [weak subscriber] address in
        subscriber?.assumeIsolated { $0.leave(unlessAt: [address]) }
      }
      return subscriber
    case .cluster(let cluster):
      let subscriber = RedisSubscriber(
        configuration: server, locator: AnyNodeLocator(cluster: cluster), loop: caller.loop)
      caller.loop.execute {
        cluster.assumeIsolated { cluster in
          // A node that was taken out of the cluster keeps its connections, and hears nothing.
          cluster.whenChanged { [weak subscriber] map in
            subscriber?.assumeIsolated { $0.leave(unlessAt: map.nodes) }
          }
        }
      }
      return subscriber
    }
  }

  /// Hears channels that few listen to: in a cluster what is published there by `SPUBLISH`, which
  /// one of its nodes passes on, and not all; elsewhere by `PUBLISH`.
  package func shardSubscriber() -> any ChannelListener {
    if case .cluster(let cluster) = guide { return ShardSubscriber(cluster: cluster) }
    return subscriber()
  }

  /// Reads a stream as a consumer of a group, over a connection that follows the stream.
  package func groupReader(
    key: String, group: String, consumer: String, count: Int = 256
  ) -> StreamGroupReader {
    func reader(_ locator: (any RedisLocator)?) -> StreamGroupReader {
      StreamGroupReader(
        key: key, group: group, consumer: consumer, configuration: server, locator: locator,
        commands: caller, count: count)
    }
    switch guide {
    case .address: return reader(nil)
    case .sentinels(let watch):
      let reader = reader(watch)
      follow(watch) { [weak reader] address in
        reader?.assumeIsolated { $0.leave(unlessAt: address) }
      }
      return reader
    case .cluster(let cluster):
      return reader(SlotLocator(cluster: cluster, slot: ClusterSlot.of(key)))
    }
  }

  /// Calls `body` on the loop with each new primary.
  private func follow(
    _ watch: SentinelWatch, _ body: @escaping @Sendable (RedisAddress) -> Void
  ) {
    caller.loop.execute { watch.assumeIsolated { $0.whenChanged(body) } }
  }

  /// Ends the connections for commands and the watch over the Sentinels; subscribers and readers
  /// have owners of their own.
  package func close(atOnce: Bool) async {
    await caller.close(atOnce: atOnce)
    if case .sentinels(let watch) = guide { await watch.close() }
  }
}
