/// The help texts, all made from the declarations of commands and options.
struct HelpText {
  let style: Style
  private static let columns = 80

  /// Every command with its summary.
  func overview(of commands: [any Command.Type]) -> String {
    let longest = commands.map { $0.help.name.count }.max() ?? 0
    let lines = commands.map { command in
      let name = command.help.name
      return "  " + style.bold(name) + String(repeating: " ", count: longest + 2 - name.count)
        + command.help.summary
    }
    return """
      Fieldcast keeps a group Live Activity true on every phone of the group.

      \(style.heading("Usage"))
        fieldcast COMMAND [OPTIONS]
        fieldcast COMMAND --help

      \(style.heading("Commands"))
      \(lines.joined(separator: "\n"))

      \(style.heading("Example"))
        fieldcast demo --once

      """
  }

  func help(of command: CommandHelp) -> String {
    let discussion = Self.wrapped(command.discussion, columns: Self.columns)
    var sections = [command.summary + ".", discussion.joined(separator: "\n")]
    sections.append(style.heading("Usage") + "\n  " + usage(of: command))
    if !command.positionals.isEmpty {
      sections.append(
        style.heading("Arguments") + "\n"
          + table(command.positionals.map { ($0.placeholder, $0.help) }))
    }
    let options = command.options.map { (written($0), explained($0)) }
    sections.append(
      style.heading("Options") + "\n" + table(options + [("--help", "Shows this text.")]))
    for vocabulary in command.vocabularies {
      sections.append(
        style.heading(vocabulary.heading) + "\n"
          + table(vocabulary.terms.map { ($0.term, $0.meaning) }))
    }
    let statuses = [ExitStatus.success] + command.statuses + [.usage]
    sections.append(
      style.heading("Exit status") + "\n"
        + table(
          statuses.sorted { $0.rawValue < $1.rawValue }.map { ("\($0.rawValue)", $0.meaning) }))
    let examples = command.examples.map(Self.shellLines).joined(separator: "\n")
    sections.append(
      style.heading(command.examples.count == 1 ? "Example" : "Examples") + "\n" + examples)
    return sections.filter { !$0.isEmpty }.joined(separator: "\n\n") + "\n"
  }

  func usage(of command: CommandHelp) -> String {
    let positionals = command.positionals.map {
      $0.isRequired ? " \($0.placeholder)" : " [\($0.placeholder)]"
    }
    return "fieldcast \(command.name)" + (command.options.isEmpty ? "" : " [OPTIONS]")
      + positionals.joined()
  }

  private func written(_ option: OptionSpec) -> String {
    "--\(option.name)" + (option.placeholder.map { " \($0)" } ?? "")
  }

  private func explained(_ option: OptionSpec) -> String {
    var text = option.help
    if !option.isFlag, !option.expected.hasPrefix("a text") {
      text += " \(option.expected.prefix(1).uppercased() + option.expected.dropFirst())."
    }
    if let fallback = option.defaultText { text += " Default: \(fallback)." }
    if let variable = option.environment { text += " Environment: \(variable)." }
    return text
  }

  /// Two columns, the second one wrapped. A term too long for its column has a line of its own.
  private func table(_ rows: [(term: String, text: String)]) -> String {
    let widest = rows.map(\.term.count).filter { $0 <= 24 }.max() ?? 0
    let indent = String(repeating: " ", count: widest + 4)
    let lines = rows.flatMap { row -> [String] in
      var wrapped = Self.wrapped(row.text, columns: Self.columns - indent.count).map { indent + $0 }
      let term = "  " + style.bold(row.term)
      if row.term.count > widest { return [term] + wrapped }
      let gap = String(repeating: " ", count: widest - row.term.count + 2)
      wrapped[0] = term + gap + wrapped[0].dropFirst(indent.count)
      return wrapped
    }
    return lines.joined(separator: "\n")
  }

  /// A command line as one may paste it, broken behind whole words where it is too long.
  private static func shellLines(_ example: String) -> String {
    "  " + wrapped(example, columns: columns - 6).joined(separator: " \\\n    ")
  }

  static func wrapped(_ text: String, columns: Int) -> [String] {
    var lines: [String] = [""]
    for word in text.split(whereSeparator: \.isWhitespace) {
      let last = lines[lines.count - 1]
      if last.isEmpty {
        lines[lines.count - 1] = String(word)
      } else if last.count + 1 + word.count <= columns {
        lines[lines.count - 1] = last + " " + word
      } else {
        lines.append(String(word))
      }
    }
    return lines
  }
}
