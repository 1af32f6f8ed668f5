internal import APNs
internal import Clocks
internal import FieldTrips
internal import HTTP
internal import Redis
internal import Transport
internal import TripStore

/// The parts of a node, put together: who knows whom.
struct ServiceParts: Sendable {
  let redis: RedisBackend
  let ownRedis: PrivateRedisServer?
  let store: TripStore
  let clients: [APNsClient]
  let channels: ChannelManager
  let reconciler: ChannelReconciler
  let owner: Owner
  let leases: LeaseKeeper
  let intake: TriggerIntake
  let subscriber: RedisSubscriber
  let pubSub: PubSubDoor
  let reader: StreamGroupReader
  let stream: StreamDoor
  let api: TripAPI
  let reporter: NodeReporter
  let dashboard: Dashboard
  let spans: SpanExporter?
  let times: StageTimes
  let clock: ServiceClock
  let loop: EventLoop
  let log: ServiceLog

  // MARK: Making

  static func make(
    _ configuration: ServiceConfiguration, times: StageTimes, log: ServiceLog, loop: EventLoop
  ) async throws -> ServiceParts {
    try validate(configuration)
    let (deployment, ownRedis) = try await findRedis(configuration, log: log, loop: loop)
    let redis = connect(deployment, log: log, loop: loop)
    do {
      let store = try await openStore(redis, deployment, configuration)
      try await TypeChanges(store: store, log: log).check(
        configuration.activityTypes, isAccepted: configuration.acceptsTypeChanges)
      return try await assemble(
        configuration, redis: redis, ownRedis: ownRedis, store: store, times: times, log: log,
        loop: loop)
    } catch {
      await redis.close(atOnce: true)
      await ownRedis?.stop()
      throw error
    }
  }

  static func validate(_ configuration: ServiceConfiguration) throws(StartFailure) {
    guard !configuration.apps.isEmpty else {
      throw StartFailure("No app is configured: nothing could be published.")
    }
    do throws(PolicyError) {
      try PublishingSettings(policy: configuration.policy, appRate: configuration.appRate)
        .validate()
    } catch {
      throw StartFailure("\(error)")
    }
    if case .url(let url, let trustFile) = configuration.store {
      _ = try deployment(url, trustFile, replicas: configuration.redisReplicas)
    }
  }

  private static func findRedis(
    _ configuration: ServiceConfiguration, log: ServiceLog, loop: EventLoop
  ) async throws(StartFailure) -> (RedisDeployment, PrivateRedisServer?) {
    switch configuration.store {
    case .url(let url, let trustFile):
      let deployment = try deployment(url, trustFile, replicas: configuration.redisReplicas)
      return (deployment, nil)
    case .own(let folder):
      let server = try await startRedis(in: folder, log: log, loop: loop)
      return (RedisDeployment(server.configuration), server)
    }
  }

  private static func deployment(
    _ url: String, _ trustFile: String?, replicas: Int
  ) throws(StartFailure) -> RedisDeployment {
    do {
      var deployment = try RedisDeployment(url: url) {
        try TLSClientContext(trust: trustFile.map { .systemAnd(file: $0) } ?? .system, alpn: [])
      }
      deployment.server.replicas = replicas
      return deployment
    } catch {
      throw StartFailure("The Redis URL cannot be used: \(error)")
    }
  }

  private static func startRedis(
    in folder: String, log: ServiceLog, loop: EventLoop
  ) async throws(StartFailure) -> PrivateRedisServer {
    var options = PrivateRedisServer.Options(folder: folder)
    options.whenWaiting = { process in
      log.info(
        "waiting for another Redis in the data folder to end",
        ["folder": folder, "process": "\(process)"])
    }
    do throws(PrivateRedisError) {
      let server = try await PrivateRedisServer.start(options, on: loop)
      log.info("started a private Redis", ["folder": folder])
      return server
    } catch {
      throw StartFailure("\(error)")
    }
  }

