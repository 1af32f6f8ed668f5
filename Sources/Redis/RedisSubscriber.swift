package import Clocks
package import Transport

/// What a subscriber hears, in order.
package enum SubscriberEvent: Sendable, Equatable {
  /// The server has confirmed a channel for the first time; messages from here on are heard.
  case subscribed(channel: String)
  case message(channel: String, payload: [UInt8])
  /// The channel was not heard for a while and is again. What was published in between is lost.
  case gap(SubscriptionGap)
  /// The server does not let us subscribe; tried again on the next connection.
  case refused(RedisRefusal)
  /// The server no longer has a sharded channel; it must be heard of another. The gap is reported
  /// there.
  case dropped(channel: String)
}

/// What hears channels and says when it did not: of one server, or of a cluster's.
package protocol ChannelListener: Sendable {
  func subscribe(to channels: [String]) async
  func unsubscribe(from channels: [String]) async
  /// All events that have come since the last call; waits for one when there are none. One consumer
  /// at a time.
  ///
  /// - Returns: nil once closed.
  func nextBatch() async -> [SubscriberEvent]?
  func close() async
}

/// A time during which messages may have been missed.
package struct SubscriptionGap: Sendable, Equatable {
  package let channel: String
  /// The last sign of life before it, in the machine's monotonic time.
  package let from: Moment
  package let until: Moment
  package let reason: String
}

