/// Scripts by which shells complete our command lines, made from the commands' own declarations.
struct Completions {
  private let commands: [CommandHelp]

  init(of commands: [CommandHelp]) { self.commands = commands }

  /// Words that may follow each beginning of a command: `trips` → `explain`.
  private var next: [(words: String, choices: [String])] {
    var order: [String] = []
    var choices: [String: [String]] = [:]
    for command in commands {
      for count in command.words.indices {
        let before = command.words[..<count].joined(separator: " ")
        if choices[before] == nil { order.append(before) }
        if choices[before]?.contains(command.words[count]) != true {
          choices[before, default: []].append(command.words[count])
        }
      }
    }
    return order.map { ($0, choices[$0] ?? []) }
  }

  // MARK: bash, and zsh by its ways

  var bash: String {
    """
    # Completion of fieldcast's commands, options and values.
    _fieldcast() {
      local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]}
      local command="" words="" index
      for ((index = 1; index < COMP_CWORD; index++)); do
        case "$command ${COMP_WORDS[index]}" in
          \(beginnings)) command="${command:+$command }${COMP_WORDS[index]}" ;;
          *) break ;;
        esac
      done
      case "$command $previous" in
    \(values)
      esac
      case "$command" in
    \(words)
      esac
      COMPREPLY=($(compgen -W "$words" -- "$current"))
      if [[ ${#COMPREPLY[@]} -eq 0 && $current != -* ]]; then
        COMPREPLY=($(compgen -f -- "$current"))
      fi
    }
    complete -o filenames -F _fieldcast fieldcast

    """
  }

  var zsh: String { "autoload -Uz bashcompinit && bashcompinit\n" + bash }

  private var beginnings: String {
    let all = next.flatMap { before, choices in choices.map { "\"\(before) \($0)\"" } }
    return all.joined(separator: " | ")
  }

  private var values: String {
    commands.flatMap { command in
      command.options.compactMap { option -> String? in
        guard !option.isFlag else { return nil }
        let reply: String
        if !option.choices.isEmpty {
          reply = "$(compgen -W \"\(option.choices.joined(separator: " "))\" -- \"$current\")"
        } else if option.namesFile {
          reply = "$(compgen -f -- \"$current\")"
        } else {
          reply = ""
        }
        return "    \"\(command.name) --\(option.name)\") COMPREPLY=(\(reply)); return ;;"
      }
    }.joined(separator: "\n")
  }

  private var words: String {
    let groups = next.map { before, choices in
      (before, choices + (before.isEmpty ? ["--help", "--version"] : []))
    }
    let options = commands.map { command in
      (command.name, command.options.map { "--\($0.name)" } + ["--help"])
    }
    return (groups + options).map { "    \"\($0)\") words=\"\($1.joined(separator: " "))\" ;;" }
      .joined(separator: "\n")
  }

  // MARK: fish

  var fish: String {
    var lines = [
      "# Completion of fieldcast's commands, options and values.",
      "function __fieldcast_at",
      "  set -l words (commandline -opc)",
      "  set -l wanted (string split ' ' -- $argv[1])",
      "  test (count $wanted) -eq 1 -a -z \"$wanted[1]\"; and set wanted",
      "  for index in (seq (count $wanted))",
      "    test \"$words[(math $index + 1)]\" = \"$wanted[$index]\"; or return 1",
      "  end",
      "  set -l following $words[(math (count $wanted) + 2)]",
      "  not contains -- \"$following\" $argv[2..-1]",
      "end",
      "complete -c fieldcast -f",
    ]
    for (before, choices) in next {
      let condition = "__fieldcast_at \(Self.quoted(before)) \(choices.joined(separator: " "))"
      for choice in choices {
        let name = before.isEmpty ? choice : "\(before) \(choice)"
        let summary = commands.first { $0.name == name }?.summary ?? "More commands"
        lines.append(
          "complete -c fieldcast -n \(Self.quoted(condition)) -a \(choice) -d "
            + Self.quoted(summary))
      }
    }
    for command in commands {
      let condition = Self.quoted("__fieldcast_at \(Self.quoted(command.name))")
      lines += command.options.map { option in
        var line = "complete -c fieldcast -n \(condition) -l \(option.name)"
        if !option.isFlag { line += option.namesFile ? " -r -F" : " -x" }
        if !option.choices.isEmpty {
          line += " -a \(Self.quoted(option.choices.joined(separator: " ")))"
        }
        let sentence = option.help.prefix { $0 != "." && $0 != ":" && $0 != ";" }
        return line + " -d " + Self.quoted(String(sentence))
      }
    }
    return lines.joined(separator: "\n") + "\n"
  }

  private static func quoted(_ text: String) -> String {
    "'" + text.replacing("\\", with: "\\\\").replacing("'", with: "\\'") + "'"
  }
}

extension OptionSpec {
  /// Whether its value is the path of something.
  fileprivate var namesFile: Bool {
    placeholder?.contains("FILE") == true || placeholder?.contains("FOLDER") == true
  }
}
