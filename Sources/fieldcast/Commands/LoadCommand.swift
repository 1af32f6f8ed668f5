internal import FieldTrips
import Foundation
internal import LoadHarness
internal import Redis
internal import Transport

/// `fieldcast load`: how fresh the phones are under load, and what it costs.
package enum LoadCommand: Command {
  static let trips = Option<Int>.integer(
    "trips", in: 1...10_000, unit: "trips", default: 10, help: "How many groups are under way.")
  static let phones = Option<Int>.integer(
    "phones", in: 0...1_000_000, unit: "phones", default: 100,
    help: "Members of each trip, with a virtual phone each.")
  static let rate = Option<Double>.number(
    "rate", in: 0.001...200_000, unit: "captures a second", default: 10,
    help: "Over all trips together.")
  static let duration = Option<Double>.number(
    "duration", in: 1...86_400, unit: "s", default: 30, help: "How long captures come.")
  static let ramp = Option<Double>.number(
    "ramp", in: 0...86_400, unit: "s", default: 0,
    help: "Within the duration: the rate rises evenly over so long.")
  static let arrivals = Option<String>.choice(
    "arrivals", among: ["poisson", "even", "bursty", "trace"], default: "poisson",
    help: """
      How captures of a trip follow each other: without memory, at a regular pace, in bouts of a \
      dozen, or as a day in the field at the pace that gives the rate.
      """)
  static let trace = Option<String?>.text(
    "trace", "FILE",
    help: "For --arrivals trace: a trace or an iNaturalist export. Without it, an invented outing.")
  static let doors = Option<String>.text(
    "doors", "LIST", default: "rest,pubsub,stream",
    help: "By which doors captures come, in turns.")
  static let churn = Option<Double>.number(
    "churn", in: 0...1_000, unit: "joins a second", default: 0,
    help: "Members who join meanwhile; as many leave.")
  static let seed = Option<Int>.integer(
    "seed", in: 0...Int.max, unit: "", default: 1, help: "The same seed gives the same schedule.")
  static let connections = Option<Int>.integer(
    "connections", in: 1...4_000, unit: "connections", default: 64,
    help: "To REST. Captures that find none free wait, and their waits count.")
  static let patience = Option<Double>.number(
    "patience", in: 1...3_600, unit: "s", default: 120,
    help: "How long the phones may take after the last capture.")
  static let service = Option<String?>.text(
    "service", "HOST:PORT",
    help: """
      REST of a running service, with --redis and --simulator. Without them, a service, a Redis \
      and a simulated APNs are started for this load.
      """)
  static let token = Option<String?>.text(
    "token", "TOKEN", environment: "FIELDCAST_TOKEN",
    help: """
      Where the running service asks for one, with the scopes trips and notes; best in the \
      environment.
      """)
  static let simulator = Option<String?>.text(
    "simulator", "HOST:PORT",
    help: "The introspection of the simulated APNs that the running service publishes to.")
  static let pid = Option<Int?>.integer(
    "pid", in: 1...Int(Int32.max), unit: "",
    help: "Process ID of the running service, if it is on this machine: its CPU and memory.")
  static let json = Option<Bool>.flag("json", help: "Writes the report as a JSON object.")
  static let html = Option<String?>.text(
    "html", "FILE", help: "Also writes the report as one HTML page with plots, without scripts.")
  static let quiet = Option<Bool>.flag("quiet", help: "Shows no progress.")

  package static let help = CommandHelp(
    "load", summary: "Puts a load on the service and measures what phones see",
    discussion: """
      Creates trips, lets members join, and hands captures to the service's doors by a schedule \
      that is fixed beforehand (open loop: each wait counts from its scheduled moment). Reports \
      latencies and their parts, staleness, broadcasts, CPU and memory, from the virtual phones, \
      Redis and the kernel, not from the service's own word. Every phone's last card is compared \
      with what was captured.
      """,
    options: [
      trips.spec, phones.spec, rate.spec, duration.spec, ramp.spec, arrivals.spec, trace.spec,
      doors.spec, churn.spec, seed.spec, connections.spec, patience.spec,
      ServiceOptions.budget.spec, ServiceOptions.burst.spec, ServiceOptions.appRate.spec,
      service.spec, token.spec,
      ServiceOptions.redis.spec, ServiceOptions.redisTrust.spec, simulator.spec, pid.spec,
      json.spec, html.spec, quiet.spec,
    ],
    examples: [
      "fieldcast load --trips 100 --rate 50 --duration 60 --html report.html",
      "fieldcast load --trips 1 --phones 30156 --rate 0.2 --doors rest",
      "fieldcast load --service 127.0.0.1:8080 --redis redis://127.0.0.1:6379 "
        + "--simulator 127.0.0.1:8090 --json",
    ],
    statuses: [
      .checkFailed, .badInput, .noInput, .unavailable, .cannotCreate, .configuration,
    ])

  package static func run(_ arguments: ParsedArguments) async throws -> ExitStatus {
    let settings = try settings(from: arguments)
    let signals = try Signals.catchAll()
    let watching = try EventLoop(name: "watching")
    let driving = try EventLoop(name: "driving")
    let stop = StopSignal()
    Signals.deliver(from: signals, on: watching) { _ in stop.fire() }
    let stage: LoadStage?
    let target: LoadTarget
    do {
      if let running = try runningTarget(arguments) {
        (stage, target) = (nil, running)
      } else {
        let opened = try await LoadStage.open(stageSettings(arguments), on: watching)
        (stage, target) = (opened, opened.target)
      }
    } catch let failure as CommandFailure {
      throw failure
    } catch {
      throw CommandFailure(.unavailable, "\(error)")
    }
    var loaded = settings
    loaded.endsTrips = stage == nil
    let screen = LoadScreen(isQuiet: arguments[quiet])
    let run = LoadRun(
      target: target, settings: loaded, driving: driving, watching: watching
    ) { screen.show($0) }
    let result = await perform(run, until: stop)
    for warning in stage?.warnings.prefix(5) ?? [] { Terminal.errors.writeLine(warning) }
    await stage?.close()
    return try finish(result, arguments)
  }

  private static func perform(
    _ run: LoadRun, until stop: StopSignal
  ) async -> Result<LoadReport, any Error> {
    await withTaskGroup(of: Result<LoadReport, any Error>?.self) { group in
      group.addTask {
        do { return .success(try await run.run()) } catch { return .failure(error) }
      }
      group.addTask {
        await stop.wait()
        return nil
      }
      let first = await group.next() ?? nil
      group.cancelAll()
      stop.fire()
      return first ?? .failure(LoadFailure("The load was stopped before it was over."))
    }
  }

  private static func finish(
    _ result: Result<LoadReport, any Error>, _ arguments: ParsedArguments
  ) throws -> ExitStatus {
    var report: LoadReport
    do { report = try result.get() } catch { throw CommandFailure(.unavailable, "\(error)") }
    report.conditions.command =
      ([CommandLine.arguments[0].split(separator: "/").last.map(String.init) ?? "fieldcast"]
      + CommandLine.arguments.dropFirst()).joined(separator: " ")
    if arguments[json] {
      Terminal.output.writeLine(report.json())
    } else {
      Terminal.output.write(report.text(coloured: Terminal.output.style.isColoured))
    }
    if let path = arguments[html] { try OutputFile.write(report.html(), to: path) }
    return report.isGood ? .success : .checkFailed
  }

  // MARK: Arguments

  private static func settings(
    from arguments: ParsedArguments
  ) throws(CommandFailure) -> LoadSettings {
    var settings = LoadSettings()
    settings.trips = arguments[trips]
    settings.phonesPerTrip = arguments[phones]
    settings.capturesPerSecond = arguments[rate]
    settings.seconds = arguments[duration]
    settings.rampSeconds = arguments[ramp]
    settings.churnPerSecond = arguments[churn]
    settings.seed = UInt64(arguments[seed])
    settings.restConnections = arguments[connections]
    settings.patienceSeconds = arguments[patience]
    settings.doors = try readDoors(arguments[doors])
    switch arguments[arrivals] {
    case "even": settings.shape = .even
    case "bursty": settings.shape = .bursty
    case "trace":
      let folder = arguments.environment["FIELDCAST_TRACES"].flatMap { $0.isEmpty ? nil : $0 }
      let chosen = try TraceFailure.translated { () throws(TraceFileError) in
        try TraceFiles.choose(arguments[trace], folder: folder)
      }
      guard !chosen.captures.isEmpty else {
        throw CommandFailure(.badInput, "The trace \(chosen.name) has no captures.")
      }
      settings.shape = .trace(chosen)
    default: settings.shape = .poisson
    }
    return settings
  }

  private static func readDoors(
    _ text: String
  ) throws(CommandFailure) -> [ServiceDoors.Door] {
    var found: [ServiceDoors.Door] = []
    for word in text.split(separator: ",") {
      guard let door = ServiceDoors.Door.allCases.first(where: { $0.name == word }) else {
        let known = ServiceDoors.Door.allCases.map(\.name).joined(separator: ", ")
        throw CommandFailure(.usage, "--doors \(text): \(word) is none of \(known).")
      }
      if !found.contains(door) { found.append(door) }
    }
    guard !found.isEmpty else { throw CommandFailure(.usage, "--doors names no door.") }
    return found
  }

  /// A service that runs already; nil when none is named.
  private static func runningTarget(
    _ arguments: ParsedArguments
  ) throws(CommandFailure) -> LoadTarget? {
    guard let rest = arguments[service] else {
      guard arguments[simulator] == nil else {
        throw CommandFailure(.usage, "--simulator comes with --service and --redis.")
      }
      return nil
    }
    guard let redis = arguments[ServiceOptions.redis], let simulated = arguments[simulator] else {
      throw CommandFailure(.usage, "--service needs --redis and --simulator too.")
    }
    let configuration: RedisConfiguration
    do {
      configuration = try RedisConfiguration(url: redis) {
        try TLSClientContext(
          trust: arguments[ServiceOptions.redisTrust].map { .systemAnd(file: $0) } ?? .system,
          alpn: [])
      }
    } catch {
      throw CommandFailure(.configuration, "The Redis URL cannot be used: \(error)")
    }
    var processes: [LoadTarget.Process: Int32] = [.harness: getpid()]
    if let pid = arguments[pid] { processes[.service] = Int32(pid) }
    return LoadTarget(
      rest: try ServiceOptions.endpoint(rest, of: service.spec), token: arguments[token],
      redis: configuration,
      simulator: try ServiceOptions.endpoint(simulated, of: simulator.spec),
      processes: processes)
  }

  private static func stageSettings(_ arguments: ParsedArguments) -> LoadStage.Settings {
    var settings = LoadStage.Settings()
    settings.serve += ["--budget", "\(arguments[ServiceOptions.budget])"]
    settings.serve += ["--app-rate", "\(arguments[ServiceOptions.appRate])"]
    if let burst = arguments[ServiceOptions.burst] { settings.serve += ["--burst", "\(burst)"] }
    return settings
  }
}
