internal import Clocks
internal import HTTP
internal import Redis
package import Transport

/// Runs a whole load against a running service, and says how its phones fared.
package struct LoadRun: Sendable {
  private let target: LoadTarget
  private let settings: LoadSettings
  /// Sends; nothing else runs on it, so that it is punctual.
  private let driving: EventLoop
  private let watch: LoadWatch
  private let doors: [ServiceDoors]
  private let clients: [HTTP1Client]
  private let redis: RedisClient

  /// - Parameters:
  ///   - driving: sends captures.
  ///   - watching: does everything else.
  ///   - show: hears about once a second how it goes; on `watching`.
  package init(
    target: LoadTarget, settings: LoadSettings, driving: EventLoop, watching: EventLoop,
    show: @escaping @Sendable (LoadSnapshot) -> Void = { _ in }
  ) {
    self.target = target
    self.settings = settings
    self.driving = driving
    watch = LoadWatch(target: target, settings: settings, loop: watching, show: show)
    redis = RedisClient(configuration: target.redis, loop: watching)
    var clients: [HTTP1Client] = []
    for _ in 0..<max(1, settings.setUpConnections) {
      clients.append(HTTP1Client(endpoint: target.rest, loop: watching))
    }
    let redis = self.redis
    self.clients = clients
    doors = clients.map { ServiceDoors(rest: $0, token: target.token, redis: redis) }
  }

  /// What is known when the load is over, beside what the watch knows.
  struct Outcome: Sendable {
    var startedAt = WallClock.now()
    var usageAtStart: [LoadTarget.Process: ProcessUsage] = [:]
    var usageWithTrips: [LoadTarget.Process: ProcessUsage] = [:]
    var usageWithMembers: [LoadTarget.Process: ProcessUsage] = [:]
    /// CPU seconds a second before anything was captured.
    var idleCPU: [LoadTarget.Process: Double] = [:]
    var usageBefore: [LoadTarget.Process: ProcessUsage] = [:]
    /// When the last capture had its answer.
    var usageAfter: [LoadTarget.Process: ProcessUsage] = [:]
    var measuredSeconds = 0.0
    /// When APNs had accepted everything, or patience was at its end.
    var usageSettled: [LoadTarget.Process: ProcessUsage] = [:]
    var secondsUntilSettled = 0.0
    var createSeconds = 0.0
    var joinSeconds = 0.0
    var tally = DoorTally()
    var churn = Churn.Tally()
    var settleSeconds = 0.0
    var convergence = Convergence()
  }

  /// - Throws: when the service, its Redis or the simulator cannot be reached, or stop answering.
  package func run() async throws -> LoadReport {
    do {
      let report = try await withThrowingTaskGroup(of: LoadReport?.self) { group in
        group.addTask(executorPreference: watch.loop.tasks) {
          try await watch.run()
          return nil
        }
        group.addTask(executorPreference: watch.loop.tasks) { try await perform() }
        defer { group.cancelAll() }
        while let report = try await group.next() { if let report { return report } }
        throw LoadFailure("The load was stopped.")
      }
      await close()
      return report
    } catch {
      await close()
      throw error
    }
  }

  private func close() async {
    await watch.close()
    for client in clients { await client.close() }
    await redis.close(atOnce: true)
  }

  private func perform() async throws -> LoadReport {
    var outcome = Outcome()
    try await watch.measureOffsets()
    let crew = TripCrew(
      settings: settings, callers: doors, simulator: watch.simulator, watch: watch,
      loop: watch.loop)
    let trips = try await setUp(crew, &outcome)
    outcome.idleCPU = try await idleCPU()
    let tail = try await watch.prepareLogs(of: trips.map(\.id))
    try await watch.takeRefusals()
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { await watch.followLogs(tail) }
      try await load(trips, &outcome)
      await settle(trips, &outcome)
      await tail.close()
      try await group.waitForAll()
    }
    await watch.begin(.checking)
    outcome.convergence = try await Convergence.check(
      trips, tally: outcome.tally, settings: settings, watch: watch)
    await watch.endWatch()
    if settings.endsTrips { try await crew.end(trips) }
    return await watch.report(outcome)
  }

  // MARK: Before

  /// The first trip comes alone: what a service sets up once is no cost of the others.
  private func setUp(_ crew: TripCrew, _ outcome: inout Outcome) async throws -> [TripCrew.Trip] {
    var trips = try await crew.create(0..<1)
    try await join(trips, from: 0, crew, &outcome)
    try await waitForCards(1)
    outcome.usageAtStart = await watch.measureProcesses()
    let begin = MonotonicClock.now()
    let others = try await crew.create(1..<settings.trips)
    outcome.createSeconds = (MonotonicClock.now() - begin).inSeconds
    try await waitForCards(settings.trips)
    outcome.usageWithTrips = await watch.measureProcesses()
    try await join(others, from: 1, crew, &outcome)
    outcome.usageWithMembers = await watch.measureProcesses()
    trips += others
    return trips
  }

  private func join(
    _ trips: [TripCrew.Trip], from first: Int, _ crew: TripCrew, _ outcome: inout Outcome
  ) async throws {
    let begin = MonotonicClock.now()
    try await crew.join(trips, from: first)
    outcome.joinSeconds += (MonotonicClock.now() - begin).inSeconds
  }

  /// Waits until APNs has accepted so many trips' first cards.
  private func waitForCards(_ count: Int) async throws {
    var last = (cards: 0, at: MonotonicClock.now())
    while true {
      let cards = await watch.cardsOut
      if cards >= count { return }
      if cards > last.cards { last = (cards, MonotonicClock.now()) }
      guard MonotonicClock.now() - last.at < .seconds(30) else {
        throw LoadFailure(
          "APNs has accepted first cards of \(cards) trips of \(count), and none for half a minute."
        )
      }
      await watch.begin(.settingUp(what: "first cards", done: cards, of: settings.trips))
      try await watch.loop.sleep(for: .milliseconds(200))
    }
  }

  /// What the processes take for themselves, so that it can be told from what captures cost.
  private func idleCPU() async throws -> [LoadTarget.Process: Double] {
    await watch.begin(.settingUp(what: "idle", done: 1, of: 1))
    try await watch.loop.sleep(for: .seconds(1))
    let before = await watch.measureProcesses()
    let begin = MonotonicClock.now()
    try await watch.loop.sleep(for: .seconds(settings.idleSeconds))
    let after = await watch.measureProcesses()
    let seconds = (MonotonicClock.now() - begin).inSeconds
    var shares: [LoadTarget.Process: Double] = [:]
    for (process, usage) in after {
      shares[process] = (usage.cpuSeconds - (before[process]?.cpuSeconds ?? 0)) / seconds
    }
    return shares
  }

  // MARK: The load

  private func load(_ trips: [TripCrew.Trip], _ outcome: inout Outcome) async throws {
    let driver = CaptureDriver(
      target: target, settings: settings,
      trips: CaptureDriver.Trips(ids: trips.map(\.id), members: settings.phonesPerTrip),
      loop: driving
    ) { notes in
      // In the order of these calls, and so before the capture can come back from APNs.
      watch.loop.execute { watch.assumeIsolated { $0.scheduled(notes) } }
    }
    let churn = Churn(
      settings: settings, trips: trips, caller: doors[0], simulator: watch.simulator,
      loop: watch.loop)
    let start = MonotonicClock.now() + .milliseconds(300)
    let startedAt = WallClock.now() + .milliseconds(300)
    outcome.startedAt = startedAt
    outcome.usageBefore = await watch.measureProcesses()
    await watch.begin(at: startedAt)
    async let churned = churn.run(from: start)
    outcome.tally = try await Task(executorPreference: driving.tasks) {
      try await driver.run(from: start)
    }.value
    outcome.churn = await churned
    outcome.usageAfter = await watch.measureProcesses()
    outcome.measuredSeconds = (MonotonicClock.now() - start).inSeconds
  }

  /// Waits until APNs has accepted everything that the doors took.
  private func settle(_ trips: [TripCrew.Trip], _ outcome: inout Outcome) async {
    await watch.begin(.settling)
    let begin = MonotonicClock.now()
    let end = begin + .nanoseconds(Int64(settings.patienceSeconds * 1e9))
    while await watch.ledger.capturesBehind > outcome.tally.failed, MonotonicClock.now() < end {
      guard (try? await watch.loop.sleep(for: .milliseconds(100))) != nil else { return }
    }
    outcome.settleSeconds = (MonotonicClock.now() - begin).inSeconds
    outcome.usageSettled = await watch.measureProcesses()
    outcome.secondsUntilSettled = outcome.measuredSeconds + outcome.settleSeconds
    // The last broadcast is accepted, and on its way to the phones.
    try? await watch.loop.sleep(for: .milliseconds(1_500))
  }
}
