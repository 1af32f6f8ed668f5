internal import FieldTrips
internal import JSON
internal import LoadHarness

/// `fieldcast policy`: the settings of publishing, and what follows from them.
package enum PolicyCommand: Command {
  static let json = Option<Bool>.flag("json", help: "Writes the settings as a JSON object.")

  package static let help = CommandHelp(
    "policy", summary: "Shows the settings of publishing, and how to choose them",
    discussion: """
      Lists every setting with its value, its range and what it does, and checks the ones that are \
      given. The same list is what `fieldcast serve` takes as --policy, or from FIELDCAST_POLICY.
      """,
    positionals: [
      CommandHelp.Positional(
        "LIST", required: false,
        help: """
          A profile (\(PublishingSettings.profiles.map(\.name).joined(separator: ", "))), \
          settings as NAME=VALUE, or both, separated by commas.
          """)
    ],
    options: [json.spec],
    examples: [
      "fieldcast policy", "fieldcast policy standard,overdraft=2",
      "fieldcast policy --json frequent",
    ],
    statuses: [.configuration])

  package static func run(_ arguments: ParsedArguments) async throws -> ExitStatus {
    let settings = try settings(from: arguments.positionals.first ?? "")
    Terminal.output.write(
      arguments[json]
        ? object(settings).serializedText + "\n" : text(settings, style: Terminal.output.style))
    return .success
  }

  static func settings(from list: String) throws(CommandFailure) -> PublishingSettings {
    var settings = PublishingSettings()
    do throws(PolicyError) { try settings.apply(list) } catch {
      throw CommandFailure(.configuration, "The publishing policy is wrong: \(error).")
    }
    return settings
  }

  private static func object(_ settings: PublishingSettings) -> JSONValue {
    var object = JSONObject()
    for setting in PublishingSettings.all {
      let value = setting.value(in: settings)
      object[setting.name] = JSONNumber(value).map(JSONValue.number) ?? .string(value)
    }
    return .object(object)
  }

  private static func text(_ settings: PublishingSettings, style: Style) -> String {
    let profiles = PublishingSettings.profiles.map {
      "  " + style.bold(Text.fitted($0.name, columns: 10)) + $0.meaning
    }
    let groups = PolicySetting.Group.allCases.map { group in
      let lines = PublishingSettings.all.filter { $0.group == group }.map { setting in
        let value = "  " + style.bold("\(setting.name)=\(setting.value(in: settings))")
        return value + style.faint("  \(setting.expected)") + "\n"
          + HelpText.wrapped(setting.meaning, columns: 74).map { "      " + $0 }
          .joined(separator: "\n")
      }
      return style.heading(group.rawValue) + "\n" + lines.joined(separator: "\n")
    }
    let sections =
      [style.heading("Profiles") + "\n" + profiles.joined(separator: "\n")] + groups
      + [style.heading("What follows") + "\n" + consequences(of: settings)]
    return sections.joined(separator: "\n\n") + "\n"
  }

  private static func consequences(of settings: PublishingSettings) -> String {
    let policy = settings.policy
    let refill = 3_600 / policy.budgetPerHour
    let lines = [
      "A token takes \(Text.fixed(refill, decimals: 0)) s: the longest wait of an ordinary change "
        + "is \(Text.span(seconds: refill * policy.maxWait)), where nothing is refused or owed.",
      "A channel makes at most \(settings.mostInAnHour) priority-10 broadcasts in any hour, and "
        + "its end.",
    ]
    return lines.flatMap { HelpText.wrapped($0, columns: 78) }.map { "  " + $0 }
      .joined(separator: "\n")
  }
}
