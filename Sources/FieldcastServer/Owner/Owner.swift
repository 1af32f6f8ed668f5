internal import Clocks
internal import FieldTrips
internal import Transport
internal import TripStore

/// Does everything that one node does for the trips of the partitions it owns: works off their
/// logs, publishes their states, and takes the steps of their lives in time.
///
/// What it knows of a trip is a copy of what Redis holds, under an epoch: a node that lost a
/// partition is told so by the next write, and drops what it had of it.
actor Owner {
  nonisolated var unownedExecutor: UnownedSerialExecutor {
    loop.serial.asUnownedSerialExecutor()
  }

  struct Settings: Sendable {
    /// By name.
    var activityTypes: [String: ActivityType]
    var policy: PublishingPolicy
    var rules: TripRules
  }

  /// A partition in our hands.
  struct Holding {
    let ownership: Ownership
    /// The last log entry that is committed.
    var cursor: LogID
    /// When the earliest of its due items is due; nil when there is none.
    var nextDue: UnixTime?
    /// Its due items are being worked off.
    var isDoingDue = false
  }

  struct Counts: Sendable {
    /// Triggers whose effect is committed, those without effect on the card included.
    var applied = 0
    var refused = 0
    var broadcasts10 = 0
    var broadcasts5 = 0
    var throttled = 0
    var failed = 0
  }

  nonisolated let loop: EventLoop
  let store: TripStore
  let watcher: LogWatcher
  let clock: ServiceClock
  let settings: Settings
  let channels: ChannelManager
  let log: ServiceLog
  /// Sends, channel openings and other work that timers begin.
  let nursery: Nursery
  let lanes: [AppID: AppLane]
  var holdings: [Partition: Holding] = [:]
  var trips: [TripID: OwnedTrip] = [:]
  var random = SystemRandomNumberGenerator()
  var dueTimer: LoopTimer?
  var isDraining = false
  var counts = Counts()

  init(
    store: TripStore, watcher: LogWatcher, lanes: [AppID: AppLane],
    channels: ChannelManager, settings: Settings, clock: ServiceClock, log: ServiceLog,
    loop: EventLoop
  ) {
    self.store = store
    self.watcher = watcher
    self.lanes = lanes
    self.channels = channels
    self.settings = settings
    self.clock = clock
    self.log = log
    self.loop = loop
    nursery = Nursery(loop: loop)
  }

  /// Serves until drained or cancelled.
  func run() async {
    await withDiscardingTaskGroup { group in
      group.addTask { await self.nursery.run() }
      group.addTask { await self.followLogs() }
    }
  }

  /// Finishes what is at hand: nothing new is read from the logs, and what is due goes out as far
  /// as the budget allows it now.
  func drain() async {
    isDraining = true
    nursery.close()
    await watcher.close()
    for trip in trips.values { cancelTimer(of: trip) }
    if let dueTimer { loop.cancel(dueTimer) }
    dueTimer = nil
  }

  // MARK: Partitions come and go

  /// This node owns a partition from now on.
  func took(_ ownership: Ownership, cursor: LogID) async {
    let partition = ownership.partition
    await drop(partition)
    holdings[partition] = Holding(ownership: ownership, cursor: cursor)
    await resume(partition)
    await watcher.follow([(partition: partition, after: cursor)])
  }

  /// Another node owns it now, or soon will.
  func drop(_ partition: Partition) async {
    guard holdings.removeValue(forKey: partition) != nil else { return }
    for trip in trips.values where trip.partition == partition { forgetInMemory(trip) }
    await watcher.forget(partition)
  }

  var ownerships: [Ownership] { holdings.values.map(\.ownership) }

  /// What the store refused because another node owns the partition.
  func fenced(_ partition: Partition, current: Epoch) async {
    guard let holding = holdings[partition], holding.ownership.epoch < current else { return }
    log.info(
      "another node has taken over a partition",
      ["partition": "\(partition)", "epoch": "\(current)"])
    await drop(partition)
  }

  /// Takes up what the owner before us left unfinished.
  private func resume(_ partition: Partition) async {
    do throws(StoreError) {
      let unfinished = try await store.unpublishedTrips(of: partition)
      try await load(unfinished)
      for id in unfinished {
        guard let trip = trips[id] else { continue }
        await perform(trip.life.resumed(at: clock.wall, rules: settings.rules), for: trip)
        step(trip)
      }
      if let next = try await store.nextDue([partition])[0].get() { due(partition, at: next) }
    } catch {
      log.warning(
        "a partition cannot be taken up; trying again",
        ["partition": "\(partition)", "reason": "\(error)"])
      nursery.start { [self] in
        try? await loop.sleep(for: .milliseconds(500))
        if await owns(partition) { await resume(partition) }
      }
    }
  }

  private func owns(_ partition: Partition) -> Bool { holdings[partition] != nil }

  // MARK: Trips in memory

  /// Reads those trips that are not in memory yet.
  ///
  /// - Throws: when one of them cannot be read now; those that could be are in memory.
  func load(_ ids: [TripID]) async throws(StoreError) {
    var problem: StoreError?
    let missing = ids.filter { trips[$0] == nil }
    guard !missing.isEmpty else { return }
    for (id, result) in zip(missing, await store.trips(missing)) {
      switch result {
      case .success(let record?): remember(record)
      case .success(nil): break
      case .failure(let error):
        log.warning("a trip cannot be read", ["trip": "\(id)", "reason": "\(error)"])
        problem = error
      }
    }
    if let problem { throw problem }
  }

  private func remember(_ record: TripRecord) {
    // Another task may have read it while we waited: the first one stays.
    let partition = store.partition(of: record.id)
    guard trips[record.id] == nil, holdings[partition] != nil else { return }
    do throws(Refusal) {
      trips[record.id] = try OwnedTrip(
        record, partition: partition, types: settings.activityTypes, policy: settings.policy,
        clock: clock)
    } catch {
      log.error("a trip cannot be served", ["trip": "\(record.id)", "reason": "\(error)"])
    }
  }

  func forgetInMemory(_ trip: OwnedTrip) {
    cancelTimer(of: trip)
    trips[trip.id] = nil
  }

  func cancelTimer(of trip: OwnedTrip) {
    if let timer = trip.timer { loop.cancel(timer) }
    trip.timer = nil
  }
}
