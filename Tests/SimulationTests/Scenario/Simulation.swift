import Clocks
import FieldTrips
import JSON

@testable import FieldcastServer
@testable import TripStore

/// One run: several nodes, Redis, APNs and phones, with what goes wrong according to its seed.
///
/// First things happen and go wrong; then everything is well and must come to rest; then what is
/// left ends; and half a day later nothing of it must be left.
final class Simulation {
  struct Outcome {
    let violations: [String]
    let digest: UInt64
    let events: Int
    let lines: [String]
  }

  let world: World
  private let scenario: Scenario
  private let rules: Rules
  private let server: RedisServer
  private let phones: Phones
  private let apns: ModelAPNs
  private let callers: Callers
  private let mutation: Mutation?
  private let log: ServiceLog
  private let mapper: Mapper
  /// Nodes stop for good.
  private var isClosing = false
  /// Content-states that trips must have come to, by how many triggers.
  private var expected: [TripID: (count: Int, state: Bytes)] = [:]

  init(seed: UInt64, mutation: Mutation? = nil, isTracing: Bool = false) throws {
    self.mutation = mutation
    let app = try AppID(bundleID: "com.example.trips", environment: .production)
    let world = World(seed: seed, isTracing: isTracing)
    self.world = world
    scenario = Scenario(of: world, app: app)
    rules = Rules(in: world)
    server = RedisServer(
      in: world, rules: rules, remembers: scenario.losesWrites, mutation: mutation)
    phones = Phones(in: world, rules: rules, mutation: mutation)
    apns = ModelAPNs(in: world, rules: rules, phones: phones)
    callers = Callers(
      in: world, rules: rules, settings: scenario.settings, hasClockSteps: scenario.hasClockSteps)
    mapper = Mapper(
      type: scenario.settings.type, attributes: try JSONText(validating: Callers.attributes))
    let box = Unchecked(world)
    log =
      isTracing
      ? ServiceLog(minimum: .debug) { level, message, facts in
        let facts = facts.map { " \($0.0)=\($0.1)" }.joined()
        box.value.trace.note(box.value, "log", mark: 0, "\(level.name) \(message)\(facts)")
      } : .silent
  }

  // MARK: The run

  func run() throws -> Outcome {
    for number in 0..<scenario.machineCount { world.add(Machine(number, in: world)) }
    for machine in world.machines.prefix(scenario.runningCount) { try start(machine) }
    world.faults = scenario.levels
    for plan in scenario.plans { perform(plan) }
    for (at, fault) in scenario.faults { world.at(at) { [self] in inflict(fault) } }
    world.run(until: scenario.calmAt)
    try calmDown()
    try settle("what was captured") { try hasConverged() }
    endAll()
    try settle("the ends of all trips") { try hasConverged() && allHaveEnded }
    try shutDownAndReturn()
    finish()
    return Outcome(
      violations: rules.violations, digest: world.trace.digest, events: world.trace.count,
      lines: world.trace.lines)
  }

  private func start(_ machine: Machine) throws {
    let seed = world.random.next()
    let node = try NodeProcess(
      machine, settings: scenario.settings,
      redis: RedisLink(machine.name, to: server, mutation: mutation),
      apns: APNsLink(machine.name, to: apns, mutation: mutation), seed: seed, log: log)
    machine.start { _ in node }
  }

  private func perform(_ plan: Scenario.Plan) {
    world.at(plan.createdAt) { [self] in
      callers.create(plan)
      openApps(of: plan.trip)
    }
    for (number, capture) in plan.captures.enumerated() {
      for at in [capture.at] + capture.copies {
        world.at(at) { [self] in
          guard let id = try? TriggerID("n\(number)") else { return }
          callers.send(
            Trigger(
              id: id, trip: plan.trip, effect: .note(Trigger.Note(place: "Place \(number)")),
              isSignificant: capture.isSignificant))
        }
      }
    }
    if let endsAt = plan.endsAt { world.at(endsAt) { [self] in end(plan.trip) } }
  }

  private func end(_ trip: TripID) {
    guard let id = try? TriggerID("asked") else { return }
    callers.send(Trigger(id: id, trip: trip, effect: .end(Trigger.EndOfTrip())))
  }

