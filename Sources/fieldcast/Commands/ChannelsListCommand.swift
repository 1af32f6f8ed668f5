internal import JSON
internal import LoadHarness

/// `fieldcast channels list`: what an app's channels are for.
package enum ChannelsListCommand: Command {
  package static let help = CommandHelp(
    "channels", "list", summary: "Shows how many channels each app uses, and for what",
    discussion: """
      Counts an app's broadcast channels against its quota: those of trips, those kept warm for \
      later trips, those that wait for their deletion, and those at APNs that this service does \
      not know, as of the last reconciliation. Then by age.
      """,
    options: [
      ServiceCaller.service.spec, ChannelsOutput.token.spec, ChannelsOutput.json.spec,
    ],
    examples: ["fieldcast channels list", "fieldcast channels list --json"],
    statuses: [.badInput, .unavailable, .configuration])

  package static func run(_ arguments: ParsedArguments) async throws -> ExitStatus {
    let answer = try await ServiceCaller.ask(
      arguments, token: arguments[ChannelsOutput.token], scope: "admin", "GET", "/v1/channels")
    ChannelsOutput.write(answer, asJSON: arguments[ChannelsOutput.json], text)
    return .success
  }

  private static func text(of app: JSONValue, _ style: Style) -> [String] {
    func count(_ name: String) -> Int64 { app[name]?.int64 ?? 0 }
    let forTrips = count("inBooks") - count("warm") - count("awaitingDeletion")
    let rows: [(String, Int64)] = [
      ("of trips", forTrips), ("warm", count("warm")), ("being created", count("beingCreated")),
      ("await deletion", count("awaitingDeletion")), ("not known here", count("foreign")),
    ]
    var lines = [
      ChannelsOutput.heading(of: app, style)
        + "  \(count("used")) of \(count("limit")) channels, \(app["level"]?.string ?? "")"
    ]
    lines += rows.map { "  " + Text.fitted($0.0, columns: 18) + "\($0.1)" }
    for age in app["ages"]?.array ?? [] where age["channels"]?.int64 != 0 {
      let name = age["underHours"]?.int64.map { "under \($0) h old" } ?? "older"
      lines.append("  " + Text.fitted(name, columns: 18) + "\(age["channels"]?.int64 ?? 0)")
    }
    return lines
  }
}
