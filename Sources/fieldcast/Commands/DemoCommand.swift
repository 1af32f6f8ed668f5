internal import FieldTrips
internal import FieldcastServer
internal import LoadHarness
internal import Transport

/// `fieldcast demo`: a group's whole trip through the service, watched in the terminal.
package enum DemoCommand: Command {
  static let trace = Option<String?>.text(
    "trace", "FILE",
    help: """
      A trace, an iNaturalist export, or the name of a trace in the folder that \
      FIELDCAST_TRACES names. Without it, the shortest trace of that folder; without a folder, an \
      invented outing.
      """)
  static let speed = Option<Double>.number(
    "speed", in: 1...1_000, unit: "times the trace's own pace", default: 120,
    help: "Scales the clock of service and phones together.")
  static let phones = Option<Int>.integer(
    "phones", in: 1...10_000, unit: "phones", default: 40, help: "How many phones join the trip.")
  static let once = Option<Bool>.flag(
    "once", help: "Exits when the trip is over. Without it, begins again until it is interrupted.")
  static let json = Option<Bool>.flag(
    "json", help: "Writes only the summary, as a JSON object.")

  package static let help = CommandHelp(
    "demo", summary: "Plays a group's trip through the service and shows the phones",
    discussion: """
      Starts a Redis, an APNs simulator and the service, creates a trip, lets phones join,
      plays the captures of a trace into all three doors, and ends the trip. The service's \
      dashboard can be watched meanwhile; its address is told at the start.
      """,
    options: [trace.spec, speed.spec, phones.spec, once.spec, json.spec],
    examples: [
      "fieldcast demo --once", "fieldcast demo --once --speed 600 --trace my-day.csv",
      "fieldcast demo --once --json",
    ],
    statuses: [.checkFailed, .badInput, .noInput, .unavailable])

  package static func run(_ arguments: ParsedArguments) async throws -> ExitStatus {
    let signals = try Signals.catchAll()
    let folder = arguments.environment["FIELDCAST_TRACES"].flatMap { $0.isEmpty ? nil : $0 }
    let trace = try TraceFailure.translated { () throws(TraceFileError) in
      try TraceFiles.choose(arguments[Self.trace], folder: folder)
    }
    var settings = GroupReplay.Settings()
    settings.phones = arguments[phones]
    settings.name = trace.name
    let log = ServiceLog.standardError(minimum: .warning, format: .text)
    let stage: DemoStage
    do {
      stage = try await DemoStage.open(
        speed: arguments[speed], length: .seconds(Int64(trace.durationSeconds)), log: log)
    } catch {
      throw CommandFailure(.unavailable, "The demo cannot be set up: \(error)")
    }
    if !arguments[json] {
      Terminal.output.writeLine(
        "Watch it at http://127.0.0.1:\(stage.service.port)/ while it plays.")
    }
    let stop = StopSignal()
    Signals.deliver(from: signals, on: stage.loop) { _ in stop.fire() }
    let status = await perform(trace, settings, on: stage, arguments, stop)
    await stage.close()
    return status
  }

  /// Plays until it is told to stop, once if that was asked for.
  private static func perform(
    _ trace: CaptureTrace, _ settings: GroupReplay.Settings, on stage: DemoStage,
    _ arguments: ParsedArguments, _ stop: StopSignal
  ) async -> ExitStatus {
    await withTaskGroup(of: ExitStatus.self) { group in
      group.addTask {
        var status = ExitStatus.success
        repeat {
          status = await play(trace, settings, on: stage, asJSON: arguments[json])
        } while status == .success && !arguments[once] && !stop.hasFired
        return status
      }
      group.addTask {
        await stop.wait()
        return .success
      }
      let status = await group.next() ?? .success
      group.cancelAll()
      stop.fire()
      return status
    }
  }

  private static func play(
    _ trace: CaptureTrace, _ settings: GroupReplay.Settings, on stage: DemoStage, asJSON: Bool
  ) async -> ExitStatus {
    let screen = DemoScreen(isQuiet: asJSON)
    do {
      let summary = try await stage.play(trace, settings: settings) { screen.show($0) }
      screen.finish()
      let coloured = Terminal.output.style.isColoured
      Terminal.output.write(asJSON ? summary.json() + "\n" : summary.text(coloured: coloured))
      return summary.isGood ? .success : .checkFailed
    } catch {
      screen.finish()
      Terminal.errors.writeLine("fieldcast demo: the trip could not be played: \(error)")
      return .unavailable
    }
  }
}