  /// Somebody looks at the app now and then; that is when a phone hears of a channel.
  private func openApps(of trip: TripID) {
    world.after(world.span(.seconds(1), .seconds(6))) { [self] in
      if isClosing || phones.byTrip[trip]?.hasEnded == true { return }
      if let channel = life(of: trip)?.channel.openID?.text {
        phones.join(
          trip, channel: channel, contentState: field(trip, "state") ?? [],
          stored: apns.channels[channel] ?? nil)
      }
      openApps(of: trip)
    }
  }

  // MARK: Faults

  private func inflict(_ fault: Fault) {
    let running = world.machines.filter { $0.process != nil }
    switch fault {
    case .kill:
      guard let machine = world.one(of: running) else { return }
      machine.kill()
      comeBack(machine, after: world.span(.milliseconds(200), .seconds(15)))
    case .pause:
      let until = world.now + world.span(.milliseconds(500), .seconds(20))
      world.one(of: running)?.pause(until: min(until, scenario.calmAt))
    case .drain:
      guard let machine = world.one(of: running) else { return }
      machine.drain()
      comeBack(machine, after: world.span(.seconds(2), .seconds(20)))
    case .join:
      guard let machine = world.one(of: world.machines.filter { $0.process == nil }) else { return }
      comeBack(machine, after: .zero)
    case .cutRedis: world.one(of: running)?.process?.redis.cut(for: world.span(.zero, .seconds(10)))
    case .stallRedis:
      world.one(of: running)?.process?.redis.stall(for: world.span(.seconds(1), .seconds(14)))
    case .redisRestarts:
      server.goDown(for: world.span(.milliseconds(300), .seconds(10)), losing: nil)
    case .redisLosesWrites:
      server.goDown(
        for: world.span(.seconds(1), .seconds(5)),
        losing: world.span(.milliseconds(200), .seconds(2)))
    case .apnsAway: apns.goAway(for: world.span(.seconds(5), .seconds(40)))
    case .channelLost:
      if let channel = world.one(of: apns.channels.keys.sorted()) { apns.lose(channel) }
    case .clockStepped:
      guard let machine = world.one(of: world.machines) else { return }
      machine.wallOffset = world.span(.seconds(-3_600), .seconds(3_600))
      world.trace.note(world, machine.name, mark: 6, "its clock is \(machine.wallOffset) off")
    }
  }

  private func comeBack(_ machine: Machine, after span: Duration) {
    world.after(span) { [self] in
      if isClosing { return }
      do { try start(machine) } catch { rules.violated("start", "\(error)") }
    }
  }

  /// From now on nothing goes wrong.
  private func calmDown() throws {
    world.trace.note(world, "world", mark: 7, "all is well from now on")
    world.faults = FaultLevels()
    for machine in world.machines { machine.wallOffset = .zero }
    // One that is stopping is left to stop: it must do so in time.
    for machine in world.machines where machine.process == nil { try start(machine) }
  }

  // MARK: Rest

  private func settle(_ what: String, _ isDone: () throws -> Bool) throws {
    var failure: (any Error)?
    let isSettled = world.run(for: .seconds(150)) {
      do { return try !rules.violations.isEmpty || isDone() } catch {
        failure = error
        return true
      }
    }
    if let failure { throw failure }
    if !isSettled { rules.violated("convergence", "\(what) did not come through: \(unsettled())") }
  }

  private func hasConverged() throws -> Bool {
    guard callers.open == 0 else { return false }
    return try scenario.plans.allSatisfy { try hasConverged($0.trip) }
  }

  private func hasConverged(_ trip: TripID) throws -> Bool {
    // A Redis that lost its last seconds may have lost the whole trip, and a node whose clock is an
    // hour ahead forgets one as early.
    guard let life = life(of: trip) else { return rules.hasLostWrites || scenario.hasClockSteps }
    let state = try expectedState(of: trip)
    guard field(trip, "state") == state else { return false }
    let phone = phones.byTrip[trip]
    switch life.phase {
    case .scheduled: return false
    case .ending:
      // The end was accepted, and Redis has lost that: it is over when no card can be left.
      return rules.hasLostWrites && phone?.hasEnded == true && phone?.contentState == state
    case .live:
      // An end that phones have shown, and Redis has lost: no card comes back from that.
      if rules.hasLostWrites, phone?.hasEnded == true { return true }
      guard let channel = life.channel.openID?.text else { return false }
      return phone?.channel == channel && phone?.contentState == state
    case .ended:
      guard let phone, let channel = phone.channel, let kept = apns.channels[channel] else {
        return true
      }
      // A phone that did not hear of the last channel before the end hears nothing more.
      if kept?.isEnd != true { return life.channel.id != channel }
      return phone.hasEnded && (rules.hasLostWrites || phone.contentState == state)
    }
  }

