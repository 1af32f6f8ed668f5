internal import FieldTrips
internal import LoadHarness

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
      plays the captures of a trace into all three doors, and ends the trip.
      """,
    options: [trace.spec, speed.spec, phones.spec, once.spec, json.spec],
    examples: [
      "fieldcast demo --once", "fieldcast demo --once --speed 600 --trace my-day.csv",
      "fieldcast demo --once --json",
    ],
    statuses: [.checkFailed, .badInput, .noInput, .unavailable])

  package static func run(_ arguments: ParsedArguments) async throws -> ExitStatus {
    let folder = arguments.environment["FIELDCAST_TRACES"].flatMap { $0.isEmpty ? nil : $0 }
    let chosen = try TraceFailure.translated { () throws(TraceFileError) in
      try TraceFiles.choose(arguments[trace], folder: folder)
    }
    throw CommandFailure(.unavailable, "\(chosen.name) cannot be played by this build.")
  }
}
