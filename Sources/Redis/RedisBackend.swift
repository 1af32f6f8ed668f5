package import Transport

/// All that one process needs of a Redis, however it is set up: commands, and the connections of
/// their own for what is published and for streams that are read as they grow.
package struct RedisBackend: Sendable {
  private enum Kind: Sendable {
    case server(RedisClient)
    case sentinel(RedisClient, SentinelWatch)
    case cluster(RedisCluster)
  }

  private let kind: Kind
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
      kind = .server(RedisClient(configuration: server, loop: loop, onEvent: onEvent))
    case .sentinel(let addresses, let name):
      let watch = SentinelWatch(
        name: name, seeds: addresses, sentinel: deployment.sentinel, server: server, loop: loop,
        onChange: onFailover)
      let client = RedisClient(
        configuration: server, locator: watch, loop: loop, onEvent: onEvent)
      kind = .sentinel(client, watch)
      follow(watch) { address in client.assumeIsolated { $0.leave(unlessAt: address) } }
    case .cluster(let addresses):
      kind = .cluster(
        RedisCluster(configuration: server, seeds: addresses, loop: loop, onEvent: onEvent))
    }
  }

  /// For commands.
  package var caller: any ConnectedRedis {
    switch kind {
    case .server(let client), .sentinel(let client, _): client
    case .cluster(let cluster): cluster
    }
  }

  /// Hears what is published by `PUBLISH`, wherever.
  package func subscriber() -> RedisSubscriber {
    switch kind {
    case .server: return RedisSubscriber(configuration: server, loop: caller.loop)
    case .sentinel(_, let watch):
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
    if case .cluster(let cluster) = kind { return ShardSubscriber(cluster: cluster) }
    return subscriber()
  }

  /// Reads a stream as a consumer of a group, over a connection that follows the stream.
  package func groupReader(
    key: String, group: String, consumer: String, count: Int = 256
  ) -> StreamGroupReader {
    let locator: (any RedisLocator)? =
      switch kind {
      case .server: nil
      case .sentinel(_, let watch): watch
      case .cluster(let cluster): SlotLocator(cluster: cluster, slot: ClusterSlot.of(key))
      }
    let reader = StreamGroupReader(
      key: key, group: group, consumer: consumer, configuration: server, locator: locator,
      commands: caller, count: count)
    if case .sentinel(_, let watch) = kind {
      follow(watch) { [weak reader] address in
        reader?.assumeIsolated { $0.leave(unlessAt: address) }
      }
    }
    return reader
  }

  /// Calls `body` on the loop with each new primary.
  private func follow(
    _ watch: SentinelWatch, _ body: @escaping @Sendable (RedisAddress) -> Void
  ) {
    caller.loop.execute { watch.assumeIsolated { $0.whenChanged(body) } }
  }

  /// ``close(atOnce:)`` from a place that cannot wait.
  package func closeSoon() {
    caller.loop.execute {
      switch kind {
      case .server(let client), .sentinel(let client, _):
        client.assumeIsolated { $0.close(atOnce: true) }
      case .cluster(let cluster): cluster.assumeIsolated { $0.close(atOnce: true) }
      }
    }
  }

  /// Ends the connections for commands and the watch over the Sentinels; subscribers and readers
  /// have owners of their own.
  package func close(atOnce: Bool) async {
    await caller.close(atOnce: atOnce)
    if case .sentinel(_, let watch) = kind { await watch.close() }
  }
}
