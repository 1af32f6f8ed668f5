internal import FieldTrips
internal import JSON
internal import LoadHarness

/// `fieldcast trace describe`: how much, how many, and how bursty.
package enum TraceDescribeCommand: Command {
  static let json = Option<Bool>.flag("json", help: "Writes a JSON object a trace, a line each.")

  package static let help = CommandHelp(
    "trace", "describe", summary: "Shows a trace's statistics",
    discussion: """
      Gaps are between neighbouring captures of the whole group. Their variation (CV) and
      the Fano factor of captures a minute are 1 for a Poisson stream; more is burstier.
      """,
    positionals: [
      CommandHelp.Positional(
        "TRACE", help: "A trace, an iNaturalist export, or a folder of them; - is standard input.")
    ],
    options: [json.spec],
    examples: ["fieldcast trace describe day.csv", "fieldcast trace describe --json day.csv"],
    statuses: [.badInput, .noInput])

  package static func run(_ arguments: ParsedArguments) async throws -> ExitStatus {
    let path = arguments.positionals[0]
    let traces = try TraceFailure.translated { () throws(TraceFileError) in
      try TraceFiles.all(at: path)
    }
    for (index, trace) in traces.enumerated() {
      let statistics = TraceStatistics(trace)
      if arguments[json] {
        Terminal.output.writeLine(object(trace, statistics))
      } else {
        Terminal.output.write((index > 0 ? "\n" : "") + table(trace, statistics))
      }
    }
    return .success
  }

  private static func table(_ trace: CaptureTrace, _ found: TraceStatistics) -> String {
    func share(_ share: Double) -> String { Text.fixed(share * 100, decimals: 0) + " %" }
    func seconds(_ seconds: Double) -> String { Text.fixed(seconds, decimals: 1) + " s" }
    let rows = [
      ("captures", Text.grouped(found.captures)),
      ("observers", "\(found.observers), the busiest made \(share(found.busiestObserverShare))"),
      ("places", Text.grouped(found.places)),
      ("duration", Text.span(seconds: found.durationSeconds)),
      ("gaps", "mean \(seconds(found.meanGapSeconds)), CV \(two(found.gapVariation))"),
      (
        "",
        "median \(seconds(found.medianGapSeconds)), p90 \(seconds(found.p90GapSeconds)), "
          + "p99 \(seconds(found.p99GapSeconds))"
      ),
      (
        "",
        "longest \(Text.span(seconds: found.longestGapSeconds)), "
          + "\(share(found.zeroGapShare)) are 0 s"
      ),
      (
        "by minute", "Fano \(two(found.fano)), busy \(share(found.busyMinuteShare))"
      ),
      (
        "peaks",
        "\(found.peak1Second) in 1 s, \(found.peak10Seconds) in 10 s, "
          + "\(found.peak60Seconds) in 60 s, "
          + "\(Text.fixed(found.peakOverMean, decimals: 0)) times the mean rate"
      ),
      (
        "together",
        "at most \(Text.count(found.mostObserversInMinute, "observer")) in 60 s, "
          + "\(Text.count(found.largestStack, "capture")) of one at one instant"
      ),
      ("resolution", "\(share(found.offMinuteShare)) are off the whole minute"),
    ]
    let style = Terminal.output.style
    let lines = rows.map { "  \(Text.fitted($0.0, columns: 12))\($0.1)" }
    return "\(style.bold(Text.harmless(trace.name))), \(trace.kind.words)\n"
      + lines.joined(separator: "\n") + "\n"
  }

  private static func object(_ trace: CaptureTrace, _ found: TraceStatistics) -> String {
    func rounded(_ number: Double) -> JSONValue {
      .number(JSONNumber(Text.fixed(number, decimals: 3)) ?? JSONNumber(0))
    }
    func whole(_ number: Int) -> JSONValue { .number(JSONNumber(number)) }
    let object: JSONValue = [
      "name": .string(trace.name),
      "kind": .string(trace.kind.words),
      "captures": whole(found.captures),
      "observers": whole(found.observers),
      "places": whole(found.places),
      "duration_seconds": rounded(found.durationSeconds),
      "gap_mean_seconds": rounded(found.meanGapSeconds),
      "gap_cv": rounded(found.gapVariation),
      "gap_p50_seconds": rounded(found.medianGapSeconds),
      "gap_p90_seconds": rounded(found.p90GapSeconds),
      "gap_p99_seconds": rounded(found.p99GapSeconds),
      "gap_longest_seconds": rounded(found.longestGapSeconds),
      "gap_zero_share": rounded(found.zeroGapShare),
      "fano_60s": rounded(found.fano),
      "busy_minute_share": rounded(found.busyMinuteShare),
      "peak_1s": whole(found.peak1Second),
      "peak_10s": whole(found.peak10Seconds),
      "peak_60s": whole(found.peak60Seconds),
      "peak_over_mean": rounded(found.peakOverMean),
      "off_minute_share": rounded(found.offMinuteShare),
      "most_observers_60s": whole(found.mostObserversInMinute),
      "busiest_observer_share": rounded(found.busiestObserverShare),
      "largest_stack": whole(found.largestStack),
    ]
    return String(decoding: object.serialized(), as: UTF8.self)
  }

  private static func two(_ number: Double) -> String { Text.fixed(number, decimals: 2) }
}
