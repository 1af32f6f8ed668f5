internal import FieldTrips
internal import JSON

/// `fieldcast types show`: activity types as a file that can be changed.
package enum TypesShowCommand: Command {
  static let output = Option<String?>.text(
    "output", "FILE", help: "Where to write the file. Without it, to the standard output.")

  package static let help = CommandHelp(
    "types", "show", summary: "Shows activity types as a file to start from",
    discussion: """
      Writes the activity types that are built in, or one of them, or those of a file, as \
      `fieldcast serve --activity-types` takes them: with every setting that has a value.
      """,
    positionals: [
      CommandHelp.Positional("NAME", required: false, help: "One type; without it, all.")
    ],
    options: [ServiceOptions.activityTypes.spec, output.spec],
    examples: [
      "fieldcast types show field-trip --output types.json",
      "fieldcast types show --activity-types deploy/activity-types.json",
    ],
    statuses: [.badInput, .noInput, .cannotCreate, .configuration])

  package static func run(_ arguments: ParsedArguments) async throws -> ExitStatus {
    var types = try ActivityTypes.read(from: arguments)
    if let name = arguments.positionals.first {
      let known = types.map(\.name)
      types = types.filter { $0.name == name }
      if types.isEmpty {
        let nearest = Spelling.nearest(to: name, among: known)
        throw CommandFailure(
          .badInput,
          "There is no activity type \(name)."
            + (nearest.map { " Did you mean \($0)?" } ?? " Known: \(known.joined(separator: ", ")).")
        )
      }
    }
    let text = IndentedJSON(columns: 100).text(of: ActivityTypeFile.json(of: types))
    try OutputFile.write(text, to: arguments[output])
    return .success
  }
}
