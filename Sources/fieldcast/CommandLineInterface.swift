/// Finds the command that a person asks for, checks its arguments, and runs it.
package struct CommandLineInterface: Sendable {
  package static let commands: [any Command.Type] = [
    ServeCommand.self, SimulateCommand.self, DemoCommand.self, LoadCommand.self,
    DoctorCommand.self, ConfigCheckCommand.self, ConfigShowCommand.self,
    TripsExplainCommand.self, PushCommand.self, TokenCommand.self,
    TraceGenerateCommand.self, TraceImportCommand.self, TraceDescribeCommand.self,
    ChannelsListCommand.self, ChannelsReconcileCommand.self,
    TypesShowCommand.self, TypesCheckCommand.self,
    PolicyCommand.self, BenchCoalescingCommand.self, BenchEngineCommand.self,
    CompletionsCommand.self, VersionCommand.self,
  ]

  /// Processes that other commands start. They can be called by hand, and are not in the overview.
  package static let processes: [any Command.Type] = [
    BenchServerCommand.self, BenchClientCommand.self,
  ]

  private let environment: [String: String]

  package init(environment: [String: String]) { self.environment = environment }

  /// - Parameter words: the command line without the program's name.
  package func run(_ words: [String]) async -> ExitStatus {
    switch words.first {
    case nil:
      Terminal.errors.write(overview(style: Terminal.errors.style))
      return .usage
    case "--help", "-h", "help":
      return showHelp(of: Array(words.dropFirst()))
    case "--version":
      return await run(["version"])
    default:
      guard let command = Self.command(named: words) else { return refuseUnknown(words) }
      return await run(command, Array(words.dropFirst(command.help.words.count)))
    }
  }

  private func run(_ command: any Command.Type, _ words: [String]) async -> ExitStatus {
    let name = command.help.name
    do {
      let parser = ArgumentParser(help: command.help, environment: environment)
      guard let arguments = try parser.parse(words) else { return showHelp(of: command) }
      return try await command.run(arguments)
    } catch let error as UsageError {
      complain(name, "\(error.message)\nSee: fieldcast \(name) --help")
      return error.status
    } catch let failure as CommandFailure {
      complain(name, failure.message)
      return failure.status
    } catch {
      complain(name, "This should not happen, and is a fault of Fieldcast: \(error)")
      return .internalError
    }
  }

  private static func command(named words: [String]) -> (any Command.Type)? {
    (commands + processes).first { words.starts(with: $0.help.words) }
  }

  private func showHelp(of words: [String]) -> ExitStatus {
    guard !words.isEmpty else {
      Terminal.output.write(overview(style: Terminal.output.style))
      return .success
    }
    guard let command = Self.command(named: words) else { return refuseUnknown(words) }
    return showHelp(of: command)
  }

  private func showHelp(of command: any Command.Type) -> ExitStatus {
    Terminal.output.write(HelpText(style: Terminal.output.style).help(of: command.help))
    return .success
  }

  private func refuseUnknown(_ words: [String]) -> ExitStatus {
    let group = Self.commands.filter { $0.help.words.count > 1 && $0.help.words[0] == words[0] }
    guard group.isEmpty || words.count > 1 && !words[1].hasPrefix("-") else {
      // `fieldcast trace` alone: the commands of that group are what one wants to see.
      Terminal.errors.write(HelpText(style: Terminal.errors.style).overview(of: group))
      return words.contains("--help") || words.contains("-h") ? .success : .usage
    }
    let written = words.prefix(group.isEmpty ? 1 : 2).joined(separator: " ")
    let known = Self.commands.map { $0.help.name }
    let nearest = Spelling.nearest(to: written, among: known)
    let hint = nearest.map { " Did you mean fieldcast \($0)?" } ?? ""
    complain("", "there is no command \(written).\(hint)\nSee: fieldcast --help")
    return .usage
  }

  private func overview(style: Style) -> String {
    HelpText(style: style).overview(of: Self.commands)
  }

  private func complain(_ command: String, _ message: String) {
    let prefix = command.isEmpty ? "fieldcast:" : "fieldcast \(command):"
    Terminal.errors.writeLine("\(Terminal.errors.style.error(prefix)) \(message)")
  }
}
