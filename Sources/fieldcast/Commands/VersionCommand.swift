/// `fieldcast version`.
package enum VersionCommand: Command {
  /// Raised by hand with each release.
  package static let version = "0.1.0"

  package static let help = CommandHelp(
    "version", summary: "Shows the version", discussion: "",
    examples: ["fieldcast version"])

  package static func run(_ arguments: ParsedArguments) async throws -> ExitStatus {
    Terminal.output.writeLine("fieldcast \(version)")
    return .success
  }
}
