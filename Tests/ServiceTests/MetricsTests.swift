import Clocks
import Foundation
import JSON
import Testing
import Transport

/// Prometheus and its tool, where they are installed or `deploy/test` has unpacked them.
private enum Prometheus {
  static let root = URL(fileURLWithPath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
  static let server = program("prometheus")
  static let tool = program("promtool")
  static let isMissing: Comment = "prometheus is not installed: deploy/test unpacks it"

  private static func program(_ name: String) -> String? {
    let unpacked = root.appendingPathComponent(".build/servers/usr/bin/\(name)").path
    if FileManager.default.isExecutableFile(atPath: unpacked) { return unpacked }
    return Subprocess.executable(named: name)
  }

  /// Runs the tool on files of `deploy/prometheus` or on a page of metrics.
  static func check(_ words: String, input: String = "", in world: World) async throws -> String {
    let page = world.folder.appendingPathComponent("page.txt").path
    let said = world.folder.appendingPathComponent("said.txt").path
    try input.write(toFile: page, atomically: false, encoding: .utf8)
    let process = try await Subprocess.start(
      "/bin/sh",
      arguments: [
        "-c", #"cd "$1" && exec "$0" check \#(words) <"$2""#, try #require(tool),
        root.appendingPathComponent("deploy/prometheus").path, page,
      ], outputPath: said, on: world.loop)
    let status = await process.waitForExit()
    let text = (try? String(contentsOfFile: said, encoding: .utf8)) ?? ""
    return status == 0 ? "" : "exit status \(status): \(text)"
  }
}

@Suite struct `Metrics` {
  /// The samples of a page, by name and labels.
  private func samples(of caller: TestCaller) async throws -> [String: Double] {
    let answer = try await caller.call("GET", "/metrics")
    #expect(answer.status == 200)
    #expect(answer.fields["content-type"]?.hasPrefix("text/plain; version=0.0.4") == true)
    var samples: [String: Double] = [:]
    for line in answer.text.split(separator: "\n") where !line.hasPrefix("#") {
      let cut = try #require(line.lastIndex(of: " "), "\(line)")
      let name = String(line[..<cut])
      #expect(samples[name] == nil, "\(name) is there twice")
      let value = try #require(Double(String(line[line.index(after: cut)...])), "\(line)")
      samples[name] = value
    }
    return samples
  }

  @Test func `count what goes in, what comes of it and how long it takes`() async throws {
    try await World.with { world in
      try await world.withService { caller in
        let before = try await samples(of: caller)
        #expect(before[#"fieldcast_triggers_total{outcome="accepted"}"#] == 0)
        #expect(before["fieldcast_partitions_owned"] == 256)
        #expect(before["fieldcast_redis_connected"] == 1)
        let trip = try await caller.createTrip()
        for number in [1, 1, 2] {
          let note = #"{"id":"n\#(number)"}"#
          #expect(try await caller.call("POST", "/v1/trips/\(trip.id)/notes", note).status == 202)
        }
        _ = try await caller.call("GET", "/v1/trips/nobody")
        try await world.waitForBroadcast(on: trip.channelID, notes: 2)
        try await world.waitUntil("the answer of APNs is counted") {
          let now = try await samples(of: caller)
          return (now[#"fieldcast_broadcasts_total{priority="10"}"#] ?? 0) >= 1
        }
        let after = try await samples(of: caller)
        #expect(after[#"fieldcast_triggers_total{outcome="accepted"}"#] == 2)
        #expect(after[#"fieldcast_triggers_total{outcome="duplicate"}"#] == 1)
        #expect(after[#"fieldcast_log_entries_total{outcome="applied"}"#] == 2)
        #expect(after["fieldcast_trips_in_memory"] == 1)
        #expect((after[#"fieldcast_stage_seconds_count{stage="append"}"#] ?? 0) >= 3)
        for stage in ["commit", "wait", "broadcast"] {
          let name = "fieldcast_stage_seconds"
          let count = after[#"\#(name)_count{stage="\#(stage)"}"#]
          #expect((count ?? 0) >= 1, "\(stage)")
          #expect(after[#"\#(name)_bucket{stage="\#(stage)",le="+Inf"}"#] == count)
        }
        #expect(after[#"fieldcast_rest_request_seconds_count{status="4xx"}"#] == 1)
        #expect((after["process_resident_memory_bytes"] ?? 0) > 1_000_000)
      }
    }
  }

  @Test(.enabled(if: Prometheus.tool != nil, Prometheus.isMissing))
  func `keep to the conventions, as do the alerts`() async throws {
    try await World.with { world in
      try await world.withService { caller in
        let trip = try await caller.createTrip()
        _ = try await caller.call("POST", "/v1/trips/\(trip.id)/notes", #"{"id":"a"}"#)
        try await world.waitForBroadcast(on: trip.channelID, notes: 1)
        let page = try await caller.call("GET", "/metrics").text
        #expect(try await Prometheus.check("metrics", input: page, in: world) == "")
        #expect(try await Prometheus.check("rules alerts.yml", in: world) == "")
        #expect(try await Prometheus.check("config prometheus.yml", in: world) == "")
        // Alerts and panels ask for nothing that no page has.
        let folder = Prometheus.root.appendingPathComponent("deploy")
        for file in ["prometheus/alerts.yml", "grafana/fieldcast.json"] {
          let text = try String(contentsOf: folder.appendingPathComponent(file), encoding: .utf8)
          for match in text.matches(of: /\b(?:fieldcast|process)_[a-z_]+/) {
            let name = match.output.replacing(/_bucket$/, with: "")
            #expect(page.contains("# TYPE \(name) "), "\(file): \(name)")
          }
        }
      }
    }
  }

  @Test(.enabled(if: Prometheus.server != nil, Prometheus.isMissing))
  func `are scraped by Prometheus`() async throws {
    try await World.with { world in
      try await world.withService { caller in
        guard case .tcp(_, let port) = caller.endpoint else { return }
        let trip = try await caller.createTrip()
        _ = try await caller.call("POST", "/v1/trips/\(trip.id)/notes", #"{"id":"a"}"#)
        let settings = """
          global: {scrape_interval: 1s}
          scrape_configs:
            - job_name: fieldcast
              static_configs: [{targets: ["127.0.0.1:\(port)"]}]
          """
        let file = world.folder.appendingPathComponent("prometheus.yml")
        try settings.write(to: file, atomically: false, encoding: .utf8)
        let free = try await StreamListener.freePort(on: world.loop)
        let process = try await Subprocess.start(
          try #require(Prometheus.server),
          arguments: [
            "--config.file=\(file.path)", "--web.listen-address=127.0.0.1:\(free)",
            "--storage.tsdb.path=\(world.folder.appendingPathComponent("tsdb").path)",
          ], outputPath: world.folder.appendingPathComponent("prometheus.log").path,
          on: world.loop)
        let prometheus = TestCaller(port: free, redis: world.redis, loop: world.loop)
        let query = "/api/v1/query?query=fieldcast_triggers_total%7Boutcome%3D%22accepted%22%7D"
        try await world.waitUntil("Prometheus has the counter") {
          guard let answer = try? await prometheus.call("GET", query) else { return false }
          let result = answer.body["data"]?["result"]?.array?.first
          return result?["value"]?.array?.last?.string == "1"
        }
        await prometheus.close()
        process.terminate()
        _ = await process.waitForExit()
      }
    }
  }
}
