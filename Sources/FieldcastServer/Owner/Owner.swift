internal import Clocks
internal import FieldTrips
internal import Randomness
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
    var notifications: NotificationRules
    /// The app that a notification is of which names none.
    var defaultBundleID: String
    /// How often logs are looked into of which nobody said that something came; real time.
    var lookEvery = Duration.seconds(1)
    /// Of the jitter between retries.
    var seed = UInt64.random(in: .min ... .max)
  }

  struct Counts: Sendable {
    /// Triggers whose effect is committed, those without effect on the card included.
    var applied = 0
    var refused = 0
    var broadcasts10 = 0
    var broadcasts5 = 0
    var throttled = 0
    var failed = 0
    /// Pushes to cards by their tokens, whatever came of them.
    var tokenPushes = 0
    var tokensRetired = 0
    var tokensQuarantined = 0
    /// Pushes to cards that went nowhere: their tokens' environment is not served here.
    var tokensUnserved = 0
    /// Remote starts that were sent, and those that the devices' budgets did not allow.
    var starts = 0
    var startsWithheld = 0
  }

  nonisolated let loop: EventLoop
  let store: TripStore
  let bell: LogBell
  let times: StageTimes
  let clock: ServiceClock
  let settings: Settings
  let channels: ChannelManager
  let fetcher: ContentFetcher
  /// Where callers' traces go on to; nil when nobody collects them.
  let spans: SpanExporter?
  let desk = NotificationDesk()
  let log: ServiceLog
  /// Batches and sends: what a stop waits for, since its outcome must be stored.
  let nursery: Nursery
  /// What a stop may cut off, since it is found again in the store.
  let errands: Nursery
  let lanes: [AppID: AppLane]
  var holdings: [Partition: Holding] = [:]
  /// Those with log entries that wait for the next round.
  var queue: [Holding] = []
  var roundsUnderWay = 0
  var isReading = false
  var random: SplitMix64
  var dueTimer: LoopTimer?
  /// How far the wall clock is ahead of the monotonic one; see ``noticeClockStep()``.
  var wallLead = Duration.zero
  var isDraining = false
  var counts = Counts()
  /// For people who ask how APNs answers.
  var refusals = RecentRefusals()
  /// Whether so many of an app's tokens fail that it is not their fault.
  var storms: [AppID: TokenStorm] = [:]
  private var isRunning = false
  private var drained: UnsafeContinuation<Void, Never>?

  init(
    store: TripStore, bell: LogBell, lanes: [AppID: AppLane],
    channels: ChannelManager, fetcher: ContentFetcher, settings: Settings, times: StageTimes,
    clock: ServiceClock, log: ServiceLog, spans: SpanExporter? = nil, loop: EventLoop
  ) {
    self.store = store
    self.spans = spans
    self.bell = bell
    self.lanes = lanes
    self.channels = channels
    self.fetcher = fetcher
    self.settings = settings
    self.times = times
    self.clock = clock
    self.log = log
    self.loop = loop
    random = SplitMix64(seed: settings.seed)
    nursery = Nursery(loop: loop)
    errands = Nursery(loop: loop)
  }

  /// Serves until drained or cancelled.
  func run() async {
    isRunning = true
    await withTaskGroup(of: Void.self) { group in
      group.addTask { await self.errands.run() }
      group.addTask { await self.lookRegularly() }
      group.addTask { await self.listen() }
      await nursery.run()
      group.cancelAll()
    }
    isRunning = false
    drained?.resume()
    drained = nil
  }

  /// Takes nothing new from the logs, and returns when the batches and broadcasts under way are
  /// done and stored. What waits for its time or its budget is in Redis, for the next owner.
  func drain() async {
    isDraining = true
    await bell.close()
    for holding in holdings.values {
      for trip in holding.trips.values { cancelTimer(of: trip) }
    }
    for lane in lanes.values { lane.cancelTimer(on: loop) }
    if let dueTimer { loop.cancel(dueTimer) }
    dueTimer = nil
    await fetcher.stop()
    errands.close()
    nursery.close()
    await withUnsafeContinuation { continuation in
      if isRunning { drained = continuation } else { continuation.resume() }
    }
    await leaveWaiting()
  }

  /// The same order at each look, so that what happens can be repeated.
  var holdingsInOrder: [Holding] { holdings.values.sorted { $0.partition < $1.partition } }

  // MARK: Trips in memory

  /// Partitions with log entries that wait for the next round.
  var partitionsWaiting: Int { queue.count }

  var tripsInMemory: Int { holdings.values.reduce(0) { $0 + $1.trips.count } }

  /// The trip, if its partition is ours and it is in memory.
  func trip(_ id: TripID) -> OwnedTrip? { holdings[store.partition(of: id)]?.trips[id] }

  /// Reads those trips of a partition that are not in memory yet.
  ///
  /// - Throws: when one of them cannot be read now; those that could be are in memory.
  func load(_ ids: some Collection<TripID>, of holding: Holding) async throws(StoreError) {
    let missing = ids.filter(holding.lacks)
    guard !missing.isEmpty else { return }
    var problem: StoreError?
    for (id, result) in zip(missing, await store.trips(Array(missing))) {
      if !remember(result, of: id, in: holding), case .failure(let error) = result {
        problem = error
      }
    }
    if let problem { throw problem }
  }

  /// - Returns: false when the trip could not be read now.
  func remember(
    _ result: Result<TripRecord?, StoreError>, of id: TripID, in holding: Holding
  ) -> Bool {
    switch result {
    // Another task may have read it while we waited: the first one stays.
    case .success(let record?):
      if holding.isOurs, holding.trips[id] == nil { remember(record, in: holding) }
    case .success(nil): holding.unserved[id] = nil
    case .failure(let error):
      log.warning("a trip cannot be read", ["trip": "\(id)", "reason": "\(error)"])
      return false
    }
    return true
  }

  private func remember(_ record: TripRecord, in holding: Holding) {
    do throws(Refusal) {
      holding.add(
        try OwnedTrip(
          holding.understood(record), in: holding, types: settings.activityTypes,
          policy: settings.policy, clock: clock))
    } catch {
      holding.unserved[record.id] = error.problems[0]
      log.error("a trip cannot be served", ["trip": "\(record.id)", "reason": "\(error)"])
    }
  }

  /// Reserves the next timestamp of a trip, for its newest state as its type is now.
  ///
  /// - Parameter anchor: the token bucket after a broadcast was paid; nil leaves it as it is.
  func reserve(
    _ purpose: BroadcastPurpose, for trip: OwnedTrip, timestampSeconds: Int64,
    anchor: UnixTime? = nil
  ) async throws(StoreError) -> ReserveOutcome {
    let outcome = try await store.reserve(
      purpose, for: trip.id, timestampSeconds: timestampSeconds, anchor: anchor,
      owner: trip.holding.ownership)
    guard case .reserved(let state) = outcome else { return outcome }
    return .reserved(trip.current(state))
  }

  func forgetInMemory(_ trip: OwnedTrip) {
    cancelTimer(of: trip)
    trip.holding.remove(trip)
  }

  /// Forgets a trip of which nothing is under way; it is read again when it is needed.
  ///
  /// Not while a batch of the log may hold it: a copy read before the commit would stay behind.
  func restIfPossible(_ trip: OwnedTrip) {
    if trip.isHeld, trip.isResting, !trip.holding.isWorking { forgetInMemory(trip) }
  }

  func cancelTimer(of trip: OwnedTrip) {
    if let timer = trip.timer { loop.cancel(timer) }
    trip.timer = nil
  }
}