/// Hears channels of a Redis server, over connections of its own, and says when it did not.
///
/// Publish/subscribe has no memory: what is published while nobody listens is gone. This class
/// reconnects and subscribes again by itself, and reports each gap; who cannot live with gaps uses
/// streams. What is *wanted* is kept apart from what the server has confirmed, so that losing one
/// connection while subscribing on another forgets nothing.
///
/// When its buffer is full it stops reading, so a slow consumer delays messages. Redis then holds
/// them, up to its `client-output-buffer-limit`, and beyond that ends the connection: a gap.
///
/// Sharded channels are heard of the server only that has the channel's slot; ``ShardSubscriber``
/// hears those of a whole cluster.
///
/// It holds itself until ``close()``.
package actor RedisSubscriber: ChannelListener {
  /// By which commands it subscribes, and what it then hears.
  package enum Kind: Sendable {
    /// What is published anywhere in a cluster.
    case classic
    /// What is published by `SPUBLISH`.
    case sharded
  }

  package nonisolated var unownedExecutor: UnownedSerialExecutor {
    loop.serial.asUnownedSerialExecutor()
  }

  private enum Coverage {
    /// Wanted, and never confirmed yet.
    case awaited
    case heard
    case lost(since: Moment, reason: String)
  }

  package nonisolated let loop: EventLoop
  package nonisolated let configuration: RedisConfiguration
  /// Gaps reported so far, over all channels.
  package private(set) var gaps = 0

  /// The channels that we want to hear, and how that stands.
  private var coverage: [String: Coverage] = [:]
  /// Those that this connection was asked for, confirmed or not.
  private var requested: Set<String> = []
  private var connection: RedisConnection?
  private var backoff: Backoff
  private var generator = SystemRandomNumberGenerator()
  private var life: Task<Void, Never>?

  private var queue = SubscriberQueue()
  private let maxBuffered: Int
  private let kind: Kind
  private let locator: (any RedisLocator)?
  private let onEvent: @Sendable (RedisClientEvent) -> Void

  /// - Parameters:
  ///   - locator: says where each connection is to lead; nil for the configuration's server.
  ///   - maxBuffered: events that may wait for the consumer before reading stops. One read may exceed
  ///     it, by at most what 64 KB hold.
  ///   - onEvent: hears of the connection, for logs; called on the loop, must not block.
  package init(
    configuration: RedisConfiguration, locator: (any RedisLocator)? = nil, kind: Kind = .classic,
    loop: EventLoop, maxBuffered: Int = 10_000,
    onEvent: @escaping @Sendable (RedisClientEvent) -> Void = { _ in }
  ) {
    var configuration = configuration
    configuration.replicas = 0
    self.configuration = configuration
    self.locator = locator
    self.kind = kind
    self.loop = loop
    self.maxBuffered = maxBuffered
    self.onEvent = onEvent
    backoff = Backoff(first: configuration.firstBackoff, longest: configuration.longestBackoff)
  }

  // MARK: Use

  /// Adds channels to those that are wanted. ``SubscriberEvent/subscribed(channel:)`` says when
  /// each is heard.
  package func subscribe(to channels: [String]) {
    guard !queue.isClosed else { return }
    for channel in channels where coverage[channel] == nil { coverage[channel] = .awaited }
    requestWhatDiffers()
    if life == nil { life = Task(executorPreference: loop.tasks) { await self.live() } }
  }

  package func unsubscribe(from channels: [String]) {
    for channel in channels { coverage[channel] = nil }
    requestWhatDiffers()
  }

  /// All events that have come since the last call; waits for one when there are none.
  ///
  /// One consumer at a time.
  ///
  /// - Returns: nil once closed.
  package func nextBatch() async -> [SubscriberEvent]? {
    await withUnsafeContinuation { consumer in
      if queue.serve(consumer) { resumeReading() }
    }
  }

  /// The events as an asynchronous sequence, a batch an element.
  package nonisolated var batches: Batches { Batches(subscriber: self) }

  package struct Batches: AsyncSequence, AsyncIteratorProtocol, Sendable {
    fileprivate let subscriber: RedisSubscriber

    package func makeAsyncIterator() -> Batches { self }
    package func next() async -> [SubscriberEvent]? { await subscriber.nextBatch() }
  }

  /// Whether every wanted channel is heard right now.
  package var isHearingAll: Bool {
    coverage.values.allSatisfy { if case .heard = $0 { true } else { false } }
  }

  /// Ends it; events that wait can still be taken.
  package func close() {
    queue.close()
    life?.cancel()
    connection?.assumeIsolated { $0.abort() }
  }

  // MARK: Life

  private func live() async {
    while !queue.isClosed {
      let failure = await liveOnce()
      if queue.isClosed { return }
      let pause = backoff.pause(using: &generator)
      if let failure { onEvent(.failedToConnect(failure, nextAttemptIn: pause)) }
      try? await loop.sleep(for: pause)
    }
  }

  /// Connects, and returns when the connection has ended.
  ///
  /// - Returns: why there was none; nil when there was one.
  private func liveOnce() async -> RedisError? {
    let connection: RedisConnection
    do {
      connection = try await RedisConnection.connect(configuration, by: locator, loop: loop)
    } catch {
      return error
    }
    if queue.isClosed {
      await connection.abort()
      return nil
    }
    let connectedAt = loop.now
    onEvent(.connected(await connection.greeting, attempts: backoff.failures + 1))
    adopt(connection)
    let failure = await connection.waitUntilClosed()
    noteLoss(of: connection, failure)
    if !queue.isClosed { onEvent(.lost(failure)) }
    backoff.lasted(loop.now - connectedAt)
    return nil
  }

  private func noteLoss(of connection: RedisConnection, _ failure: RedisFailure) {
    self.connection = nil
    requested = []
    let lastHeard = connection.assumeIsolated { $0.lastReceived }
    for (channel, state) in coverage {
      if case .heard = state {
        coverage[channel] = .lost(since: lastHeard, reason: failure.description)
      }
    }
  }

  private func adopt(_ connection: RedisConnection) {
    self.connection = connection
    requested = []
    connection.assumeIsolated { connection in
      connection.carryMessages { [weak self] values in
        self?.assumeIsolated { $0.received(values) }
      }
    }
    requestWhatDiffers()
    // The consumer may have been slow before the last connection ended, and may still be.
    if queue.count >= maxBuffered { connection.assumeIsolated { $0.pauseReading() } }
  }

  /// Asks for what is wanted and was not asked for, and the reverse. The result depends on the two
  /// sets only, never on the order in which they came about.
  private func requestWhatDiffers() {
    guard let connection else { return }
    let wanted = Set(coverage.keys)
    let added = wanted.subtracting(requested).sorted()
    let dropped = requested.subtracting(wanted).sorted()
    requested = wanted
    connection.assumeIsolated { connection in
      switch kind {
      case .classic:
        if !added.isEmpty { connection.post(RedisCommand("SUBSCRIBE", Spread(added))) }
        if !dropped.isEmpty { connection.post(RedisCommand("UNSUBSCRIBE", Spread(dropped))) }
      case .sharded:
        // One by one: those of a command must share a slot.
        for channel in added { connection.post(RedisCommand("SSUBSCRIBE", channel)) }
        for channel in dropped { connection.post(RedisCommand("SUNSUBSCRIBE", channel)) }
      }
    }
  }

  /// Ends the connection if it leads elsewhere than to one of these.
  func leave(unlessAt addresses: Set<RedisAddress>) {
    guard let connection else { return }
    let address = connection.configuration.address
    guard !addresses.contains(where: { "\($0)" == address }) else { return }
    connection.assumeIsolated { $0.abort() }
  }

  /// The server no longer has a channel's slot.
  private func dropped(_ channel: String) {
    guard case .heard = coverage[channel] else { return }
    requested.remove(channel)
    coverage[channel] = .lost(
      since: loop.now, reason: "The cluster moved the channel to another of its nodes.")
    queue.append(.dropped(channel: channel))
  }

  // MARK: Messages

  private func received(_ values: [RESPValue]) {
    for value in values { take(value) }
    if queue.deliver() {
      resumeReading()
    } else if queue.count >= maxBuffered {
      connection?.assumeIsolated { $0.pauseReading() }
    }
  }

  private func take(_ value: RESPValue) {
    switch value {
    case .error(let refusal): queue.append(.refused(refusal))
    case .array(let parts) where parts.count >= 2:
      guard case .bulk(let kind) = parts[0], case .bulk(let name) = parts[1] else { return }
      let channel = String(decoding: name, as: UTF8.self)
      if kind.elementsEqual(messageName.utf8), parts.count == 3, case .bulk(let payload) = parts[2]
      {
        // One that was on its way while we unsubscribed is no longer wanted.
        if coverage[channel] != nil {
          queue.append(.message(channel: channel, payload: payload))
        }
      } else if kind.elementsEqual("subscribe".utf8) || kind.elementsEqual("ssubscribe".utf8) {
        confirmed(channel)
      } else if kind.elementsEqual("sunsubscribe".utf8), requested.contains(channel) {
        dropped(channel)
      }
    // Pongs, and confirmations that we unsubscribed.
    default: break
    }
  }

  private var messageName: String {
    switch kind {
    case .classic: "message"
    case .sharded: "smessage"
    }
  }

  private func confirmed(_ channel: String) {
    switch coverage[channel] {
    case .awaited: queue.append(.subscribed(channel: channel))
    case .lost(let since, let reason):
      gaps += 1
      queue.append(
        .gap(SubscriptionGap(channel: channel, from: since, until: loop.now, reason: reason)))
    case .heard, nil: return
    }
    coverage[channel] = .heard
  }

  private func resumeReading() { connection?.assumeIsolated { $0.resumeReading() } }
}
