internal import Clocks
package import Transport

/// A cluster of Redis servers: each command goes to the master of its key's slot, over one
/// connection a master, and follows the slot when that moves.
///
/// What a node refuses because it is not the one, or not now, is sent again where and when it
/// should be, until the call's deadline; ``ClusterRemedy`` says what of, and why that is safe. The
/// map of slots is read anew when a command shows that it is wrong, and every few seconds besides.
///
/// Commands of one batch that go to different nodes run at the same time. A batch for several nodes
/// does not wait long for one that is gone: its commands fail then, and the others' replies are
/// there.
package actor RedisCluster: ConnectedRedis {
  package nonisolated var unownedExecutor: UnownedSerialExecutor {
    loop.serial.asUnownedSerialExecutor()
  }

  /// What a call needs for finding its connection.
  struct Routes {
    var map = SlotMap()
    /// In the order of the map's masters.
    var clients: [RedisClient] = []
  }

  package nonisolated let loop: EventLoop
  package nonisolated let configuration: RedisConfiguration
  package nonisolated var isCluster: Bool { true }

  /// `nonisolated(unsafe)` is right because it is read and written on the loop only.
  nonisolated(unsafe) var routes = Routes()
  /// All that we have, also those to which slots are only moving.
  var clients: [RedisAddress: RedisClient] = [:]
  /// When a client was last needed that is no master of the map.
  var strangers: [RedisAddress: Moment] = [:]
  let topology: ClusterTopology
  /// The look that is under way; whoever wants another joins it.
  var look: Task<Void, Never>?
  var lookedAt = Moment.distantPast
  /// A redirection showed that the map is old.
  var mustLookSoon = false
  var lastFailure: RedisError?
  var life: Task<Void, Never>?
  var isClosed = false
  var onChange: [@Sendable (SlotMap) -> Void] = []
  /// Losses of clients that are gone.
  var earlierLosses = 0
  let onEvent: @Sendable (RedisClientEvent) -> Void
  private var generator = SystemRandomNumberGenerator()

  /// - Parameters:
  ///   - configuration: how to speak with each node; its endpoint does not matter.
  ///   - seeds: nodes to ask for the others. They are asked again whenever nobody else answers.
  ///   - onEvent: hears of each node's connection; called on the loop, must not block.
  package init(
    configuration: RedisConfiguration, seeds: [RedisAddress], loop: EventLoop,
    onEvent: @escaping @Sendable (RedisClientEvent) -> Void = { _ in }
  ) {
    self.configuration = configuration
    self.loop = loop
    self.onEvent = onEvent
    topology = ClusterTopology(configuration: configuration, seeds: seeds, loop: loop)
  }

  // MARK: Calls

  package nonisolated(nonsending) func call(
    _ command: RedisCommand, deadline: Duration? = nil
  ) async throws(RedisError) -> RESPValue {
    let end = now + (deadline ?? configuration.commandDeadline)
    let isReady = command.script.map { $0.digest != nil } ?? true
    guard isReady, let connection = present(command.slot) else {
      return try await callSlowly(command, nil, before: end)
    }
    let reply = await connection.reply(to: command, before: end)
    if case .success(let value) = reply { return value }
    return try await callSlowly(command, (reply, connection), before: end)
  }

  package nonisolated(nonsending) func callAll(
    _ batch: RedisBatch, deadline: Duration? = nil
  ) async -> [RedisReply] {
    let end = now + (deadline ?? configuration.commandDeadline)
    return await deliver(batch, before: end)
  }

  /// The connection to a slot's master, when the caller is on the loop already: then a call need
  /// not enter this actor.
  private nonisolated func present(_ slot: Int?) -> RedisConnection? {
    guard loop.isOnLoop, let slot, let place = routes.map.place(of: slot) else { return nil }
    return routes.clients[place].present()
  }

  private nonisolated var now: Moment { loop.isOnLoop ? loop.now : MonotonicClock.now() }

  /// - Parameter first: what came of a first try, and where.
  private func callSlowly(
    _ command: RedisCommand, _ first: (RedisReply, RedisConnection)?, before end: Moment
  ) async throws(RedisError) -> RESPValue {
    var delivery = ClusterDelivery(RedisBatch([command]))
    if let (reply, connection) = first {
      delivery.take([reply], to: [0], from: connection.configuration.host)
    } else {
      try await load(delivery.batch.unknownScripts, before: end)
    }
    return try await complete(delivery, before: end)[0].get()
  }

  private func deliver(_ batch: RedisBatch, before end: Moment) async -> [RedisReply] {
    guard !batch.isEmpty else { return [] }
    do {
      try await load(batch.unknownScripts, before: end)
    } catch {
      return Array(repeating: .failure(error), count: batch.count)
    }
    return await complete(ClusterDelivery(batch), before: end)
  }

  private func load(_ scripts: [RedisScript], before end: Moment) async throws(RedisError) {
    for script in scripts {
      let loading = ClusterDelivery(RedisBatch([script.loading]))
      do throws(RedisError) {
        script.remember(digest: try await complete(loading, before: end)[0].get().stringValue())
      } catch {
        // At its memory limit a server learns no script, but may run one that comes in full.
        guard error.refusal?.kind == .outOfMemory else { throw error }
      }
    }
  }

  // MARK: Rounds

  /// Commands that go to one node in one write.
  private struct Parcel: Sendable {
    let client: RedisClient
    var indices: [Int]
    let isInFull: Bool
    let isAsking: Bool
  }

  /// Sends what is open, round by round, until nothing is or the time is over.
  private func complete(_ first: ClusterDelivery, before end: Moment) async -> [RedisReply] {
    var delivery = first
    var pauses = Backoff(first: .milliseconds(10), longest: .milliseconds(200))
    // Whether some were answered: then the rest has only a little more time.
    var patience = end
    while !delivery.open.isEmpty {
      await prepare(delivery, &pauses)
      if loop.now >= min(end, patience) || isClosed { break }
      delivery.beginRound()
      let open = delivery.open.count
      await sendRound(&delivery, before: end)
      if delivery.open.count < open, patience == end { patience = loop.now + Self.patience }
    }
    return delivery.outcomes
  }

  /// How much longer a batch waits for those of its nodes that do not take their commands.
  private static let patience = Duration.milliseconds(300)

  /// Follows what the last round found out.
  private func prepare(_ delivery: ClusterDelivery, _ pauses: inout Backoff) async {
    for (slot, address) in delivery.moves { moved(slot, to: address) }
    if delivery.mustPause {
      try? await loop.sleep(for: pauses.pause(using: &generator))
    }
    if delivery.mustLook || routes.map.isEmpty { await lookAgain(hint: delivery.hint) }
  }

  private func sendRound(_ delivery: inout ClusterDelivery, before end: Moment) async {
    let (parcels, homeless) = parcels(of: delivery)
    delivery.take(
      homeless.map { .failure(noMaster(of: delivery.slots[$0])) }, to: homeless, from: "")
    let batch = delivery.batch
    if parcels.count == 1 {
      let replies = await send(parcels[0], of: batch, before: end)
      return delivery.take(
        replies, to: parcels[0].indices, from: parcels[0].client.configuration.host)
    }
    let answers = await withTaskGroup(of: (Int, [RedisReply]).self) { group in
      for (number, parcel) in parcels.enumerated() {
        group.addTask { (number, await self.send(parcel, of: batch, before: end)) }
      }
      var answers: [(Int, [RedisReply])] = []
      for await answer in group { answers.append(answer) }
      return answers
    }
    for (number, replies) in answers {
      let parcel = parcels[number]
      delivery.take(replies, to: parcel.indices, from: parcel.client.configuration.host)
    }
  }

  /// - Returns: also the commands for which there is no node now.
  private func parcels(of delivery: ClusterDelivery) -> ([Parcel], homeless: [Int]) {
    var parcels: [Parcel] = []
    var places: [ParcelName: Int] = [:]
    var homeless: [Int] = []
    for index in delivery.open {
      let plan = delivery.plans[index]
      guard let client = client(for: plan.target, slot: delivery.slots[index]) else {
        homeless.append(index)
        continue
      }
      let isAsking = if case .asking = plan.target { true } else { false }
      let name = ParcelName(
        client: ObjectIdentifier(client), isInFull: plan.isInFull, isAsking: isAsking)
      if let place = places[name] {
        parcels[place].indices.append(index)
      } else {
        places[name] = parcels.count
        parcels.append(
          Parcel(client: client, indices: [index], isInFull: plan.isInFull, isAsking: isAsking))
      }
    }
    return (parcels, homeless)
  }

  private struct ParcelName: Hashable {
    let client: ObjectIdentifier
    let isInFull: Bool
    let isAsking: Bool
  }

  private func client(for target: ClusterDelivery.Target, slot: Int?) -> RedisClient? {
    switch target {
    case .node(let address), .asking(let address): return stranger(at: address)
    case .master:
      guard let slot else {
        // Any will do; one that is connected does at once.
        return routes.clients.first { $0.present() != nil } ?? routes.clients.randomElement()
      }
      return routes.map.place(of: slot).map { routes.clients[$0] }
    }
  }

  private func send(
    _ parcel: Parcel, of batch: RedisBatch, before end: Moment
  ) async -> [RedisReply] {
    let connection: RedisConnection
    do throws(RedisError) {
      // Not longer: the slots of a node that is gone may have another master by now.
      connection = try await parcel.client.connection(before: min(end, loop.now + Self.patience))
    } catch {
      return Array(repeating: .failure(error), count: parcel.indices.count)
    }
    let selection = batch.selection(
      parcel.indices, inFull: parcel.isInFull, asking: parcel.isAsking)
    let replies = await connection.callAll(selection, before: end)
    guard parcel.isAsking else { return replies }
    return stride(from: 1, to: replies.count, by: 2).map { replies[$0] }
  }

  func noMaster(of slot: Int?) -> RedisError {
    if isClosed { return .notSent(RedisFailure(.closing, "The cluster's client is closed.")) }
    if let lastFailure, routes.map.isEmpty { return lastFailure }
    return .notSent(
      RedisFailure(
        .cannotConnect,
        "The Redis cluster has no master for slot \(slot ?? 0); see CLUSTER INFO on any node."))
  }
}
