internal import Clocks
internal import FieldTrips
internal import HTTP
internal import Redis
internal import Transport

/// Watches a load from where its effects show: the simulated APNs, the service's logs in Redis, and
/// the kernel's books about the processes.
actor LoadWatch {
  nonisolated var unownedExecutor: UnownedSerialExecutor {
    loop.serial.asUnownedSerialExecutor()
  }

  /// How far a clock is ahead of ours.
  struct Offsets: Sendable {
    var simulator = Duration.zero
    var redis = Duration.zero
  }

  nonisolated let loop: EventLoop
  let target: LoadTarget
  let settings: LoadSettings
  let simulator: SimulatorProbe
  let redis: RedisClient
  var offsets = Offsets()
  /// By our wall clock; nil before the load.
  var began: UnixTime?
  var ledger: LoadLedger
  var sampler: StageSampler
  /// By channel.
  var tripOfChannel: [String: Int] = [:]
  /// By trip ID, of those whose logs are followed.
  var followedTrips: [String: Int] = [:]
  var partitionKeys: [Int: (log: String, cursor: String)] = [:]
  var partitionOfKey: [String: Int] = [:]
  /// How many broadcasts of the simulator are known.
  var knownBroadcasts = 0
  var missedBroadcasts = 0
  private var firstCards = FirstCards()
  var broadcastsBefore = 0
  var refusalsBefore: [String: Int] = [:]
  var refusals: [String: Int] = [:]
  /// 429s by span.
  var throttledBySpan: [Int] = []
  var usage: [LoadTarget.Process: [Int: ProcessUsage]] = [:]
  var newestUsage: [LoadTarget.Process: (at: Moment, usage: ProcessUsage)] = [:]
  var snapshot = LoadSnapshot()
  private let show: @Sendable (LoadSnapshot) -> Void

  init(
    target: LoadTarget, settings: LoadSettings, loop: EventLoop,
    show: @escaping @Sendable (LoadSnapshot) -> Void
  ) {
    self.target = target
    self.settings = settings
    self.loop = loop
    self.show = show
    simulator = SimulatorProbe(at: target.simulator, bundleID: target.bundleID, loop: loop)
    var configuration = target.redis
    configuration.clientName = "fieldcast-load"
    redis = RedisClient(configuration: configuration, loop: loop)
    ledger = LoadLedger(
      trips: settings.trips, spanNanoseconds: settings.spanNanoseconds,
      endNanoseconds: Int64(settings.seconds * 1e9))
    sampler = StageSampler(spanNanoseconds: settings.spanNanoseconds)
    snapshot.durationSeconds = settings.seconds
  }

  /// Watches until cancelled.
  ///
  /// - Throws: when the simulator cannot be asked any more.
  func run() async throws {
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { try await self.followBroadcasts() }
      group.addTask { await self.followCursors() }
      group.addTask { await self.watchProcesses() }
      defer { group.cancelAll() }
      try await group.waitForAll()
    }
  }

  func close() async {
    await simulator.close()
    await redis.close(atOnce: true)
  }

  // MARK: What the run tells

  func begin(_ phase: LoadSnapshot.Phase) {
    snapshot.phase = phase
    publish()
  }

  func know(trip: Int, channelID: String) {
    tripOfChannel[channelID] = trip
    firstCards.know(channelID)
    snapshot.trips = tripOfChannel.count
  }

  func count(members: Int) { snapshot.members += members }

  /// The load begins at this moment of our wall clock.
  func begin(at time: UnixTime) {
    began = time
    refusalsBefore = refusals
    snapshot.phase = .loading
  }

  /// Captures are about to be sent. On the loop, in the order of the schedule.
  func scheduled(_ notes: [CaptureNote]) {
    for note in notes { ledger.capture(note.trip, at: note.scheduledAt) }
  }

  /// Trips of which APNs has accepted a card.
  var cardsOut: Int { firstCards.count }

  // MARK: Time

  /// Since the beginning of the load, of a moment on our wall clock; negative before it.
  func offset(of time: UnixTime) -> Int64 {
    began.map { (time - $0).wholeNanoseconds } ?? -1
  }

  func measureOffsets() async throws {
    offsets.simulator = try await Self.offset { try await self.simulator.now() }
    offsets.redis = try await Self.offset {
      let parts = try await self.redis.call(RedisCommand("TIME")).arrayValue()
      let text = try parts.map { try $0.stringValue() }
      return UnixTime(
        nanoseconds: (Int64(text[0]) ?? 0) * 1_000_000_000 + (Int64(text[1]) ?? 0) * 1_000)
    }
  }

  /// How far another clock is ahead, by the quickest of a few questions. What the way there and
  /// back could explain is no difference.
  private static func offset(
    _ ask: () async throws -> UnixTime
  ) async throws -> Duration {
    var best: (trip: Duration, offset: Duration)?
    for _ in 0..<7 {
      let before = WallClock.now()
      let other = try await ask()
      let after = WallClock.now()
      let way = after - before
      if let best, best.trip <= way { continue }
      best = (way, other - (before + way / 2))
    }
    guard let best else { return .zero }
    let isWithinWay = best.offset > .zero - best.trip && best.offset < best.trip
    return isWithinWay ? .zero : best.offset
  }

  // MARK: Broadcasts

  private func followBroadcasts() async throws {
    var turns = 0
    while !Task.isCancelled {
      let isMore = try await takeBroadcasts()
      turns += 1
      if turns % 5 == 0 { try await takeRefusals() }
      if !isMore { try await loop.sleep(for: .milliseconds(100)) }
    }
  }

  /// - Returns: whether there are more than were asked for.
  @discardableResult
  func takeBroadcasts() async throws -> Bool {
    let limit = 500
    let (next, missed, accepted) = try await simulator.broadcasts(
      after: knownBroadcasts, limit: limit)
    guard next > knownBroadcasts else { return false }
    knownBroadcasts = next
    missedBroadcasts += missed
    for entry in accepted { take(entry) }
    return accepted.count == limit
  }

  private func take(_ entry: SimulatorProbe.Accepted) {
    firstCards.accept(entry.channelID)
    guard let trip = tripOfChannel[entry.channelID] else { return }
    var broadcast = entry.broadcast
    broadcast.trip = trip
    broadcast.acceptedAt = offset(of: entry.at - offsets.simulator)
    ledger.take(broadcast)
    if broadcast.acceptedAt >= 0, let notes = broadcast.notes {
      sampler.accepted(trip, notes: notes, at: broadcast.acceptedAt)
    }
  }

  func takeRefusals() async throws {
    let now = try await simulator.refusals()
    let fresh = (now["TooManyRequests"] ?? 0) - (refusals["TooManyRequests"] ?? 0)
    refusals = now
    guard let began, fresh > 0 else { return }
    let index = Int((WallClock.now() - began).wholeNanoseconds / settings.spanNanoseconds)
    while throttledBySpan.count <= index { throttledBySpan.append(0) }
    throttledBySpan[index] += fresh
  }

  /// Nothing more will be looked at.
  func endWatch() { ledger.end(phonesPerTrip: settings.phonesPerTrip) }

  /// Refusals during the load, by reason.
  var refusalsOfLoad: [String: Int] {
    var counts = refusals
    for (reason, before) in refusalsBefore { counts[reason, default: 0] -= before }
    return counts.filter { $0.value > 0 }
  }

  // MARK: Processes

  private func watchProcesses() async {
    while !Task.isCancelled {
      measureProcesses()
      publish()
      guard (try? await loop.sleep(for: .seconds(1))) != nil else { return }
    }
  }

  /// What all watched processes have used until now.
  @discardableResult
  func measureProcesses() -> [LoadTarget.Process: ProcessUsage] {
    var found: [LoadTarget.Process: ProcessUsage] = [:]
    let now = MonotonicClock.now()
    for (process, processID) in target.processes {
      guard let read = ProcessUsage.read(processID) else { continue }
      found[process] = read
      if let before = newestUsage[process], now > before.at {
        snapshot.cpu[process] =
          (read.cpuSeconds - before.usage.cpuSeconds) / (now - before.at).inSeconds
      }
      newestUsage[process] = (now, read)
      snapshot.residentBytes[process] = read.residentBytes
      let index = Int(offset(of: WallClock.now()) / settings.spanNanoseconds)
      if began != nil, index >= 0 { usage[process, default: [:]][index] = read }
    }
    return found
  }

  // MARK: Progress

  private func publish() {
    snapshot.elapsedSeconds =
      began.map { Double((WallClock.now() - $0).wholeNanoseconds) / 1e9 } ?? 0
    snapshot.captures = ledger.captures
    snapshot.capturesBehind = ledger.capturesBehind
    snapshot.broadcasts10 = ledger.broadcasts[10] ?? 0
    snapshot.broadcasts5 = ledger.broadcasts[5] ?? 0
    snapshot.throttled = throttledBySpan.reduce(0, +)
    if let last = ledger.spans.dropLast().last {
      let seconds = Double(settings.spanNanoseconds) / 1e9
      snapshot.capturesPerSecond = Double(last.captures) / seconds
      snapshot.phonesPerSecond = Double(last.phonesReached) / seconds
      snapshot.toAPNsP50 = last.toAPNs.quantile(0.5)
      snapshot.toAPNsP99 = last.toAPNs.quantile(0.99)
      snapshot.toPhonesP50 = last.toPhones.quantile(0.5)
      snapshot.toPhonesP99 = last.toPhones.quantile(0.99)
    }
    if let lag = sampler.lagBySpan.dropLast().last { snapshot.lagP99 = lag.quantile(0.99) }
    show(snapshot)
  }
}
