internal import FieldTrips
internal import JSON

/// `fieldcast trips explain`: why a phone shows an old number.
package enum TripsExplainCommand: Command {
  static let token = ServiceCaller.token(for: "trips")
  static let last = Option<Int>.integer(
    "last", in: 1...64, unit: "broadcasts", default: 8, help: "How many broadcasts are shown.")
  static let json = Option<Bool>.flag(
    "json", help: "Writes the service's answer, a JSON object, with all that is kept.")

  package static let help = CommandHelp(
    "trips", "explain", summary: "Explains what the phones of a trip show, and why",
    discussion: """
      Says which revision phones have, what waits and for what, and of the last broadcasts when \
      each went out, what APNs answered, and which notes it carried, with the time that each had \
      waited and the reason. Times of day are UTC.

      The last 64 broadcasts of a trip are kept, and of each the first 4 and the last 12 notes. \
      They outlive a restart of the service. Which notes wait is kept too when the service is \
      stopped; when it is killed, only their number is.
      """,
    positionals: [
      CommandHelp.Positional("TRIP", help: "The trip's ID, as its creation answered it.")
    ],
    options: [ServiceCaller.service.spec, token.spec, last.spec, json.spec],
    examples: [
      "fieldcast trips explain fe1c5ddc-f9f9-473b-841e-58b541e739fa",
      "fieldcast trips explain fe1c5ddc-f9f9-473b-841e-58b541e739fa --last 1",
      "fieldcast trips explain fe1c5ddc-f9f9-473b-841e-58b541e739fa --json "
        + "--service 10.0.0.7:8080",
    ],
    statuses: [.badInput, .unavailable, .configuration])

  package static func run(_ arguments: ParsedArguments) async throws -> ExitStatus {
    let id: TripID
    do throws(IdentifierError) { id = try TripID(arguments.positionals[0]) } catch {
      throw CommandFailure(.badInput, error.message)
    }
    let answer = try await ServiceCaller.ask(
      arguments, token: arguments[token], scope: "trips", "GET", "/v1/trips/\(id)/timeline")
    if arguments[json] {
      Terminal.output.writeLine(answer.text)
    } else {
      let explanation = TripExplanation(
        answer.value, last: arguments[last], style: Terminal.output.style)
      Terminal.output.write(explanation.text)
    }
    return .success
  }
}
