import Clocks
import FieldTrips

/// What is to happen in a run, made of its seed: how many there are of what, which trips, and which
/// faults when.
struct Scenario {
  struct Plan {
    let trip: TripID
    let createdAt: Moment
    let times: TripTimes
    let captures: [Capture]
    /// When somebody asks for the end; nil leaves it to the planned end.
    let endsAt: Moment?
  }

  struct Capture {
    let at: Moment
    let isSignificant: Bool
    /// Copies of the same trigger that come besides, by other doors.
    let copies: [Moment]
  }

  let settings: NodeSettings
  let machineCount: Int
  /// Those that run from the beginning.
  let runningCount: Int
  let levels: FaultLevels
  let faults: [(at: Moment, fault: Fault)]
  let plans: [Plan]
  /// When faults and captures are over.
  let calmAt: Moment

  var hasClockSteps: Bool { faults.contains { $0.fault == .clockStepped } }
  var losesWrites: Bool { faults.contains { $0.fault == .redisLosesWrites } }

  init(of world: World, app: AppID) {
    calmAt = world.now + world.span(.seconds(25), .seconds(60))
    settings = Self.settings(world, app)
    machineCount = world.number(1...4)
    runningCount = world.number(1...machineCount)
    levels = Self.levels(world)
    faults = Self.faults(world, until: calmAt)
    let end = calmAt
    plans = (0..<world.number(1...3)).map { _ in Self.plan(world, until: end) }
  }

  private static func settings(_ world: World, _ app: AppID) -> NodeSettings {
    var policy = PublishingPolicy()
    policy.budgetPerHour = world.chance(0.5) ? 600 : 1_800
    policy.burst = world.number(2...4)
    policy.overdraft = world.number(0...2)
    policy.isTailOn = world.chance(0.7)
    policy.tailGap = .seconds(5)
    policy.tailPause = .seconds(10)
    policy.tailPauseCap = .seconds(30)
    policy.refreshRetry = .seconds(5)
    policy.backoffCap = .seconds(15)
    policy.significantBackoffCap = .seconds(5)
    policy.defectRetry = .seconds(10)
    policy.rateFloor = 300
    policy.requestTimeout = .seconds(4)
    return NodeSettings(
      app: app, type: .fieldTrip, policy: policy,
      rules: TripRules(
        channelGrace: .seconds(60), retention: .seconds(600), deletionRetry: .seconds(20)),
      partitionCount: world.number(1...3), leaseLife: .seconds(6), lookEvery: .seconds(4))
  }

  private static func levels(_ world: World) -> FaultLevels {
    var levels = FaultLevels()
    if world.chance(0.4) { levels.slowRedis = 0.1 * world.random.fraction() }
    if world.chance(0.4) { levels.slowAPNs = 0.3 * world.random.fraction() }
    if world.chance(0.6) { levels.apns = 0.5 * world.random.fraction() }
    return levels
  }

  /// Some kinds of faults, some of them several times. A Redis that forgets is left out mostly: the
  /// rules promise less with one.
  private static func faults(_ world: World, until end: Moment) -> [(at: Moment, fault: Fault)] {
    let kinds = Fault.allCases.filter { fault in
      let chance =
        switch fault {
        case .redisLosesWrites: 0.05
        case .clockStepped: 0.15
        default: 0.4
        }
      return world.chance(chance)
    }
    guard !kinds.isEmpty else { return [] }
    let faults = (0..<world.number(0...6)).compactMap { _ in world.one(of: kinds) }
    return faults.map { (world.now + world.span(.seconds(2), end - world.now), $0) }
      .sorted { $0.0 < $1.0 }
  }

  private static func plan(_ world: World, until end: Moment) -> Plan {
    let createdAt = world.now + world.span(.zero, .seconds(6))
    let created = world.wall + (createdAt - world.now)
    let left = end - createdAt
    var times = TripTimes(
      createdAt: created,
      startsAt: world.chance(0.25) ? created + world.span(.seconds(2), .seconds(15)) : nil,
      staleAfter: world.chance(0.5) ? world.span(.seconds(15), .seconds(60)) : nil,
      dismissal: world.chance(0.5) ? .atOnce : .systemDefault)
    var endsAt: Moment?
    if world.chance(0.35) {
      endsAt = createdAt + world.span(.seconds(5), left)
    } else if world.chance(0.3) {
      times.endsAt = max(times.startsAt, created + world.span(.seconds(10), left))
    }
    // Some trips are so busy that their budget does not last.
    let most = world.chance(0.1) ? 50 : 12
    let captures = (0..<world.number(0...most)).map { _ in
      let at = createdAt + world.span(.zero, left)
      let copies = world.chance(0.25) ? [min(at + world.span(.zero, .seconds(10)), end)] : []
      return Capture(at: at, isSignificant: world.chance(0.15), copies: copies)
    }
    return Plan(
      trip: TripID(using: &world.random), createdAt: createdAt, times: times, captures: captures,
      endsAt: endsAt)
  }
}
