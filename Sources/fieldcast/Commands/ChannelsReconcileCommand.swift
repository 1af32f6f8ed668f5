internal import JSON
internal import LoadHarness

/// `fieldcast channels reconcile`: Apple's list of channels against the service's.
package enum ChannelsReconcileCommand: Command {
  static let delete = Option<String?>.text(
    "delete-orphans", "IDS",
    help: """
      Deletes these of the orphans, separated by commas, for good. Without it nothing is deleted \
      that the service does not know.
      """)
  package static let help = CommandHelp(
    "channels", "reconcile", summary: "Compares APNs' list of channels with the service's",
    discussion: """
      Names the channels that APNs has and the service does not know (orphans), and those that it \
      knows and APNs does not (lost: a live trip gets a new one with its next broadcast). Orphans \
      may belong to another service that shares the app, so they are deleted only by their names. \
      Those that appeared while an answer of APNs was lost are marked: they are probably ours.
      """,
    options: [
      ServiceCaller.service.spec, ChannelsOutput.token.spec, delete.spec,
      ChannelsOutput.json.spec,
    ],
    examples: [
      "fieldcast channels reconcile",
      "fieldcast channels reconcile --delete-orphans 7KHukNj/bA/ejndNitauFw== --json",
    ],
    statuses: [.badInput, .unavailable, .configuration])

  package static func run(_ arguments: ParsedArguments) async throws -> ExitStatus {
    let wanted = arguments[delete].map { list -> JSONValue in
      ["delete": .array(list.split(separator: ",").map { .string(String($0)) })]
    }
    let answer = try await ServiceCaller.ask(
      arguments, token: arguments[ChannelsOutput.token], scope: "admin", "POST",
      "/v1/channels/reconcile",
      body: wanted?.serialized() ?? [], patience: .seconds(60))
    ChannelsOutput.write(answer, asJSON: arguments[ChannelsOutput.json], text)
    return .success
  }

  private static func text(of app: JSONValue, _ style: Style) -> [String] {
    func channels(_ name: String) -> [String] { app[name]?.array?.compactMap(\.string) ?? [] }
    let probablyOurs = channels("probablyOurs")
    var lines = [ChannelsOutput.heading(of: app, style)]
    for (name, title) in [
      ("orphans", "orphans"), ("lost", "lost"), ("undecided", "perhaps about to be recorded"),
      ("deleted", "deleted"),
    ] {
      let found = channels(name)
      lines.append("  " + Text.fitted(title, columns: 30) + "\(found.count)")
      lines += found.map {
        "    \($0)" + (probablyOurs.contains($0) ? style.faint("  probably ours") : "")
      }
    }
    return lines
  }
}
