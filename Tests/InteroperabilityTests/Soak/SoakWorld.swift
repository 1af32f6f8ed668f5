import APNs
import APNsSimulator
import Clocks
import Crypto
import Testing
import Transport

/// A simulator in trouble, and the engine that everybody uses at once.
struct SoakWorld {
  let settings: SoakSettings
  let simulator: RunningSimulator
  let shared: SoakCaller.Shared
  private let server: EventLoop
  private let loop: EventLoop

  /// What the simulator knows at the end.
  struct Accepted {
    var byID: [String: Int]
    /// Pushes and broadcasts.
    var messages: Int
    var channelsMade: Int
  }

  init(_ settings: SoakSettings) async throws {
    self.settings = settings
    server = try EventLoop(name: "simulator")
    loop = try EventLoop(name: "engine")
    let now = WallClock.now()
    let clock = ServiceClock(speed: settings.speed, startingAt: now, at: now)
    simulator = try await Simulator.start(
      Self.configuration(settings.seed), clock: clock, loop: server)
    let access = simulator.access
    let (client, app) = try Self.client(access, settings, clock, loop)
    let tokens = try await simulator.run { apns, now throws(PhoneError) in
      try Self.tokens(&apns, access.bundleIDs[0], isRough: settings.isRough, now)
    }
    var channels: [APNs.ChannelID] = []
    for _ in 1...10 { channels.append(try await client.createChannel(storage: .none).get()) }
    try await simulator.setFaults(try FaultText.parse(settings.faults))
    shared = SoakCaller.Shared(
      client: client, ledger: SoakLedger(), clock: clock,
      tokens: tokens.compactMap { APNs.DeviceToken($0) }, channels: channels,
      alert: try PushOptions(.alert, expiration: .attemptOnce),
      quiet: try PushOptions(.alert, priority: .considerate, collapseID: "\(app)"),
      settings: settings)
  }

  private static func configuration(_ seed: UInt64) -> SimulatorConfiguration {
    var configuration = SimulatorConfiguration()
    configuration.seed = seed
    configuration.keepsAcceptedIDs = true
    configuration.listeners.introspectionPort = nil
    configuration.delivery = .constant(.zero)
    configuration.devices.tokenBudget = nil
    configuration.channels.notStoringBudget = nil
    return configuration
  }

  private static func client(
    _ access: SimulatorAccess, _ settings: SoakSettings, _ clock: ServiceClock, _ loop: EventLoop
  ) throws -> (APNsClient, APNsApp) {
    let app = APNsApp(bundleID: try BundleID(access.bundleIDs[0]), environment: .development)
    func host(_ port: Int) -> APNsHost {
      APNsHost(
        name: "localhost", port: port, endpoint: .tcp(host: access.host, port: port))
    }
    let key = try ProviderKey(
      teamID: access.teamID, keyID: access.keyID,
      key: try P256PrivateKey(pem: access.providerKeyPEM))
    let client = try APNsClient(
      app: app,
      hosts: APNsHosts(
        push: host(access.pushPort), management: host(access.managementPort),
        trust: .pem(access.trustPEM)),
      credentials: .token(ProviderCredentials(key: key, clock: clock)), clock: clock,
      configuration: settings.engine, loop: loop)
    return (client, app)
  }

  /// Fifty phones, of which one was wiped and one is of the other environment where it gets rough.
  private static func tokens(
    _ apns: inout SimulatedAPNs, _ bundleID: String, isRough: Bool, _ now: UnixTime
  ) throws(PhoneError) -> [String] {
    var tokens: [String] = []
    for _ in 1...50 {
      tokens.append(try apns.addPhone(PhoneSettings(bundleID: bundleID)).deviceToken)
    }
    guard isRough else { return tokens }
    apns.setState(.unregistered(since: now), ofToken: tokens[0])
    apns.setState(.wrongEnvironment, ofToken: tokens[1])
    return tokens
  }

  /// Lets all callers do their work, and records calls that have no result long after their
  /// deadlines.
  func work() async throws {
    let callers = (0..<settings.callers).map { number in
      SoakCaller(
        shared, seed: settings.seed &* 1_000 &+ UInt64(number),
        requests: settings.requests / settings.callers)
    }
    let (ledger, patience) = (shared.ledger, settings.patience)
    try await withThrowingTaskGroup(of: [String]?.self) { group in
      for caller in callers {
        group.addTask {
          var caller = caller
          try await caller.run()
          return nil
        }
      }
      group.addTask { [loop] in
        while true {
          try await loop.sleep(for: .milliseconds(250))
          let overdue = ledger.overdue(by: patience)
          if !overdue.isEmpty { return overdue }
        }
      }
      var working = callers.count
      while working > 0, let report = try await group.next() {
        if let report {
          // Said at once: what hangs may hang beyond the test's own limit of time.
          Issue.record("past their deadlines: \(report.joined(separator: ", "))")
          break
        }
        working -= 1
      }
      group.cancelAll()
    }
  }

  /// Ends all connections, waits until the simulator has done what it still holds back, and asks
  /// what it accepted.
  func settle() async throws -> Accepted {
    await shared.client.close(grace: .seconds(1))
    for _ in 1...3_000 where await simulator.openConnections > 0 {
      try await loop.sleep(for: .milliseconds(10))
    }
    let open = await simulator.openConnections
    if open > 0 { shared.ledger.fail("\(open) connections never ended") }
    return await simulator.run { apns, _ in
      Accepted(
        byID: apns.acceptedIDs,
        messages: apns.statistics.acceptedByPriority.values.reduce(0, +),
        channelsMade: apns.statistics.answers[201, default: 0] - 10)
    }
  }

  /// Holds what was said against what happened.
  func judge(_ accepted: Accepted) {
    let ledger = shared.ledger
    #expect(ledger.faults.isEmpty, "\(ledger.faults.prefix(10))")
    let wrong = ledger.verdicts(accepted.byID)
    #expect(wrong.isEmpty, "\(wrong.count) wrong, such as \(wrong.prefix(10))")
    // Nothing was accepted that nobody asked for.
    let known = ledger.outcomes.keys.reduce(0) { $0 + accepted.byID[$1, default: 0] }
    #expect(known - accepted.channelsMade == accepted.messages)
    #expect(ledger.latest < settings.patience)
  }

  func stop() async {
    await simulator.stop()
    loop.stop()
    server.stop()
  }
}
