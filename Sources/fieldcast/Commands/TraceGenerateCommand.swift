internal import FieldTrips

/// `fieldcast trace generate`: an invented day in the field.
package enum TraceGenerateCommand: Command {
  static let shape = Option<String>.choice(
    "shape", among: TraceGenerator.Shape.all.map(\.name), default: "outing",
    help: "Which kind of day it is. " + shapes)
  static let seed = Option<Int>.integer(
    "seed", in: 0...Int.max, unit: "", default: 1,
    help: "The same seed gives the same trace on every machine.")
  static let output = Option<String?>.text(
    "output", "FILE", help: "Where to write the trace. Without it, to the standard output.")

  package static let help = CommandHelp(
    "trace", "generate", summary: "Invents a group's day in the field, as a trace",
    discussion: """
      Writes a table of captures (offset_s,observer,place) whose bursts, stacks, lulls
      and plateaus are fitted to recorded group events. Nothing in it ever happened.
      """,
    options: [shape.spec, seed.spec, output.spec],
    examples: [
      "fieldcast trace generate --shape bioblitz --seed 7 --output day.csv",
      "fieldcast trace generate | fieldcast trace describe -",
    ],
    statuses: [.cannotCreate])

  private static var shapes: String {
    TraceGenerator.Shape.all.map { "\($0.name): \($0.summary)." }.joined(separator: " ")
  }

  package static func run(_ arguments: ParsedArguments) async throws -> ExitStatus {
    guard let shape = TraceGenerator.Shape.all.first(where: { $0.name == arguments[shape] }) else {
      preconditionFailure("only a known shape passes the check of --shape")
    }
    let trace = TraceGenerator.trace(shape, seed: UInt64(arguments[seed]))
    try OutputFile.write(trace.csv(), to: arguments[output])
    return .success
  }
}
