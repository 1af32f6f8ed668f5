package import FieldTrips
package import Redis

/// What hears channels of Redis: a subscriber of a server.
package protocol ChannelListener: Sendable {
  func subscribe(to channels: [String]) async
  func unsubscribe(from channels: [String]) async
  /// All events since the last call; waits for one when there are none. Nil once closed.
  func nextBatch() async -> [SubscriberEvent]?
  func close() async
}

extension RedisSubscriber: ChannelListener {}

/// Hears when something came into the logs of partitions, from other nodes too.
///
/// A bell that is rung while nobody listens is not heard: who must miss nothing looks into the logs
/// now and then besides, and after each ``Event/missed``.
package struct LogBell: Sendable {
  package enum Event: Sendable, Equatable {
    case rang(Partition)
    /// The bells were not heard for a while, or not from the beginning.
    case missed
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
    var hasMissed = false
    for event in batch {
      switch event {
      case .message(let channel, _):
        if let partition = Self.partition(ofBell: channel) { rang.insert(partition) }
      case .subscribed, .gap, .refused: hasMissed = true
      }
    }
    return (hasMissed ? [.missed] : []) + rang.sorted().map(Event.rang)
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
    for partition in partitions { batch.append("PUBLISH", keys(partition).bell, "") }
    _ = await callAll(batch) { (_, reply) throws(RedisError) in reply.isNull }
  }
}
