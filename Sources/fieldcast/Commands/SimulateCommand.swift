/// `fieldcast simulate`: an APNs of one's own.
package enum SimulateCommand: Command {
  package static let help = CommandHelp(
    "simulate", summary: "Runs an APNs simulator with virtual phones",
    discussion: "", examples: ["fieldcast simulate"],
    statuses: [.unavailable, .cannotCreate])

  package static func run(_ arguments: ParsedArguments) async throws -> ExitStatus {
    throw CommandFailure(.unavailable, "The simulator is not part of this build.")
  }
}
