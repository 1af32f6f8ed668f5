internal import APNs
internal import Clocks
internal import FieldTrips
internal import HTTP
internal import Redis
package import Transport
internal import TripStore

/// One node of Fieldcast: everything between the doors and APNs.
///
/// ```swift
/// let service = try await Service.start(configuration, log: log, on: loop)
/// async let running: Void = service.run()
/// …
/// await service.drain()
/// ```
package actor Service {
  package nonisolated var unownedExecutor: UnownedSerialExecutor {
    loop.serial.asUnownedSerialExecutor()
  }

  package nonisolated let loop: EventLoop
  /// Where REST is served.
  package nonisolated let port: Int
  /// What REST serves: methods and templates of paths.
  package nonisolated let routes: [Route]
  private let parts: ServiceParts
  private let server: HTTPServer
  private let log: ServiceLog
  private let certificate: DoorCertificate?
  private let grace: Duration
  private var isRunning = false
  private var partsAtWork = 0
  private var isCutOff = false
  private var drainedOrCutOff: UnsafeContinuation<Void, Never>?
  private var ended: UnsafeContinuation<Void, Never>?

  private init(
    parts: ServiceParts, server: HTTPServer, port: Int, routes: [Route],
    certificate: DoorCertificate?, grace: Duration, log: ServiceLog, loop: EventLoop
  ) {
    self.parts = parts
    self.server = server
    self.grace = grace
    self.log = log
    self.loop = loop
    self.port = port
    self.routes = routes
    self.certificate = certificate
  }

  /// Opens REST's address, connects to Redis, takes this node's partitions, and opens the doors.
  ///
  /// The address comes first, so that one which is taken is told at once; until the service is
  /// ready it answers 503 there.
  ///
  /// - Throws: ``StartFailure``, whose text says what is wrong and what to do.
  package static func start(
    _ configuration: ServiceConfiguration, log: ServiceLog, on loop: EventLoop
  ) async throws -> Service {
    let door = try Doorkeeper(configuration, log: log, loop: loop)
    let certificate = configuration.certificate.map { DoorCertificate(files: $0) }
    let times = StageTimes()
    let front = FrontDoor(times: times)
    let server: HTTPServer
    do {
      server = try await front.serve(
        at: configuration.listen, tls: try certificate?.load(), limits: configuration.http, on: loop
      )
    } catch let failure as StartFailure {
      throw failure
    } catch {
      throw StartFailure(
        "REST cannot be served at \(configuration.listen): \(error). Is another service there?")
    }
    let parts: ServiceParts
    do {
      parts = try await ServiceParts.make(configuration, times: times, log: log, loop: loop)
    } catch {
      await server.drain(grace: .seconds(1))
      throw error
    }
    if configuration.access == nil, configuration.members == nil, !configuration.listen.isLoopback {
      log.warning(
        "REST asks for no token: whoever reaches its address may create and end trips",
        ["rest": "\(configuration.listen)"])
    }
    let router = parts.router(of: server, by: door)
    front.open(router)
    let service = Service(
      parts: parts, server: server, port: await server.port(),
      routes: router.routes.map { Route(method: $0.method, path: $0.template) },
      certificate: certificate, grace: configuration.grace, log: log, loop: loop)
    log.info(
      "serving",
      [
        "rest": "\(configuration.listen)", "port": "\(service.port)",
        "tls": configuration.certificate == nil ? "no" : "yes",
        "node": configuration.node,
      ])
    return service
  }

  /// Works until drained.
  package func run() async {
    isRunning = true
    await withTaskGroup(of: Void.self) { group in
      let work: [@Sendable () async -> Void] = [
        parts.owner.run, parts.channels.run, parts.pubSub.run, parts.stream.run,
      ]
      partsAtWork = work.count
      for part in work {
        group.addTask {
          await part()
          await self.partEnded()
        }
      }
      group.addTask { await self.parts.leases.run() }
      group.addTask { await self.parts.reconcileRegularly() }
      group.addTask { await self.parts.tendChannels() }
      group.addTask { await self.parts.forgetPeopleRegularly() }
      group.addTask { await self.parts.reporter.run() }
      group.addTask { await self.parts.spans?.run() }
      group.addTask { await self.parts.dashboard.run() }
      group.addTask { await self.watchCertificate() }
      await waitUntilDrainedOrCutOff()
      // Nobody may wait any longer for an answer.
      if isCutOff { await parts.close() }
      group.cancelAll()
    }
    isRunning = false
    ended?.resume()
    ended = nil
  }

  /// Ends in order, from the doors to the connections: nothing new comes in, what is under way is
  /// finished and stored, other nodes get the partitions. What the budget does not allow now is in
  /// Redis, and goes out from there. All of it takes the grace time at most.
  package func drain() async {
    log.info("stopping")
    let timer = loop.schedule(at: loop.now + grace) { [self] in
      assumeIsolated { $0.cutOff() }
    }
    await server.drain(grace: grace / 2)
    await parts.closeDoors()
    await parts.channels.drain()
    await parts.owner.drain()
    await parts.leases.drain()
    await parts.spans?.flush()
    await waitUntilEnded()
    loop.cancel(timer)
    await parts.close()
    log.info("stopped")
  }

  /// Shows the certificate that is in its files now, without waiting until it is looked at.
  package func reload() { certificate?.reload(into: server, log: log) }

  private func watchCertificate() async {
    await certificate?.watch(for: server, log: log, on: loop)
  }

  private func partEnded() {
    partsAtWork -= 1
    if partsAtWork == 0 { resumeRun() }
  }

  private func cutOff() {
    log.warning("what is under way is cut off: the grace time is over")
    isCutOff = true
    resumeRun()
  }

  private func resumeRun() {
    drainedOrCutOff?.resume()
    drainedOrCutOff = nil
  }

  private func waitUntilDrainedOrCutOff() async {
    await withUnsafeContinuation { continuation in
      if partsAtWork == 0 || isCutOff {
        continuation.resume()
      } else {
        drainedOrCutOff = continuation
      }
    }
  }

  private func waitUntilEnded() async {
    await withUnsafeContinuation { continuation in
      if isRunning { ended = continuation } else { continuation.resume() }
    }
  }

  // MARK: What others may look at

  package struct Route: Hashable, Sendable {
    package let method: String
    package let path: String
  }

  /// The status, type and title of every problem that REST may answer.
  package struct KnownProblem: Hashable, Sendable {
    package let type: String
    package let status: Int
    package let title: String
  }

  package static var knownProblems: [KnownProblem] {
    ProblemDocument.everyKind.map {
      KnownProblem(
        type: ProblemDocument.typePrefix + $0.kind, status: $0.status, title: $0.title)
    }
  }

  package struct Counts: Sendable {
    package var triggersTaken = 0
    package var duplicates = 0
    package var triggersApplied = 0
    package var broadcasts10 = 0
    package var broadcasts5 = 0
    package var throttled = 0
    /// Trips of which this node holds a copy.
    package var tripsInMemory = 0
  }

  package func counts() async -> Counts {
    let intake = await parts.intake.counts
    let owner = await parts.owner.counts
    return Counts(
      triggersTaken: intake.accepted, duplicates: intake.duplicates,
      triggersApplied: owner.applied, broadcasts10: owner.broadcasts10,
      broadcasts5: owner.broadcasts5, throttled: owner.throttled,
      tripsInMemory: await parts.owner.tripsInMemory)
  }
}
