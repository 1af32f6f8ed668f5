internal import FieldTrips
internal import LoadHarness

/// `fieldcast trace import`: a trace of a person's own iNaturalist export.
package enum TraceImportCommand: Command {
  static let date = Option<String?>.text(
    "date", "YYYY-MM-DD",
    help: "The day to take. Without it, the one with the most captures.")
  static let output = Option<String?>.text(
    "output", "FILE", help: "Where to write the trace. Without it, to the standard output.")

  package static let help = CommandHelp(
    "trace", "import", summary: "Makes a trace of an iNaturalist CSV export",
    discussion: """
      Keeps times, numbered observers and coarse places of one day, and nothing else:
      no name, coordinate, species or address is written. Export on iNaturalist with the
      columns observed_on_string, observed_on, time_observed_at, user_login and
      place_guess; others are not looked at.
      """,
    positionals: [CommandHelp.Positional("EXPORT", help: "The CSV file; - is the standard input.")],
    options: [date.spec, output.spec],
    examples: [
      "fieldcast trace import observations-123456.csv --output my-day.csv",
      "fieldcast demo --trace my-day.csv",
    ],
    statuses: [.badInput, .noInput, .cannotCreate])

  package static func run(_ arguments: ParsedArguments) async throws -> ExitStatus {
    let path = arguments.positionals[0]
    let bytes = try TraceFailure.translated { () throws(TraceFileError) in
      try TraceFiles.read(path)
    }
    let result: INaturalistImport
    do {
      result = try INaturalistImport(csv: bytes, date: arguments[date])
    } catch {
      throw CommandFailure(.badInput, "\(path) cannot be imported. \(error)")
    }
    try OutputFile.write(result.trace.csv(), to: arguments[output])
    Terminal.errors.writeLine(summary(of: result))
    return .success
  }

  private static func summary(of result: INaturalistImport) -> String {
    let trace = result.trace
    var text =
      "\(result.date): \(Text.count(trace.captures.count, "capture")) in "
      + Text.span(seconds: trace.durationSeconds)
    text += " of \(Text.count(result.rows, "row")); left out: "
    text += "\(Text.grouped(result.rowsOfOtherDays)) of other days, "
    text += "\(Text.grouped(result.rowsWithoutTime)) without a time of day."
    return text
  }
}