  private static func connect(
    _ deployment: RedisDeployment, log: ServiceLog, loop: EventLoop
  ) -> RedisBackend {
    if deployment.mayFailOver, deployment.server.replicas == 0 {
      log.info(
        "a failover of Redis may lose what it has just taken in: no replica is waited for",
        ["setting": "redis-replicas"])
    }
    return RedisBackend(
      deployment, loop: loop,
      onEvent: { event in
        switch event {
        case .connected: break
        case .lost(let failure):
          log.warning("a connection to Redis is lost", ["reason": "\(failure)"])
        case .failedToConnect(let error, let pause):
          log.info(
            "Redis cannot be reached; trying again",
            ["reason": "\(error)", "seconds": "\(pause.inSeconds)"])
        }
      },
      onFailover: { old, new in
        log.warning("Redis has failed over", ["from": "\(old)", "to": "\(new)"])
      })
  }

  private static func openStore(
    _ redis: RedisBackend, _ deployment: RedisDeployment, _ configuration: ServiceConfiguration
  ) async throws(StartFailure) -> TripStore {
    do {
      try await withTaskCancellationHandler {
        try await redis.caller.waitUntilConnected(deadline: .seconds(10))
      } onCancel: {
        redis.caller.closeSoon()
      }
    } catch {
      throw StartFailure(
        "Redis at \(deployment.address) cannot be used: \(error). Is it running there? Without a "
          + "Redis URL the service starts a private one.")
    }
    let store = TripStore(redis: redis.caller, partitionCount: configuration.partitionCount)
    do throws(StoreError) {
      try await store.open()
    } catch {
      throw StartFailure("Redis at \(deployment.address) cannot be used: \(error)")
    }
    return store
  }

  private static func assemble(
    _ configuration: ServiceConfiguration, redis: RedisBackend, ownRedis: PrivateRedisServer?,
    store: TripStore, times: StageTimes, log: ServiceLog, loop: EventLoop
  ) async throws -> ServiceParts {
    let clock = configuration.clock
    let clientsByApp = try makeClients(configuration, store: store, log: log, loop: loop)
    let gateways = clientsByApp.mapValues { AppGateway(client: $0, log: log) }
    let channels = ChannelManager(
      store: store, gateways: gateways, settings: configuration.channels,
      warmPolicies: Set(configuration.activityTypes.map(\.storage)), clock: clock, log: log,
      loop: loop)
    let bell = LogBell(subscriber: redis.shardSubscriber(), store: store)
    let lanes = gateways.mapValues { gateway in
      AppLane(gateway: gateway, rate: configuration.appRate, clock: clock)
    }
    let types = Dictionary(uniqueKeysWithValues: configuration.activityTypes.map { ($0.name, $0) })
    let fetcher = try ContentFetcher(
      configuration.contentHosts, lookUp: configuration.contentLookUp, clock: clock, loop: loop)
    var notifications = configuration.notifications
    notifications.claim = clock.scaled(notifications.claim)
    let spans = configuration.collector.map {
      SpanExporter(collector: $0, node: configuration.node, log: log, loop: loop)
    }
    let owner = Owner(
      store: store, bell: bell, lanes: lanes, channels: channels, fetcher: fetcher,
      settings: Owner.Settings(
        activityTypes: types, policy: configuration.policy, rules: configuration.rules,
        notifications: notifications, defaultBundleID: configuration.apps[0].bundleID),
      times: times, clock: clock, log: log, spans: spans, loop: loop)
    let leases = LeaseKeeper(
      node: configuration.node, leaseLife: configuration.leaseLife, store: store, owner: owner,
      log: log, loop: loop)
    let news = LogNews(owner: owner, store: store)
    let intake = TriggerIntake(news: news, times: times, clock: clock, loop: loop)
    let subscriber = redis.subscriber()
    // A door that is behind takes more at once: over 256 partitions, a few hundred entries are one
    // script call each, and eight of a partition cost Redis little more than one.
    let reader = redis.groupReader(
      key: StreamDoor.key, group: StreamDoor.group, consumer: configuration.node, count: 2_048)
    func door(_ name: String) -> BackDoor {
      BackDoor(name: name, intake: intake, store: store, clock: clock, loop: loop, log: log)
    }
    let settings = TripAPI.Settings(
      activityTypes: configuration.activityTypes,
      apps: try configuration.apps.map { try $0.identity },
      rules: configuration.rules)
    let api = TripAPI(
      store: store, owner: owner, intake: intake, channels: channels, settings: settings,
      clock: clock, log: log)
    let clients = Array(clientsByApp.values)
    let reporter = NodeReporter(
      node: configuration.node, store: store, owner: owner, clients: clients,
      redis: redis.caller, times: times, clock: clock, loop: loop)
    let views = DashboardViews(
      node: configuration.node, store: store, owner: owner, reporter: reporter,
      apps: settings.apps, quota: configuration.channels.quota)
    // The first partitions are ours before the doors open, so that nothing waits for an owner.
    await leases.keep()
    return ServiceParts(
      redis: redis, ownRedis: ownRedis, store: store,
      clients: clients, channels: channels,
      reconciler: ChannelReconciler(store: store, gateways: gateways, clock: clock, log: log),
      owner: owner, leases: leases,
      intake: intake, subscriber: subscriber,
      pubSub: PubSubDoor(door: door("pubsub"), subscriber: subscriber), reader: reader,
      stream: StreamDoor(door: door("stream"), reader: reader), api: api, reporter: reporter,
      dashboard: Dashboard(views: views, clock: clock, log: log, loop: loop), spans: spans,
      times: times, clock: clock, loop: loop, log: log)
  }

