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
  private let parts: ServiceParts
  private let server: HTTPServer
  private let log: ServiceLog
  private let grace: Duration
  private var ended: UnsafeContinuation<Void, Never>?
  private var isRunning = false

  private init(
    parts: ServiceParts, server: HTTPServer, port: Int, grace: Duration, log: ServiceLog,
    loop: EventLoop
  ) {
    self.parts = parts
    self.server = server
    self.grace = grace
    self.log = log
    self.loop = loop
    self.port = port
  }

  /// Connects to Redis, takes this node's partitions, and opens the doors.
  ///
  /// - Throws: ``StartFailure``, whose text says what is wrong and what to do.
  package static func start(
    _ configuration: ServiceConfiguration, log: ServiceLog, on loop: EventLoop
  ) async throws -> Service {
    let parts = try await ServiceParts.make(configuration, log: log, loop: loop)
    let server: HTTPServer
    do {
      server = try await parts.serve(at: configuration.listen)
    } catch {
      await parts.close()
      throw StartFailure(
        "REST cannot be served at \(configuration.listen): \(error). Is another service there?")
    }
    let service = Service(
      parts: parts, server: server, port: await server.port(), grace: configuration.grace,
      log: log, loop: loop)
    log.info(
      "serving",
      [
        "rest": "\(configuration.listen)", "port": "\(service.port)",
        "node": configuration.node,
      ])
    return service
  }

  /// Works until drained or cancelled.
  package func run() async {
    isRunning = true
    await withTaskGroup(of: Void.self) { group in
      group.addTask { await self.parts.reconcileRegularly() }
      await runUntilDrained()
      group.cancelAll()
    }
    isRunning = false
    ended?.resume()
    ended = nil
  }

  private func runUntilDrained() async {
    await withTaskGroup(of: Void.self) { group in
      group.addTask { await self.parts.owner.run() }
      group.addTask { await self.parts.leases.run() }
      group.addTask { await self.parts.pubSub.run() }
      group.addTask { await self.parts.stream.run() }
      await group.waitForAll()
    }
  }

  /// Ends in order, from the doors to the connections: nothing new comes in, what is under way is
  /// finished, other nodes get the partitions. What the budget does not allow now is in Redis, and
  /// goes out from there.
  package func drain() async {
    log.info("stopping")
    await server.drain(grace: grace / 2)
    await parts.closeDoors()
    await parts.owner.drain()
    await parts.leases.drain()
    await waitUntilEnded()
    await parts.close()
    log.info("stopped")
  }

  private func waitUntilEnded() async {
    guard isRunning else { return }
    let timer = loop.schedule(at: loop.now + grace) { [self] in
      assumeIsolated { service in
        service.log.warning("what was under way is cut off: the grace time is over")
        service.ended?.resume()
        service.ended = nil
      }
    }
    await withUnsafeContinuation { continuation in
      if isRunning { ended = continuation } else { continuation.resume() }
    }
    loop.cancel(timer)
  }

  // MARK: What others may look at

  package struct Counts: Sendable {
    package var triggersTaken = 0
    package var duplicates = 0
    package var triggersApplied = 0
    package var broadcasts10 = 0
    package var broadcasts5 = 0
    package var throttled = 0
  }

  package func counts() async -> Counts {
    let intake = await parts.intake.counts
    let owner = await parts.owner.counts
    return Counts(
      triggersTaken: intake.accepted, duplicates: intake.duplicates,
      triggersApplied: owner.applied, broadcasts10: owner.broadcasts10,
      broadcasts5: owner.broadcasts5, throttled: owner.throttled)
  }
}
