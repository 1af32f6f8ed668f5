package import FieldTrips
package import Redis

/// Hears when something came into the logs of partitions, from other nodes too.
///
/// A bell that is rung while nobody listens is not heard: who must miss nothing looks into the logs
/// now and then besides, and after each ``Event/missed``.
package struct LogBell: Sendable {
  package enum Event: Sendable, Equatable {
    case rang(Partition)
    /// A bell was not heard from the beginning; which one is not said.
    case missed
    /// The connection to the partition's Redis was lost for a while; what it held may have gone back
    /// meanwhile, as after a failover.
    case lost(Partition)
  }

  private let subscriber: any ChannelListener
  private let store: TripStore

  package init(subscriber: any ChannelListener, store: TripStore) {
    self.subscriber = subscriber
    self.store = store
  }

  package func listen(to partition: Partition) async {
    await subscriber.subscribe(to: [store.keys(partition).bell])
  }

  package func forget(_ partition: Partition) async {
    await subscriber.unsubscribe(from: [store.keys(partition).bell])
  }

  /// What was heard since the last call, each partition once; waits until there is something.
  ///
  /// - Returns: nil once closed.
  package func next() async -> [Event]? {
    guard let batch = await subscriber.nextBatch() else { return nil }
    var rang: Set<Partition> = []
    var lost: Set<Partition> = []
    var hasMissed = false
    for event in batch {
      switch event {
      case .message(let channel, _):
        if let partition = Self.partition(ofBell: channel) { rang.insert(partition) }
      case .gap(let gap):
        if let partition = Self.partition(ofBell: gap.channel) { lost.insert(partition) }
      case .subscribed, .refused, .dropped: hasMissed = true
      }
    }
    return (hasMissed ? [.missed] : []) + lost.sorted().map(Event.lost)
      + rang.sorted().map(Event.rang)
  }

  package func close() async { await subscriber.close() }

  /// `fc:{p042}:bell`.
  static func partition(ofBell channel: String) -> Partition? {
    let parts = channel.split(separator: ":")
    guard parts.count == 3, parts[0] == "fc", parts[2] == "bell", parts[1].hasPrefix("{p"),
      parts[1].hasSuffix("}"), let number = Int(parts[1].dropFirst(2).dropLast())
    else { return nil }
    return Partition(number: number)
  }
}

extension TripStore {
  /// Lets the owners of partitions know that something came into their logs, wherever they are.
  ///
  /// Nothing depends on it but speed.
  package func ring(_ partitions: some Collection<Partition>) async {
    var batch = RedisBatch()
    for partition in partitions {
      // All nodes of a cluster pass on what is published, and one of them what is published sharded.
      if redis.isCluster {
        batch.append("SPUBLISH", keys(partition).bell, "")
      } else {
        batch.append("PUBLISH", keys(partition).bell, "")
      }
    }
    _ = await callAll(batch) { (_, reply) throws(RedisError) in reply.isNull }
  }
}