  private static func makeClients(
    _ configuration: ServiceConfiguration, store: TripStore, log: ServiceLog, loop: EventLoop
  ) throws -> [AppID: APNsClient] {
    var credentials: [String: ProviderCredentials] = [:]
    var clients: [AppID: APNsClient] = [:]
    for app in configuration.apps {
      // One token a team and key, whatever number of apps and environments use it.
      let keyName = "\(app.key.teamID) \(app.key.keyID)"
      let shared =
        credentials[keyName]
        ?? ProviderCredentials(
          key: app.key, clock: configuration.clock,
          store: SharedTokens(store: store, key: app.key, log: log))
      credentials[keyName] = shared
      clients[try app.identity] = try APNsClient(
        app: try app.atAPNs, hosts: app.hosts, credentials: .token(shared),
        clock: configuration.clock, loop: loop)
    }
    return clients
  }

  // MARK: Serving

  /// - Parameters:
  ///   - server: what the routes are served by.
  ///   - door: who may call.
  func router(of server: HTTPServer, by door: Doorkeeper) -> Router {
    Routes(
      api: api, channels: ChannelAPI(api: api, reconciler: reconciler, settings: channels.settings),
      notifications: NotificationAPI(
        api: api, fetcher: owner.fetcher, rules: owner.settings.notifications),
      readiness: Readiness(store: store, clients: clients),
      metrics: ServiceMetrics(
        intake: intake, owner: owner, channels: channels, apps: api.settings.apps, clients: clients,
        redis: redis.caller, server: server, times: times),
      dashboard: dashboard, door: door
    ).router
  }

  // MARK: Ending

  func closeDoors() async {
    await dashboard.close()
    await subscriber.close()
    await reader.close()
  }

  func close() async {
    await closeDoors()
    await owner.bell.close()
    for client in clients { await client.close() }
    await redis.close(atOnce: true)
    await ownRedis?.stop()
  }
}

extension AppConfiguration {
  var identity: AppID {
    get throws { try AppID(bundleID: bundleID, environment: environment) }
  }

  var atAPNs: APNsApp {
    get throws {
      APNsApp(
        bundleID: try BundleID(bundleID),
        environment: environment == .production ? .production : .development)
    }
  }
}
