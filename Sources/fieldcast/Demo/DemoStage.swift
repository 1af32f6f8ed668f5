internal import APNs
internal import APNsSimulator
internal import Clocks
internal import Crypto
internal import FieldTrips
internal import FieldcastServer
import Foundation
internal import HTTP
internal import LoadHarness
internal import Redis
internal import Transport

/// Everything that a demo needs, in this process: a simulated APNs with its phones, a Redis of its
/// own in a temporary folder, and the service, all on one scaled clock.
struct DemoStage: Sendable {
  let service: Service
  let simulator: RunningSimulator
  let phones: SimulatedPhones
  let doors: ServiceDoors
  let clock: ServiceClock
  /// Of the replay and the phones; the service has one of its own.
  let loop: EventLoop
  private let redis: RedisClient
  private let rest: HTTP1Client
  private let serving: Task<Void, Never>
  private let folder: URL

  /// - Parameters:
  ///   - log: of the service.
  ///   - length: of the trip. iOS ends a card after eight hours, and an app then starts another;
  ///     the demo's phones have no app, so for longer trips their cards live longer instead.
  ///   - configure: changes the service's settings.
  static func open(
    speed: Double, length: Duration, log: ServiceLog,
    configure: (inout ServiceConfiguration) -> Void = { _ in }
  ) async throws -> DemoStage {
    let folder = FileManager.default.temporaryDirectory
      .appendingPathComponent("fieldcast-demo-\(UUID().uuidString.prefix(8))")
    let now = WallClock.now()
    let clock = ServiceClock(speed: speed, startingAt: now, at: now)
    let worldLoop = try EventLoop(name: "world")
    let serviceLoop = try EventLoop(name: "service")
    var apns = SimulatorConfiguration()
    // A day is the most that the simulator allows.
    let life = min(length + .seconds(4 * 3_600), .seconds(86_400))
    apns.phones.activeLimit = max(apns.phones.activeLimit, life)
    let simulator = try await Simulator.start(apns, clock: clock, loop: worldLoop)
    var configuration = try serviceConfiguration(
      simulator.access, folder: folder.path, clock: clock)
    configure(&configuration)
    let service = try await Service.start(configuration, log: log, on: serviceLoop)
    // Its owner is the stage: closing it waits for the task.
    let serving = Task(executorPreference: serviceLoop.tasks) { await service.run() }
    // The service's own Redis, by the door that other services would use.
    let socket = PrivateRedisServer.Options(folder: folder.path).socketPath
    let redis = RedisClient(
      configuration: RedisConfiguration(endpoint: .unix(path: socket)), loop: worldLoop)
    let rest = HTTP1Client(
      endpoint: .tcp(host: "127.0.0.1", port: service.port), loop: worldLoop)
    return DemoStage(
      service: service, simulator: simulator,
      phones: SimulatedPhones(
        simulator: simulator, bundleID: simulator.access.bundleIDs[0]),
      doors: ServiceDoors(rest: rest, redis: redis), clock: clock, loop: worldLoop, redis: redis,
      rest: rest, serving: serving, folder: folder)
  }

  private static func serviceConfiguration(
    _ access: SimulatorAccess, folder: String, clock: ServiceClock
  ) throws -> ServiceConfiguration {
    let key = try ProviderKey(
      teamID: access.teamID, keyID: access.keyID,
      key: try P256PrivateKey(pem: access.providerKeyPEM))
    let hosts = APNsHosts(
      push: APNsHost(name: access.host, port: access.pushPort),
      management: APNsHost(name: access.host, port: access.managementPort),
      trust: .pem(access.trustPEM))
    let app = AppConfiguration(
      bundleID: access.bundleIDs[0], environment: .development, key: key, hosts: hosts)
    var configuration = ServiceConfiguration(
      store: .own(folder: folder), apps: [app], activityTypes: ActivityType.builtIn,
      node: "demo")
    configuration.listen = .tcp(host: "127.0.0.1", port: 0)
    configuration.clock = clock
    // Nobody wants to watch a quarter of an hour pass after the last card is gone.
    configuration.rules.channelGrace = .seconds(60)
    return configuration
  }

  /// Plays one trip to its end.
  func play(
    _ trace: CaptureTrace, settings: GroupReplay.Settings,
    show: @escaping @Sendable (DemoSnapshot) -> Void
  ) async throws -> DemoSummary {
    let replay = GroupReplay(
      trace: trace, doors: doors, phones: phones, clock: clock, settings: settings, loop: loop,
      show: show)
    return try await Task(executorPreference: loop.tasks) { try await replay.run() }.value
  }

  func close() async {
    await service.drain()
    await serving.value
    await rest.close()
    await redis.close(atOnce: true)
    await simulator.stop()
    try? FileManager.default.removeItem(at: folder)
  }
}
