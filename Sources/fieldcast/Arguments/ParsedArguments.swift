/// A command line that was found to be right: every value is there and checked.
package struct ParsedArguments: Sendable {
  /// The arguments known by their position, in order.
  package let positionals: [String]
  private let texts: [String: String]
  /// The process' environment, for commands with settings of their own.
  package let environment: [String: String]

  init(positionals: [String], texts: [String: String], environment: [String: String]) {
    self.positionals = positionals
    self.texts = texts
    self.environment = environment
  }

  package subscript<Value>(option: Option<Value>) -> Value {
    option.value(of: texts[option.spec.name])
  }

  /// Whether somebody named a value, on the command line or in the environment.
  package func isGiven<Value>(_ option: Option<Value>) -> Bool { texts[option.spec.name] != nil }
}

/// What is wrong with a command line; the message is for the person who wrote it.
package struct UsageError: Error, Equatable {
  package var message: String
}

/// Reads the words behind a command's name.
struct ArgumentParser {
  let help: CommandHelp
  let environment: [String: String]

  /// - Returns: nil when the help was asked for.
  func parse(_ words: [String]) throws(UsageError) -> ParsedArguments? {
    var positionals: [String] = []
    var texts: [String: String] = [:]
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
        try take(word, rest: &rest, into: &texts)
      }
    }
    try fillFromEnvironment(&texts)
    try checkCount(of: positionals)
    return ParsedArguments(positionals: positionals, texts: texts, environment: environment)
  }

  private func take(
    _ word: String, rest: inout ArraySlice<String>, into texts: inout [String: String]
  ) throws(UsageError) {
    let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
    let option = try option(named: String(parts[0]))
    if option.isFlag {
      guard parts.count == 1 else {
        throw UsageError(message: "--\(option.name) takes no value.")
      }
      texts[option.name] = "1"
      return
    }
    // A flag may be said twice, and scripts do; of two values one would be lost.
    guard texts[option.name] == nil else {
      throw UsageError(message: "--\(option.name) is given twice.")
    }
    guard let value = parts.count == 2 ? String(parts[1]) : rest.popFirst() else {
      throw UsageError(message: "--\(option.name) needs a value: expected \(option.expected).")
    }
    guard option.accepts(value) else {
      throw UsageError(message: "--\(option.name) \(value): expected \(option.expected).")
    }
    texts[option.name] = value
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

  private func fillFromEnvironment(_ texts: inout [String: String]) throws(UsageError) {
    for option in help.options where texts[option.name] == nil {
      // An empty variable is one that a script did not fill: as good as absent.
      guard let name = option.environment, let value = environment[name], !value.isEmpty else {
        continue
      }
      guard option.accepts(value) else {
        throw UsageError(message: "\(name)=\(value): expected \(option.expected).")
      }
      texts[option.name] = value
    }
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
