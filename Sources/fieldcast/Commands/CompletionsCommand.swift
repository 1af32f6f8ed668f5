/// `fieldcast completions`: lets a shell complete commands, options and their values.
package enum CompletionsCommand: Command {
  package static let help = CommandHelp(
    "completions", summary: "Writes what a shell needs to complete command lines",
    discussion: """
      For bash put `source <(fieldcast completions bash)` into ~/.bashrc, for zsh the same with \
      zsh into ~/.zshrc behind compinit, and for fish `fieldcast completions fish | source` into \
      config.fish.
      """,
    positionals: [CommandHelp.Positional("SHELL", help: "bash, zsh or fish.")],
    examples: ["fieldcast completions bash", "fieldcast completions fish"],
    statuses: [.badInput])

  package static func run(_ arguments: ParsedArguments) async throws -> ExitStatus {
    let completions = Completions(of: CommandLineInterface.commands.map { $0.help })
    switch arguments.positionals[0] {
    case "bash": Terminal.output.write(completions.bash)
    case "zsh": Terminal.output.write(completions.zsh)
    case "fish": Terminal.output.write(completions.fish)
    case let shell:
      throw CommandFailure(.badInput, "\(shell) is none of bash, zsh and fish.")
    }
    return .success
  }
}
