/// A command line that was found to be right: every value is there and checked.
package struct ParsedArguments: Sendable {
  /// The arguments known by their position, in order.
  package let positionals: [String]
  private let values: SettingValues
  /// The process' environment, for commands with settings of their own.
  package let environment: [String: String]

  init(positionals: [String], values: SettingValues, environment: [String: String]) {
    self.positionals = positionals
    self.values = values
    self.environment = environment
  }

  package subscript<Value>(option: Option<Value>) -> Value {
    option.value(of: values.texts[option.spec.name])
  }

  /// An option that counts seconds.
  func duration(of option: Option<Double>) -> Duration {
    .nanoseconds(Int64(self[option] * 1e9))
  }

  /// Whether somebody named a value, on the command line, in the environment or in a file.
  package func isGiven<Value>(_ option: Option<Value>) -> Bool {
    values.texts[option.spec.name] != nil
  }

  /// An option's value as it was written, the default's text, or nil where there is neither.
  package func text(of option: OptionSpec) -> String? {
    values.texts[option.name] ?? option.defaultText
  }

  package func source(of option: OptionSpec) -> ValueSource {
    values.sources[option.name] ?? .fallback
  }

  /// What is wrong in the environment and the file, for a command that is about that.
  package var problems: [SettingProblem] { values.problems }
}

/// What is wrong with a command line; the message is for the person who wrote it.
package struct UsageError: Error, Equatable {
  package var message: String
  package var status = ExitStatus.usage
}

/// Reads the words behind a command's name.
struct ArgumentParser {
  let help: CommandHelp
  let environment: [String: String]
  /// Reads a configuration file.
  var readFile: (String) -> [UInt8]? = { InputFile.bytes(at: $0) }

  /// - Returns: nil when the help was asked for.
  func parse(_ words: [String]) throws(UsageError) -> ParsedArguments? {
    var positionals: [String] = []
    var values = SettingValues()
    var rest = words[...]
    var onlyPositionals = false
    while let word = rest.popFirst() {
      if onlyPositionals || !word.hasPrefix("-") || word == "-" {
        positionals.append(word)
      } else if word == "--" {
        onlyPositionals = true
      } else if word == "--help" || word == "-h" {
        return nil
      } else {
        try take(word, rest: &rest, into: &values)
      }
    }
    values.fill(help.options, from: environment)
    let file = ConfigurationFile.option.spec
    if help.options.contains(where: { $0.name == file.name }), let path = values.texts[file.name] {
      values.fill(help.options, from: readFile(path), at: path)
    }
    if !help.reportsProblemsItself { try refuse(values.problems) }
    try checkCount(of: positionals)
    return ParsedArguments(positionals: positionals, values: values, environment: environment)
  }

  private func take(
    _ word: String, rest: inout ArraySlice<String>, into values: inout SettingValues
  ) throws(UsageError) {
    let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
    let option = try option(named: String(parts[0]))
    if option.isFlag {
      guard parts.count == 1 else {
        throw UsageError(message: "--\(option.name) takes no value.")
      }
      values.set(option.name, to: "1")
      return
    }
    // A flag may be said twice, and scripts do; of two values one would be lost.
    guard values.texts[option.name] == nil else {
      throw UsageError(message: "--\(option.name) is given twice.")
    }
    guard let value = parts.count == 2 ? String(parts[1]) : rest.popFirst() else {
      throw UsageError(message: "--\(option.name) needs a value: expected \(option.expected).")
    }
    guard option.accepts(value) else {
      throw UsageError(message: "--\(option.name) \(value): expected \(option.expected).")
    }
    values.set(option.name, to: value)
  }

  private func option(named word: String) throws(UsageError) -> OptionSpec {
    if word.hasPrefix("--"), let option = help.options.first(where: { "--" + $0.name == word }) {
      return option
    }
    let known = help.options.map { "--" + $0.name } + ["--help"]
    let nearest = Spelling.nearest(to: word, among: known)
    throw UsageError(
      message: "there is no option \(word)." + (nearest.map { " Did you mean \($0)?" } ?? ""))
  }

  private func refuse(_ problems: [SettingProblem]) throws(UsageError) {
    guard !problems.isEmpty else { return }
    let isOfFile = problems.contains { if case .file = $0.source { true } else { false } }
    throw UsageError(
      message: problems.map(\.message).joined(separator: "\n"),
      status: isOfFile ? .configuration : .usage)
  }

  private func checkCount(of positionals: [String]) throws(UsageError) {
    let required = help.positionals.filter(\.isRequired)
    if positionals.count < required.count {
      let missing = required[positionals.count]
      throw UsageError(message: "\(missing.placeholder) is missing: \(missing.help)")
    }
    if positionals.count > help.positionals.count {
      throw UsageError(message: "\(positionals[help.positionals.count]) is one argument too many.")
    }
  }
}

/// Finds what a person may have meant.
enum Spelling {
  /// The nearest candidate, unless a third or more of it would have to be changed.
  static func nearest(to word: String, among candidates: [String]) -> String? {
    let ranked = candidates.map { (candidate: $0, distance: distance(word, $0)) }
    guard let best = ranked.min(by: { $0.distance < $1.distance }) else { return nil }
    let isNear = best.distance * 3 <= max(best.candidate.count, 6)
    let isBeginning = word.count >= 4 && best.candidate.hasPrefix(word)
    return isNear || isBeginning ? best.candidate : nil
  }

  /// Damerau and Levenshtein's count of insertions, deletions, exchanges and swaps of neighbours.
  static func distance(_ left: String, _ right: String) -> Int {
    let (left, right) = (Array(left), Array(right))
    var before: [Int] = []
    var previous = Array(0...right.count)
    for row in left.indices {
      var current = [row + 1]
      for column in right.indices {
        let cost = left[row] == right[column] ? 0 : 1
        var least = min(
          previous[column] + cost, previous[column + 1] + 1, current[column] + 1)
        if row > 0, column > 0, left[row] == right[column - 1], left[row - 1] == right[column] {
          least = min(least, before[column - 1] + 1)
        }
        current.append(least)
      }
      (before, previous) = (previous, current)
    }
    return previous[right.count]
  }
}
