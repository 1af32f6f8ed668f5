/// `fieldcast serve`: one node of the service.
package enum ServeCommand: Command {
  package static let help = CommandHelp(
    "serve", summary: "Runs the service",
    discussion: "", examples: ["fieldcast serve"],
    statuses: [.unavailable, .configuration])

  package static func run(_ arguments: ParsedArguments) async throws -> ExitStatus {
    throw CommandFailure(.unavailable, "The service is not part of this build.")
  }
}
