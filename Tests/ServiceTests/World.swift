import APNs
import APNsSimulator
import Clocks
import Crypto
import FieldTrips
import FieldcastServer
import Foundation
import HTTP
import JSON
import Redis
import Testing
import Transport

/// A Redis and a simulated APNs that outlive the service under test, all on one scaled clock.
struct World: Sendable {
  let loop: EventLoop
  /// Which Redis a service is to use.
  let storeURL: String
  let redis: any ConnectedRedis
  let simulator: RunningSimulator
  let clock: ServiceClock
  /// What ``clock`` was made of, for a service in another process.
  let clockSetting: String
  let folder: URL

  var bundleID: String { simulator.access.bundleIDs[0] }

  /// On one Redis server of its own.
  ///
  /// - Parameters:
  ///   - speed: of the clock, against the machine's.
  ///   - configure: changes how APNs behaves.
  static func with(
    speed: Double = 60, configure: (inout SimulatorConfiguration) -> Void = { _ in },
    _ body: (World) async throws -> Void
  ) async throws {
    try await withAPNs(speed: speed, configure: configure) { loop, make in
      try await PrivateRedisServer.withTemporary(on: loop) { server in
        let redis = RedisClient(configuration: server.configuration, loop: loop)
        try await body(make("unix://\(server.options.socketPath)", redis))
        await redis.close(atOnce: true)
      }
    }
  }

  /// Runs `body` with a simulated APNs, and with what makes a world of it and a Redis.
  static func withAPNs(
    speed: Double, configure: (inout SimulatorConfiguration) -> Void = { _ in },
    _ body: (EventLoop, (String, any ConnectedRedis) -> World) async throws -> Void
  ) async throws {
    let loop = try EventLoop(name: "world")
    defer { loop.stop() }
    let folder = FileManager.default.temporaryDirectory
      .appendingPathComponent("fieldcast-test-\(UUID().uuidString.prefix(8))")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let now = WallClock.now()
    let clock = ServiceClock(speed: speed, startingAt: now, at: now)
    var configuration = SimulatorConfiguration()
    configure(&configuration)
    let simulator = try await Simulator.start(
      configuration, clock: clock, loop: loop, folder: folder.path)
    try await body(loop) { storeURL, redis in
      World(
        loop: loop, storeURL: storeURL, redis: redis, simulator: simulator, clock: clock,
        clockSetting: "\(speed),\(now.seconds),\(now.seconds)", folder: folder)
    }
    await simulator.stop()
  }

  /// Runs a service in this process on this world's Redis and APNs.
  func withService(
    _ change: (inout ServiceConfiguration) -> Void = { _ in },
    _ body: (TestCaller) async throws -> Void
  ) async throws {
    try await withService(change) { caller, _ in try await body(caller) }
  }

  func withService(
    _ change: (inout ServiceConfiguration) -> Void = { _ in },
    log: ServiceLog = .standardError(minimum: .error, format: .text),
    _ body: (TestCaller, Service) async throws -> Void
  ) async throws {
    let serviceLoop = try EventLoop(name: "service")
    defer { serviceLoop.stop() }
    var configuration = try serviceConfiguration()
    change(&configuration)
    let service = try await Service.start(configuration, log: log, on: serviceLoop)
    let running = Task(executorPreference: serviceLoop.tasks) { await service.run() }
    let caller = TestCaller(port: service.port, redis: redis, loop: loop)
    do {
      try await body(caller, service)
    } catch {
      await service.drain()
      await running.value
      throw error
    }
    await caller.close()
    await service.drain()
    await running.value
  }

  /// Of its one server.
  var redisConfiguration: RedisConfiguration {
    get throws {
      try RedisConfiguration(url: storeURL) { try TLSClientContext(trust: .system, alpn: []) }
    }
  }

  func serviceConfiguration() throws -> ServiceConfiguration {
    var configuration = ServiceConfiguration(
      store: .url(storeURL, trustFile: nil),
      apps: [try AppConfiguration(of: simulator, environment: .development)],
      activityTypes: ActivityType.builtIn, node: "test")
    configuration.listen = .tcp(host: "127.0.0.1", port: 0)
    configuration.clock = clock
    configuration.rules.channelGrace = .seconds(60)
    return configuration
  }

  // MARK: The built program

  /// Its path: beside the tests.
  static let program = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
    .deletingLastPathComponent().appendingPathComponent("fieldcast").path

