import Foundation
internal import HTTP
internal import JSON
internal import LoadHarness
internal import Redis
internal import Transport

/// A service for one load, with a Redis and a simulated APNs of its own, each a process: so each
/// one's CPU time and memory can be read from the kernel.
struct LoadStage: Sendable {
  /// How the service is to be set up.
  struct Settings: Sendable {
    /// Further arguments of `fieldcast serve`.
    var serve: [String] = []
  }

  let target: LoadTarget
  private let redis: PrivateRedisServer
  private let simulator: Subprocess
  private let service: Subprocess
  private let folder: URL
  private let loop: EventLoop

  /// Starts all three, and waits until the service is ready.
  ///
  /// - Throws: ``LoadFailure``, with the end of the log of what did not start.
  static func open(_ settings: Settings, on loop: EventLoop) async throws -> LoadStage {
    let folder = FileManager.default.temporaryDirectory
      .appendingPathComponent("fieldcast-load-\(UUID().uuidString.prefix(8))")
    do {
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
      let program = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
      return try await Starter(folder: folder, program: program, loop: loop).start(settings)
    } catch {
      try? FileManager.default.removeItem(at: folder)
      throw error
    }
  }

  /// Starts one process after the other; those that run end with this one, should a later one fail.
  private struct Starter {
    let folder: URL
    let program: String
    let loop: EventLoop

    func start(_ settings: Settings) async throws -> LoadStage {
      let redis = try await PrivateRedisServer.start(
        PrivateRedisServer.Options(folder: folder.appendingPathComponent("redis").path), on: loop)
      let simulator = try await process(
        "simulator",
        [
          "simulate", "--json", "--push-port", "0", "--management-port", "0", "--folder",
          folder.appendingPathComponent("simulator").path,
        ])
      let access = try await line(of: simulator, "simulator") { $0["pushPort"] != nil }
      let socket = "unix://\(redis.options.socketPath)"
      let service = try await process("service", serviceArguments(access, socket) + settings.serve)
      let serving = try await line(of: service, "service") { $0["port"] != nil }
      guard let port = serving["port"]?.string.flatMap({ Int($0) }),
        let introspection = access["introspectionPort"]?.int64
      else { throw LoadFailure("The service or the simulator does not say where it listens.") }
      let target = LoadTarget(
        rest: .tcp(host: "127.0.0.1", port: port), redis: redis.configuration,
        simulator: .tcp(host: "127.0.0.1", port: Int(introspection)),
        processes: [
          .service: service.processID, .redis: redis.process.processID,
          .simulator: simulator.processID, .harness: getpid(),
        ])
      return LoadStage(
        target: target, redis: redis, simulator: simulator, service: service, folder: folder,
        loop: loop)
    }

    private func serviceArguments(_ access: JSONValue, _ redis: String) -> [String] {
      func text(_ key: String) -> String { access[key]?.string ?? "" }
      func host(_ key: String) -> String { "\(text("host")):\(access[key]?.int64 ?? 0)" }
      return [
        "serve", "--log-json", "--listen", "127.0.0.1:0", "--redis", redis, "--node", "load",
        "--bundle-id", access["bundleIDs"]?[0]?.string ?? "", "--environment", "development",
        "--team-id", text("teamID"), "--key-id", text("keyID"), "--key-file", text("keyFile"),
        "--apns-push", host("pushPort"), "--apns-management", host("managementPort"),
        "--apns-trust", text("trustFile"),
        // Ten thousand trips take all channels that an app may have.
        "--warm-channels", "0",
      ]
    }

    private func process(_ name: String, _ arguments: [String]) async throws -> Subprocess {
      try await Subprocess.start(
        program, arguments: arguments, outputPath: log(name), on: loop)
    }

    private func log(_ name: String) -> String {
      folder.appendingPathComponent("\(name).log").path
    }

    /// Waits for a line of a process' output that is a JSON object of the right kind.
    private func line(
      of process: Subprocess, _ name: String, _ isRight: (JSONValue) -> Bool
    ) async throws -> JSONValue {
      for _ in 0..<3_000 {
        let text = (try? String(contentsOfFile: log(name), encoding: .utf8)) ?? ""
        for line in text.split(separator: "\n") {
          if let value = try? JSONValue.parse(String(line)), isRight(value) { return value }
        }
        guard process.isRunning else { break }
        try await loop.sleep(for: .milliseconds(10))
      }
      let text = (try? String(contentsOfFile: log(name), encoding: .utf8)) ?? ""
      throw LoadFailure("The \(name) does not start: \(text.suffix(2_000))")
    }
  }

  /// What the service had to say beyond routine, for whoever wonders.
  var warnings: [String] {
    let path = folder.appendingPathComponent("service.log").path
    let text = (try? String(contentsOfFile: path, encoding: .utf8)) ?? ""
    return text.split(separator: "\n").filter { !$0.contains(#""level":"info""#) }.map(String.init)
  }

  func close() async {
    service.terminate()
    _ = await service.waitForExit()
    simulator.terminate()
    _ = await simulator.waitForExit()
    await redis.stop()
    try? FileManager.default.removeItem(at: folder)
  }
}