  private func expectedState(of trip: TripID) throws -> Bytes {
    let count = rules.history.triggers[trip]?.count ?? 0
    if let known = expected[trip], known.count == count { return known.state }
    let state = try rules.history.state(of: trip, from: Callers.firstState, mapper: mapper)
    expected[trip] = (count, state)
    return state
  }

  /// For the person who reads of a failure.
  private func unsettled() -> String {
    var parts = ["\(callers.open) requests are open"]
    for plan in scenario.plans where (try? hasConverged(plan.trip)) != true {
      let state = (try? expectedState(of: plan.trip)) ?? []
      parts.append(
        "\(TraceText.of(plan.trip)) should show \(TraceText.of(state)), has "
          + "\(TraceText.of(field(plan.trip, "state") ?? [])), its phone "
          + "\(TraceText.of(phones.byTrip[plan.trip]?.contentState ?? [])); "
          + "life \(TraceText.of(field(plan.trip, "life") ?? []))")
    }
    return parts.joined(separator: "; ")
  }

  // MARK: The end

  private func endAll() {
    for plan in scenario.plans where life(of: plan.trip)?.acceptsTriggers == true {
      end(plan.trip)
    }
  }

  private var allHaveEnded: Bool {
    scenario.plans.allSatisfy { plan in
      guard let life = life(of: plan.trip) else {
        return rules.hasLostWrites || scenario.hasClockSteps
      }
      switch life.phase {
      case .ended: return true
      case .ending: return rules.hasLostWrites && phones.byTrip[plan.trip]?.hasEnded == true
      case .scheduled, .live: return false
      }
    }
  }

  /// All nodes stop; hours later one looks after what is left.
  private func shutDownAndReturn() throws {
    guard rules.violations.isEmpty else { return }
    isClosing = true
    for machine in world.machines { machine.drain() }
    try settle("the stop of all nodes") { world.machines.allSatisfy { $0.process == nil } }
    guard rules.violations.isEmpty else { return }
    world.run(until: world.now + .seconds(5 * 3_600))
    try start(world.machines[0])
    try settle("the end of all channels") { isNothingLeft }
  }

  /// A channel that is still there must be in the books, where reconciliation finds it, or come of
  /// a creation that is noted as one of unknown outcome.
  private var isNothingLeft: Bool {
    if rules.hasLostWrites { return true }
    let app = AppKeys(scenario.settings.app)
    let books = server.model.hashes[app.channels] ?? [:]
    let unknown = server.model.hashes[app.creations]?.count ?? 0
    return apns.channels.keys.count { books[$0] == nil } <= unknown
      && books.values.allSatisfy { !$0.starts(with: Bytes("deletion".utf8)) }
      && scenario.plans.allSatisfy { life(of: $0.trip) == nil }
  }

  private func finish() {
    for (trip, id) in callers.acknowledged
    where !rules.hasLostWrites && !rules.history.has(id, of: trip) {
      rules.violated("nothing lost", "the trigger \(id) was acknowledged and is in no log")
    }
    // A clock that was set ahead may have granted a full bucket.
    if !scenario.hasClockSteps, !rules.hasLostWrites {
      rules.checkBudgets(scenario.settings.policy)
    }
    for machine in world.machines { machine.kill() }
    world.run(until: world.now + .seconds(30))
  }

  // MARK: What Redis holds

  private func field(_ trip: TripID, _ name: String) -> Bytes? {
    let partition = Partition(of: trip, count: scenario.settings.partitionCount)
    return server.model.field(PartitionKeys(partition).trip(trip), name)
  }

  private func life(of trip: TripID) -> TripLife? {
    field(trip, "life").flatMap { TripLife(text: String(decoding: $0, as: UTF8.self)) }
  }
}

extension TripChannel {
  /// The channel, open or not.
  fileprivate var id: String? {
    switch self {
    case .open(let id), .deletionDue(let id, _): id.text
    case .opening, .gone, .unavailable: nil
    }
  }
}