  /// Starts the program on this world's APNs.
  ///
  /// - Parameter log: the file in this world's folder that gets what it says.
  func serve(_ arguments: [String], log: String) async throws -> Subprocess {
    let access = simulator.access
    return try await Subprocess.start(
      Self.program,
      arguments: [
        "serve", "--bundle-id", bundleID, "--environment", "development",
        "--team-id", access.teamID, "--key-id", access.keyID,
        "--key-file", try #require(access.keyFile),
        "--apns-push", "\(access.host):\(access.pushPort)",
        "--apns-management", "\(access.host):\(access.managementPort)",
        "--apns-trust", try #require(access.trustFile),
      ] + arguments, outputPath: folder.appendingPathComponent(log).path, on: loop)
  }

  /// Runs a command as a person does.
  func run(_ words: [String]) async throws -> (status: Int32, output: String) {
    let path = folder.appendingPathComponent("\(UUID()).out").path
    let process = try await Subprocess.start(
      Self.program, arguments: words, outputPath: path, on: loop)
    let status = await process.waitForExit()
    return (status, try String(contentsOfFile: path, encoding: .utf8))
  }

  // MARK: What APNs and the phones know

  func addPhones(_ count: Int, to channelID: String, showing contentState: String) async throws {
    let bundleID = bundleID
    _ = try await simulator.run { apns, now throws(PhoneError) in
      try apns.addCrowd(
        count, bundleID: bundleID, channelID: channelID,
        contentState: Array(contentState.utf8), now: now)
    }
  }

  /// Waits until all phones of a channel show a state of which this is true.
  func waitForPhones(
    on channelID: String, _ isRight: @escaping @Sendable (JSONValue) -> Bool,
    sourceLocation: SourceLocation = #_sourceLocation
  ) async throws {
    let bundleID = bundleID
    let isMet = await simulator.wait(upTo: .seconds(60)) { apns, now in
      guard let all = try? apns.convergence(bundleID, channelID, now: now),
        let text = all.newestContentState,
        let state = try? JSONValue.parse(Array(text.utf8))
      else { return false }
      return all.hasConverged && isRight(state)
    }
    #expect(isMet, "the phones do not show it", sourceLocation: sourceLocation)
  }

  /// Waits until APNs has accepted a broadcast that shows so many notes.
  func waitForBroadcast(
    on channelID: String, notes: Int64, sourceLocation: SourceLocation = #_sourceLocation
  ) async throws {
    let bundleID = bundleID
    let isMet = await simulator.wait(upTo: .seconds(60)) { apns, _ in
      guard let state = apns.channel(bundleID, channelID)?.ledger.newestState?.payload.contentState
      else { return false }
      return (try? JSONValue.parse(state.bytes))?["notesCaptured"]?.int64 == notes
    }
    #expect(isMet, "no broadcast shows \(notes) notes", sourceLocation: sourceLocation)
  }

  func ledger(of channelID: String) async -> BroadcastLedger? {
    let bundleID = bundleID
    return await simulator.run { apns, _ in apns.channel(bundleID, channelID)?.ledger }
  }

  /// Waits until something is so that the service does in its own time.
  func waitUntil(
    _ what: String, sourceLocation: SourceLocation = #_sourceLocation,
    _ isSo: () async throws -> Bool
  ) async throws {
    for _ in 0..<2_000 {
      if try await isSo() { return }
      try await loop.sleep(for: .milliseconds(10))
    }
    Issue.record("it did not come about: \(what)", sourceLocation: sourceLocation)
  }

  func waitUntilNoChannelIsLeft(
    sourceLocation: SourceLocation = #_sourceLocation
  ) async {
    let isMet = await simulator.wait(upTo: .seconds(60)) { apns, _ in apns.channelCount == 0 }
    #expect(isMet, "a channel is left at APNs", sourceLocation: sourceLocation)
  }
}

extension AppConfiguration {
  /// The first app of a simulator.
  init(of simulator: RunningSimulator, environment: AppID.Environment) throws {
    let access = simulator.access
    self.init(
      bundleID: access.bundleIDs[0], environment: environment,
      key: try ProviderKey(
        teamID: access.teamID, keyID: access.keyID,
        key: try P256PrivateKey(pem: access.providerKeyPEM)),
      hosts: APNsHosts(
        push: APNsHost(name: access.host, port: access.pushPort),
        management: APNsHost(name: access.host, port: access.managementPort),
        trust: .pem(access.trustPEM)))
  }
}

