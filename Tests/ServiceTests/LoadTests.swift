import Foundation
import JSON
import LoadHarness
import Testing
import Transport

/// Small loads, so that what measures the service cannot rot.
@Suite struct `A load` {
  private func settings() -> LoadSettings {
    var settings = LoadSettings()
    settings.trips = 2
    settings.phonesPerTrip = 3
    settings.capturesPerSecond = 12
    settings.seconds = 2
    settings.churnPerSecond = 2
    settings.restConnections = 2
    settings.setUpConnections = 2
    settings.idleSeconds = 0.1
    return settings
  }

  /// Puts a load on a service in this process.
  private func report(
    _ settings: LoadSettings,
    beside: @escaping @Sendable (TestCaller, World) async throws -> Void = { _, _ in }
  ) async throws -> LoadReport {
    let found = Found()
    try await World.with(speed: 1) { world in
      try await world.withService({ $0.policy.budgetPerHour = 3_600 }) { caller in
        let driving = try EventLoop(name: "driving")
        let watching = try EventLoop(name: "watching")
        defer {
          driving.stop()
          watching.stop()
        }
        let port = try #require(world.simulator.access.introspectionPort)
        let target = LoadTarget(
          rest: caller.endpoint, redis: try world.redisConfiguration,
          simulator: .tcp(host: "127.0.0.1", port: port),
          processes: [.service: getpid()])
        let run = LoadRun(
          target: target, settings: settings, driving: driving, watching: watching)
        async let other: Void = beside(caller, world)
        found.report = try await run.run()
        try await other
      }
    }
    return try #require(found.report)
  }

  /// Carries a report out of closures that run one after the other.
  ///
  /// `@unchecked Sendable` is right because it is read after the last of them has ended.
  private final class Found: @unchecked Sendable {
    var report: LoadReport?
  }

  @Test(.timeLimit(.minutes(3)))
  func `finds every phone right, and accounts for every capture`() async throws {
    let settings = settings()
    let report = try await report(settings)
    #expect(report.isGood, "\(report.text(coloured: false))")
    #expect(report.captures > 5)
    #expect(report.handedOver == report.captures)
    #expect(report.doors.allSatisfy { $0.handedOver > 0 })
    #expect(report.convergence.trips == 2)
    #expect(report.convergence.phones >= 6)
    for latency in report.latencies { #expect(!latency.histogram.isEmpty, "\(latency.name)") }
    for stage in report.stages { #expect(!stage.histogram.isEmpty, "\(stage.name)") }
    // Every capture of two trips is in a followed partition.
    #expect(report.stages[1].histogram.count == report.captures)
    #expect(report.latencies[0].histogram.count == report.captures)
    // Each capture was seen by at least the three phones of its trip.
    #expect(report.latencies[1].histogram.count >= 3 * report.captures)
    #expect(report.process("service")?.residentAtEnd ?? 0 > 1_000_000)
    let html = report.html()
    #expect(html.contains("</html>") && !html.contains("<script"))
  }

  /// What a harness is for: it must not only find what it expects.
  @Test(.timeLimit(.minutes(3)))
  func `finds out when a phone shows what was never captured`() async throws {
    let report = try await report(settings()) { caller, world in
      try await world.waitUntil("a trip has members") {
        let trips = try await caller.call("GET", "/v1/trips").body["trips"]?.array ?? []
        guard trips.count == 2, let trip = trips[0]["trip"]?.string else { return false }
        let answer = try await caller.call(
          "POST", "/v1/trips/\(trip)/notes", #"{"id":"stranger","place":"Elsewhere"}"#)
        return answer.status == 202
      }
    }
    #expect(!report.isGood)
    #expect(!report.convergence.hasConverged)
    #expect(report.convergence.phonesRight < report.convergence.phones)
    #expect(report.convergence.wrong.count == 1)
  }

  /// The whole command: its own Redis, simulator and service, each a process.
  @Test(.timeLimit(.minutes(3)))
  func `can be run by hand, and its report be kept`() async throws {
    let loop = try EventLoop(name: "command")
    defer { loop.stop() }
    let folder = FileManager.default.temporaryDirectory
      .appendingPathComponent("fieldcast-load-test-\(UUID().uuidString.prefix(8))")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let output = folder.appendingPathComponent("report.json").path
    let page = folder.appendingPathComponent("report.html").path
    let path = ProcessInfo.processInfo.environment["PATH"] ?? ""
    let process = try await Subprocess.start(
      World.program,
      arguments: [
        "load", "--trips", "2", "--phones", "2", "--rate", "6", "--duration", "1", "--budget",
        "3600", "--quiet", "--json", "--html", page,
      ],
      environment: ["PATH=\(path)"], outputPath: output, on: loop)
    let status = await process.waitForExit()
    let text = try String(contentsOfFile: output, encoding: .utf8)
    #expect(status == 0, "\(text)")
    let report = try JSONValue.parse(Array(text.utf8), limits: JSONLimits(maxBytes: 1 << 20))
    #expect(report["good"]?.bool == true)
    #expect(report["processes"]?["service"]?["residentAtEnd"]?.int64 ?? 0 > 1_000_000)
    #expect(try String(contentsOfFile: page, encoding: .utf8).contains("<svg"))
  }
}
