internal import JSON
internal import LoadHarness

/// `fieldcast config show`: every setting of a service with its value, and where that came from.
package enum ConfigShowCommand: Command {
  static let json = Option<Bool>.flag("json", help: "Writes the settings as a JSON object.")

  package static let help = CommandHelp(
    "config", "show", summary: "Shows the settings of a service, and where each comes from",
    discussion: """
      Reads settings as `fieldcast serve` does: the command line wins over the environment, that \
      over the file, and that over the default. Passwords in URLs are masked.
      """,
    options: ServeCommand.options + [json.spec],
    examples: [
      "fieldcast config show --config deploy/fieldcast.json", "fieldcast config show --json",
    ],
    statuses: [.configuration])

  package static func run(_ arguments: ParsedArguments) async throws -> ExitStatus {
    let options = ServeCommand.options.filter { $0.name != ConfigurationFile.option.spec.name }
    if arguments[json] {
      let settings = options.map { option -> JSONValue in
        [
          "name": .string(option.name),
          "value": value(of: option, arguments).map { .string($0) } ?? .null,
          "source": .string(word(arguments.source(of: option))),
          "origin": .string("\(arguments.source(of: option))"),
          "environment": option.environment.map { .string($0) } ?? .null,
        ]
      }
      let answer: JSONValue = ["settings": .array(settings)]
      Terminal.output.writeLine(answer.serializedText)
      return .success
    }
    let style = Terminal.output.style
    let widest = options.map(\.name.count).max() ?? 0
    for option in options {
      let source = arguments.source(of: option)
      let text = value(of: option, arguments) ?? "-"
      let line = Text.fitted(option.name, columns: widest + 2) + text
      let gap = String(repeating: " ", count: max(2, widest + 32 - line.count))
      Terminal.output.writeLine(
        source == .fallback ? style.faint(line) : line + gap + style.faint("\(source)"))
    }
    return .success
  }

  private static func value(of option: OptionSpec, _ arguments: ParsedArguments) -> String? {
    let text = arguments.text(of: option)
    if option.isFlag { return text.map { $0 == "1" ? "on" : $0 } ?? "off" }
    return text.map(masked)
  }

  private static func word(_ source: ValueSource) -> String {
    switch source {
    case .flag: "flag"
    case .environment: "environment"
    case .file: "file"
    case .fallback: "default"
    }
  }

  /// A URL without its password: `redis://user:***@host`.
  static func masked(_ text: String) -> String {
    guard let scheme = text.firstRange(of: "://") else { return text }
    let rest = text[scheme.upperBound...]
    let authority = rest.prefix { $0 != "/" && $0 != "?" }
    // A password may hold an unescaped @: the last one ends it.
    guard let at = authority.lastIndex(of: "@"),
      let colon = authority[..<at].firstIndex(of: ":")
    else { return text }
    return text[..<rest.index(after: colon)] + "***" + text[at...]
  }
}