/// That a channel's timestamps never repeat and never turn back: sorted by them, what was sent only
/// moves on, and the end is the last.
///
/// A significant change may be sent while another broadcast is under way, and then APNs may take
/// the newer one first: that is what timestamps are for.
func expectOrder(
  in ledger: BroadcastLedger, sourceLocation: SourceLocation = #_sourceLocation
) {
  let pushes = ledger.recent.sorted {
    $0.payload.timestampSeconds ?? 0 < $1.payload.timestampSeconds ?? 0
  }
  let timestamps = pushes.compactMap(\.payload.timestampSeconds)
  #expect(
    Set(timestamps).count == pushes.count, "a timestamp was used twice: \(timestamps)",
    sourceLocation: sourceLocation)
  let notes = pushes.compactMap { push in
    push.payload.contentState
      .flatMap { try? JSONValue.parse($0.bytes) }?["notesCaptured"]?.int64
  }
  #expect(
    notes == notes.sorted(), "an older state has a newer timestamp: \(notes)",
    sourceLocation: sourceLocation)
  if ledger.endedAt != nil {
    #expect(
      pushes.last?.payload.event == .end, "something is newer than the end",
      sourceLocation: sourceLocation)
  }
}

/// Calls a service as its users do.
struct TestCaller: Sendable {
  private let rest: HTTP1Client
  let redis: any ConnectedRedis

  init(port: Int, redis: any ConnectedRedis, loop: EventLoop) {
    self.init(endpoint: .tcp(host: "127.0.0.1", port: port), redis: redis, loop: loop)
  }

  private init(endpoint: Endpoint, redis: any ConnectedRedis, loop: EventLoop) {
    rest = HTTP1Client(endpoint: endpoint, loop: loop)
    self.redis = redis
  }

  /// Where the service is.
  var endpoint: Endpoint { rest.endpoint }

  func close() async { await rest.close() }

  /// With a connection of its own, on which no other's slow answer is waited for.
  func another() -> TestCaller { TestCaller(endpoint: endpoint, redis: redis, loop: redis.loop) }

  struct Answer: Sendable {
    let status: Int
    let fields: HTTPFields
    let text: String
    let body: JSONValue

    /// The last part of a problem's type.
    var problem: String? { body["type"]?.string?.split(separator: ":").last.map(String.init) }
  }

  func call(
    _ method: String, _ path: String, _ body: String? = nil, fields: HTTPFields = [:]
  ) async throws -> Answer {
    try await call(method, path, bytes: body.map { Array($0.utf8) } ?? [], fields: fields)
  }

  func call(
    _ method: String, _ path: String, bytes: [UInt8], fields: HTTPFields = [:]
  ) async throws -> Answer {
    let request = HTTPRequest(method: method, path: path, fields: fields, body: bytes)
    switch await rest.send(request, deadline: .seconds(20)) {
    case .answered(let response):
      let body = (try? JSONValue.parse(response.body)) ?? .null
      return Answer(
        status: response.status, fields: response.fields, text: response.text, body: body)
    case .notSent(let failure), .unknown(let failure): throw failure
    }
  }

  struct Trip: Sendable {
    let id: String
    let channelID: String
    let contentState: String
  }

  func createTrip(
    _ body: String = #"{"name":"Spring walk","notebook":"Birds","dismissal":60}"#
  ) async throws -> Trip {
    let answer = try await call("POST", "/v1/trips", body)
    try #require(answer.status == 201, "\(answer.text)")
    let id = try #require(answer.body["trip"]?.string)
    let channel = try #require(answer.body["channel"]?["id"]?.string, "\(answer.text)")
    let state = try #require(answer.body["contentState"])
    return Trip(
      id: id, channelID: channel,
      contentState: String(decoding: state.serialized(), as: UTF8.self))
  }

  func add(toStream note: String) async throws {
    _ = try await redis.call(RedisCommand("XADD", "fieldcast:notes:in", "*", "json", note))
  }

  /// Publishes until somebody hears it: a service that has just begun may not listen yet.
  func publish(_ note: String) async throws {
    for _ in 0..<1_000 {
      let heard = try await redis.call(RedisCommand("PUBLISH", "fieldcast:notes", note))
      if try heard.integerValue() > 0 { return }
      try await redis.loop.sleep(for: .milliseconds(10))
    }
    Issue.record("nobody listens to what is published")
  }

  /// The reasons of the dead letters, newest first.
  func deadLetterReasons() async throws -> [String] {
    let reply = try await redis.call(
      RedisCommand("XREVRANGE", "fieldcast:notes:dead", "+", "-"))
    return try reply.arrayValue().map { entry in
      let fields = try entry.arrayValue()[1].stringsValue()
      let index = try #require(fields.firstIndex(of: "reason"))
      return fields[index + 1]
    }
  }
}
