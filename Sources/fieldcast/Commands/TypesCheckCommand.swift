internal import FieldTrips
internal import JSON

/// `fieldcast types check`: what is wrong with a file of activity types.
package enum TypesCheckCommand: Command {
  static let since = Option<String?>.text(
    "since", "FILE",
    help: """
      The file that a service runs with: also says why its trips would not survive the change. \
      Without it, that is not looked at.
      """)
  static let json = Option<Bool>.flag("json", help: "Writes the problems as a JSON object.")

  package static let help = CommandHelp(
    "types", "check", summary: "Checks a file of activity types",
    discussion: """
      Names every problem with its place in the file: what the phone's struct could not decode, \
      rules that fit no field, and, for older versions of the app that the file names, what those \
      could not decode.
      """,
    positionals: [
      CommandHelp.Positional(
        "FILE", help: "Of activity types, as JSON; - reads it from the standard input.")
    ],
    options: [since.spec, json.spec],
    examples: [
      "fieldcast types check deploy/activity-types.json",
      "fieldcast types check new.json --since deploy/activity-types.json --json",
    ],
    statuses: [.checkFailed, .noInput])

  package static func run(_ arguments: ParsedArguments) async throws -> ExitStatus {
    var problems: [Problem] = []
    let types = try types(in: arguments.positionals[0], problems: &problems)
    if let path = arguments[since], let types {
      for old in try Self.types(in: path, problems: &problems) ?? [] {
        guard let new = types.first(where: { $0.name == old.name }) else { continue }
        problems += old.definition.problemsOfChange(to: new.definition).map {
          Problem($0.code, at: "/types/\(old.name)\($0.path)", $0.message)
        }
      }
    }
    write(problems, of: types ?? [], asJSON: arguments[json])
    return problems.isEmpty ? .success : .checkFailed
  }

  private static func types(
    in path: String, problems: inout [Problem]
  ) throws(CommandFailure) -> [ActivityType]? {
    let bytes = try ActivityTypes.bytes(of: path)
    do throws(Refusal) {
      return try ActivityTypeFile.read(bytes).types
    } catch {
      problems += error.problems
      return nil
    }
  }

  private static func write(_ problems: [Problem], of types: [ActivityType], asJSON: Bool) {
    if asJSON {
      let list = problems.map { problem -> JSONValue in
        [
          "code": .string(problem.code.rawValue), "pointer": .string(problem.path),
          "message": .string(problem.message),
        ]
      }
      let names = types.map { JSONValue.string($0.name) }
      let answer: JSONValue = ["types": .array(names), "problems": .array(list)]
      Terminal.output.writeLine(String(decoding: answer.serialized(), as: UTF8.self))
      return
    }
    for problem in problems {
      Terminal.output.writeLine(problem.text)
    }
    if problems.isEmpty {
      let names = types.map(\.name).joined(separator: ", ")
      Terminal.output.writeLine("Good: \(names). The first is meant where a request names none.")
    }
  }
}
