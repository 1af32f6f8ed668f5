internal import Clocks
internal import Transport

/// Which nodes there are, and the clients for them.
extension RedisCluster {
  // MARK: Life

  package func waitUntilConnected(deadline: Duration) async throws(RedisError) {
    let end = loop.now + deadline
    var pauses = Backoff(first: .milliseconds(20), longest: .milliseconds(500))
    var generator = SystemRandomNumberGenerator()
    while routes.map.isEmpty {
      await lookAgain(hint: nil)
      guard routes.map.isEmpty else { break }
      if isClosed || loop.now >= end { throw lastFailure ?? noSeed }
      try? await loop.sleep(for: pauses.pause(using: &generator))
    }
    var failure: RedisError?
    for client in routes.clients {
      do throws(RedisError) {
        try await client.waitUntilConnected(deadline: max(end - loop.now, .milliseconds(1)))
      } catch {
        failure = error
      }
    }
    // With some of its masters a cluster can do a part of the work.
    if let failure, !routes.clients.contains(where: { $0.present() != nil }) { throw failure }
  }

  package func close(atOnce: Bool = false) {
    isClosed = true
    life?.cancel()
    for client in clients.values { client.assumeIsolated { $0.close(atOnce: atOnce) } }
    topology.assumeIsolated { $0.close() }
    onChange = []
  }

  package nonisolated func closeSoon() {
    loop.execute { self.assumeIsolated { $0.close(atOnce: true) } }
  }

  package var isConnected: Bool {
    !routes.map.isEmpty && routes.clients.allSatisfy { $0.present() != nil }
  }

  package var losses: Int {
    clients.values.reduce(earlierLosses) { $0 + $1.assumeIsolated { $0.losses } }
  }

  /// As they were last seen.
  package var masters: [RedisAddress] { routes.map.masters }

  /// Ends all connections; new ones are made at once. For tests.
  package func reconnect() {
    for client in clients.values { client.assumeIsolated { $0.reconnect() } }
  }

  /// Calls `body` on the loop whenever the map of slots has changed.
  func whenChanged(_ body: @escaping @Sendable (SlotMap) -> Void) { onChange.append(body) }

  // MARK: The map

  /// Reads the map anew, or joins whoever is doing so. One that was read this moment is not asked
  /// for again.
  ///
  /// - Parameter hint: a node that is likely to know it.
  func lookAgain(hint: RedisAddress?) async {
    if isClosed { return }
    begin()
    if let look { return await look.value }
    guard loop.now > lookedAt + .milliseconds(20) else { return }
    let task = Task(executorPreference: loop.tasks) { await self.lookOnce(hint: hint) }
    look = task
    await task.value
  }

  private func lookOnce(hint: RedisAddress?) async {
    defer {
      look = nil
      lookedAt = loop.now
    }
    do throws(RedisError) {
      adopt(try await topology.read(hint: hint, known: routes.map))
    } catch {
      lastFailure = error
    }
  }

  /// One slot is elsewhere; what else may have changed is asked for in the background.
  func moved(_ slot: Int, to address: RedisAddress) {
    if routes.map.move(slot, to: address) { tellListeners() }
    mustLookSoon = true
  }

  private func begin() {
    guard life == nil, !isClosed else { return }
    life = Task(executorPreference: loop.tasks) { await self.live() }
  }

  private func live() async {
    var untilLook = Self.lookInterval
    while (try? await loop.sleep(for: Self.tick)) != nil {
      untilLook -= Self.tick
      guard mustLookSoon || untilLook <= .zero else { continue }
      mustLookSoon = false
      untilLook = Self.lookInterval
      await lookAgain(hint: nil)
    }
  }

  /// How long a change may stay unnoticed that no command runs into, such as by a connection for
  /// messages.
  private static let lookInterval = Duration.seconds(2)
  private static let tick = Duration.milliseconds(200)

  private func adopt(_ map: SlotMap) {
    guard !isClosed else { return }
    lastFailure = nil
    let hasChanged = map != routes.map
    for master in map.masters where clients[master] == nil { clients[master] = make(master) }
    let masters = Set(map.masters)
    for (address, client) in clients where !masters.contains(address) {
      if let used = strangers[address], loop.now - used < .seconds(30) { continue }
      strangers[address] = nil
      clients[address] = nil
      earlierLosses += client.assumeIsolated { $0.losses }
      client.assumeIsolated { $0.retire() }
    }
    routes = Routes(map: map, clients: map.masters.compactMap { clients[$0] })
    if hasChanged { tellListeners() }
  }

  private func tellListeners() {
    for listener in onChange { listener(routes.map) }
  }

  /// A client for a node that a redirection named.
  func stranger(at address: RedisAddress) -> RedisClient {
    if !routes.map.masters.contains(address) { strangers[address] = loop.now }
    if let client = clients[address] { return client }
    let client = make(address)
    clients[address] = client
    return client
  }

  private func make(_ address: RedisAddress) -> RedisClient {
    let client = RedisClient(
      configuration: configuration.at(address), loop: loop, onEvent: onEvent)
    client.assumeIsolated { $0.start() }
    return client
  }

  private var noSeed: RedisError {
    .notSent(RedisFailure(.cannotConnect, "None of the cluster's nodes answers."))
  }
}
