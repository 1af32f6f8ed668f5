import Clocks
import FieldTrips
import Transport
import TripStore

@testable import FieldcastServer

/// What all nodes of a run have in common.
struct NodeSettings {
  var app: AppID
  var type: ActivityType
  var policy: PublishingPolicy
  var rules: TripRules
  var partitionCount: Int
  var leaseLife: Duration
  var lookEvery: Duration
}

/// One running node: the service's own parts, on a loop of virtual time, with simulated connections.
///
/// `@unchecked Sendable` is right because one thread runs the whole simulation.
final class NodeProcess: @unchecked Sendable {
  let loop: EventLoop
  let redis: RedisLink
  let apns: APNsLink
  let store: TripStore
  private let settings: NodeSettings
  private let owner: Owner
  private let channels: ChannelManager
  private let leases: LeaseKeeper
  private let intake: TriggerIntake
  private let news: LogNews
  private let clock: ServiceClock
  private var life: Task<Void, Never>?
  /// Tasks that have not ended.
  private var tasks = 0
  private(set) var isDraining = false
  private var isOver = false

  init(
    _ machine: Machine, settings: NodeSettings, redis: RedisLink, apns: APNsLink, seed: UInt64,
    log: ServiceLog
  ) throws {
    self.redis = redis
    self.apns = apns
    self.settings = settings
    loop = EventLoop(virtual: machine.name, at: machine.world.now)
    clock = ServiceClock(simulation: machine)
    store = TripStore(redis: redis, partitionCount: settings.partitionCount)
    let gateway = AppGateway(client: apns, log: log)
    let times = StageTimes()
    channels = ChannelManager(
      store: store, gateways: [settings.app: gateway], settings: ChannelSettings(),
      warmPolicies: [], clock: clock, log: log, loop: loop)
    var ownerSettings = Owner.Settings(
      activityTypes: [settings.type.name: settings.type], policy: settings.policy,
      rules: settings.rules, notifications: NotificationRules(),
      defaultBundleID: settings.app.bundleID)
    ownerSettings.lookEvery = settings.lookEvery
    ownerSettings.seed = seed
    owner = Owner(
      store: store, bell: LogBell(subscriber: redis.ear, store: store),
      lanes: [
        settings.app: AppLane(gateway: gateway, rate: AppRateSettings(), clock: clock)
      ],
      channels: channels, fetcher: try ContentFetcher(.none, clock: clock, loop: loop),
      settings: ownerSettings, times: times, clock: clock, log: log, loop: loop)
    leases = LeaseKeeper(
      node: machine.name, leaseLife: settings.leaseLife, store: store, owner: owner, log: log,
      loop: loop)
    news = LogNews(owner: owner, store: store)
    intake = TriggerIntake(news: news, times: times, clock: clock, loop: loop)
  }

  /// Nothing of it runs any more.
  var hasEnded: Bool { isOver && tasks == 0 }

  // MARK: Its life

  func start() { life = begin { [self] in await run() } }

  private func run() async {
    await leases.keep()
    await withTaskGroup(of: Void.self) { group in
      group.addTask { await self.leases.run() }
      group.addTask { await self.tendChannels() }
      await withTaskGroup(of: Void.self) { parts in
        parts.addTask { await self.owner.run() }
        parts.addTask { await self.channels.run() }
      }
      group.cancelAll()
    }
    isOver = true
  }

  private func tendChannels() async {
    while !Task.isCancelled {
      await channels.deleteRetired(of: settings.app)
      guard (try? await loop.sleep(for: .seconds(60))) != nil else { return }
    }
  }

  /// In the order of ``Service/drain()``.
  func drain() {
    isDraining = true
    begin { [self] in
      await channels.drain()
      await owner.drain()
      await leases.drain()
    }
  }

  /// From now on nobody hears of it; what is left of it ends, since nothing succeeds any more.
  func kill() {
    redis.die()
    apns.die()
    life?.cancel()
    if !isDraining { drain() }
  }

  // MARK: What is asked of it

  /// Appends triggers, as a door does.
  func take(_ triggers: [Trigger], _ answer: @escaping ([TriggerIntake.Outcome]) -> Void) {
    let answer = Unchecked(answer)
    begin { [self] in answer.value(await intake.append(triggers)) }
  }

  /// Creates a trip, as REST does: with its channel, if that is to be had.
  func create(_ trip: NewTrip, _ answer: @escaping (Bool) -> Void) {
    let answer = Unchecked(answer)
    begin { [self] in
      guard (try? await store.createTrip(trip, at: clock.wall)) != nil else {
        return answer.value(false)
      }
      answer.value(true)
      await news.changed(trip.id)
      await openChannel(of: trip)
    }
  }

  private func openChannel(of trip: NewTrip) async {
    guard
      case .opened(let channel) = await channels.open(
        for: trip.id, definition: trip.definition, patience: .seconds(3))
    else { return }
    var life = trip.life
    let actions = life.handle(.channelOpened(channel), at: clock.wall, rules: settings.rules)
    let change = LifeChange(of: trip.id, from: trip.life, to: life, actions: actions)
    if case .changed? = try? await store.changeLife(of: trip.id, change, at: clock.wall) {
      await news.changed(trip.id)
    }
  }

  @discardableResult
  private func begin(_ work: @escaping @Sendable () async -> Void) -> Task<Void, Never> {
    tasks += 1
    return Task(executorPreference: loop.tasks) { [self] in
      await work()
      tasks -= 1
    }
  }
}

/// What one thread hands to itself.
struct Unchecked<Value>: @unchecked Sendable {
  let value: Value
  init(_ value: Value) { self.value = value }
}
