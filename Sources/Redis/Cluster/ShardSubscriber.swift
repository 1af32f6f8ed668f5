internal import Clocks
package import Transport

/// Hears sharded channels of a cluster: each of the master that has its slot, and of the next one
/// when the slot moves. What may have been missed meanwhile is reported as a gap.
package actor ShardSubscriber: ChannelListener {
  package nonisolated var unownedExecutor: UnownedSerialExecutor {
    loop.serial.asUnownedSerialExecutor()
  }

  /// What one master tells us, and the task that passes it on.
  private struct Member {
    let subscriber: RedisSubscriber
    let task: Task<Void, Never>
  }

  package nonisolated let loop: EventLoop
  private let cluster: RedisCluster
  private let maxBuffered: Int
  private var members: [RedisAddress: Member] = [:]
  private var wanted: Set<String> = []
  /// Where each channel was asked for.
  private var places: [String: RedisAddress] = [:]
  /// Those that were heard at some time, with the moment since when they are not.
  private var lostSince: [String: Moment?] = [:]
  private var isFollowing = false

  private var queue = SubscriberQueue()
  private var waitingForRoom: [UnsafeContinuation<Void, Never>] = []

  package init(cluster: RedisCluster, maxBuffered: Int = 10_000) {
    self.cluster = cluster
    self.maxBuffered = maxBuffered
    loop = cluster.loop
  }

  // MARK: Use

  package func subscribe(to channels: [String]) async {
    guard !queue.isClosed else { return }
    wanted.formUnion(channels)
    if !isFollowing {
      isFollowing = true
      await cluster.whenChanged { [weak self] _ in self?.assumeIsolated { $0.arrange() } }
    }
    arrange()
  }

  package func unsubscribe(from channels: [String]) {
    wanted.subtract(channels)
    for channel in channels { lostSince[channel] = nil }
    arrange()
  }

  package func nextBatch() async -> [SubscriberEvent]? {
    await withUnsafeContinuation { consumer in
      if queue.serve(consumer) { admitWaiting() }
    }
  }

  package func close() {
    queue.close()
    for member in members.values { end(member) }
    members = [:]
    admitWaiting()
  }

  // MARK: Places

  /// Asks for each channel where its slot is now, and nowhere else.
  private func arrange() {
    guard !queue.isClosed else { return }
    var added: [RedisAddress: [String]] = [:]
    var removed: [RedisAddress: [String]] = [:]
    for channel in Set(places.keys).union(wanted) {
      let place = wanted.contains(channel) ? master(of: channel) ?? places[channel] : nil
      guard place != places[channel] else { continue }
      if let old = places[channel] { removed[old, default: []].append(channel) }
      if let place { added[place, default: []].append(channel) }
      places[channel] = place
      noteLoss(of: channel)
    }
    for (address, channels) in removed {
      members[address]?.subscriber.assumeIsolated { $0.unsubscribe(from: channels) }
    }
    for (address, channels) in added {
      member(at: address).subscriber.assumeIsolated { $0.subscribe(to: channels) }
    }
    let used = Set(places.values)
    for (address, member) in members where !used.contains(address) {
      members[address] = nil
      end(member)
    }
  }

  private func master(of channel: String) -> RedisAddress? {
    cluster.routes.map.master(of: ClusterSlot.of(channel))
  }

  private func noteLoss(of channel: String) {
    if case .some(nil) = lostSince[channel] { lostSince[channel] = .some(loop.now) }
  }

  private func member(at address: RedisAddress) -> Member {
    if let member = members[address] { return member }
    let subscriber = RedisSubscriber(
      configuration: cluster.configuration.at(address), kind: .sharded, loop: loop)
    let task = Task(executorPreference: loop.tasks) {
      while let events = await subscriber.nextBatch() {
        await self.received(events, from: address)
      }
    }
    let member = Member(subscriber: subscriber, task: task)
    members[address] = member
    return member
  }

  private func end(_ member: Member) {
    member.subscriber.assumeIsolated { $0.close() }
    member.task.cancel()
  }

  // MARK: Events

  private func received(_ events: [SubscriberEvent], from address: RedisAddress) async {
    var mustLook = false
    for event in events where take(event, from: address) { mustLook = true }
    if queue.deliver() { admitWaiting() }
    while queue.count >= maxBuffered, !queue.isClosed {
      await withUnsafeContinuation { waitingForRoom.append($0) }
    }
    guard mustLook, !queue.isClosed else { return }
    // The cluster may take a moment to agree.
    try? await loop.sleep(for: .milliseconds(50))
    await cluster.lookAgain(hint: nil)
    arrange()
  }

  /// - Returns: whether a channel is elsewhere now.
  private func take(_ event: SubscriberEvent, from address: RedisAddress) -> Bool {
    switch event {
    case .subscribed(let channel):
      guard wanted.contains(channel), places[channel] == address else { return false }
      if let lost = lostSince[channel] {
        let gap = SubscriptionGap(
          channel: channel, from: lost ?? loop.now, until: loop.now,
          reason: "The cluster moved the channel to another of its nodes.")
        queue.append(.gap(gap))
      } else {
        queue.append(event)
      }
      lostSince[channel] = .some(nil)
    case .dropped(let channel):
      forget([channel], at: address)
      return true
    case .refused(let refusal):
      guard case .moved(let slot, _, _) = refusal.kind else {
        queue.append(event)
        return refusal.isPassing
      }
      forget(
        places.filter { $0.value == address && ClusterSlot.of($0.key) == slot }.map(\.key),
        at: address)
      return true
    case .message(let channel, _):
      if wanted.contains(channel) { queue.append(event) }
    case .gap(let gap):
      if wanted.contains(gap.channel) { queue.append(event) }
    }
    return false
  }

  /// They are to be asked for anew, wherever their slots are then.
  private func forget(_ channels: [String], at address: RedisAddress) {
    for channel in channels where places[channel] == address {
      places[channel] = nil
      noteLoss(of: channel)
    }
    members[address]?.subscriber.assumeIsolated { $0.unsubscribe(from: channels) }
  }

  private func admitWaiting() {
    let waiting = waitingForRoom
    waitingForRoom = []
    for continuation in waiting { continuation.resume() }
  }
}
