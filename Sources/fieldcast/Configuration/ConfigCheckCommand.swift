internal import FieldcastServer
internal import JSON
internal import LoadHarness

/// `fieldcast config check`: what is wrong with a service's settings, before it is started.
package enum ConfigCheckCommand: Command {
  static let json = Option<Bool>.flag("json", help: "Writes the problems as a JSON object.")

  package static let help = CommandHelp(
    "config", "check", summary: "Checks the settings of a service",
    discussion: """
      Reads settings as `fieldcast serve` does, from the command line, the environment and a file, \
      with the files that they name, and says everything that is wrong: settings that there are \
      not, values out of their range, keys and certificates that cannot be used. It connects to \
      nothing.
      """,
    options: ServeCommand.options + [json.spec],
    examples: [
      "fieldcast config check --config deploy/fieldcast.json", "fieldcast config check --json",
    ],
    statuses: [.configuration], reportsProblemsItself: true)

  package static func run(_ arguments: ParsedArguments) async throws -> ExitStatus {
    var problems = arguments.problems.map(\.message)
    problems += strangers(in: arguments.environment)
    if problems.isEmpty {
      do throws(CommandFailure) {
        problems += try ServiceOptions.configuration(from: arguments).problems()
      } catch {
        problems.append(error.message)
      }
    }
    if arguments[json] {
      let answer: JSONValue = ["problems": .array(problems.map { .string($0) })]
      Terminal.output.writeLine(answer.serializedText)
    } else {
      for problem in problems { Terminal.output.writeLine(problem) }
      if problems.isEmpty { Terminal.output.writeLine("Good: a service starts with these.") }
    }
    return problems.isEmpty ? .success : .configuration
  }

  /// Variables that look like a slip of the pen. Others of our prefix may be somebody's: Kubernetes
  /// sets some for each service.
  private static func strangers(in environment: [String: String]) -> [String] {
    let prefix = "FIELDCAST_"
    let known = CommandLineInterface.commands.flatMap { $0.help.options.compactMap(\.environment) }
      .filter { $0.hasPrefix(prefix) }
    let names = environment.keys.filter { $0.hasPrefix(prefix) && !known.contains($0) }.sorted()
    return names.compactMap { name in
      Spelling.nearest(
        to: String(name.dropFirst(prefix.count)),
        among: known.map { String($0.dropFirst(prefix.count)) }
      ).map { "There is no variable \(name). Did you mean \(prefix)\($0)?" }
    }
  }
}
