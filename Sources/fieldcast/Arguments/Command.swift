/// One command of the command line.
package protocol Command: Sendable {
  static var help: CommandHelp { get }
  /// - Throws: ``CommandFailure`` for what the person can act on; anything else is our fault.
  static func run(_ arguments: ParsedArguments) async throws -> ExitStatus
}

/// What a command is called, takes, and does: all that parser and help text need.
package struct CommandHelp: Sendable {
  /// The words after `fieldcast`: `["trace", "generate"]`.
  package let words: [String]
  /// One line for the overview, without a full stop.
  package let summary: String
  package let discussion: String
  package let positionals: [Positional]
  package let options: [OptionSpec]
  /// What else a person must know to write the options' values, as terms with their meaning.
  package let vocabularies: [Vocabulary]
  /// Whole command lines that work, the first of them the most usual.
  package let examples: [String]
  /// The exit statuses beyond success and usage.
  package let statuses: [ExitStatus]
  /// Whether it runs although the environment or the configuration file is wrong, to say so.
  package let reportsProblemsItself: Bool

  package init(
    _ words: String..., summary: String, discussion: String, positionals: [Positional] = [],
    options: [OptionSpec] = [], vocabularies: [Vocabulary] = [], examples: [String],
    statuses: [ExitStatus] = [], reportsProblemsItself: Bool = false
  ) {
    precondition(!examples.isEmpty, "the help of a command ends in an example")
    self.words = words
    self.summary = summary
    self.discussion = discussion
    self.positionals = positionals
    self.options = options
    self.vocabularies = vocabularies
    self.examples = examples
    self.statuses = statuses
    self.reportsProblemsItself = reportsProblemsItself
  }

  /// The words of an option's little language.
  package struct Vocabulary: Sendable {
    package let heading: String
    package let terms: [(term: String, meaning: String)]

    package init(_ heading: String, _ terms: [(term: String, meaning: String)]) {
      self.heading = heading
      self.terms = terms
    }
  }

  package var name: String { words.joined(separator: " ") }

  /// An argument that is known by its position.
  package struct Positional: Sendable {
    package let placeholder: String
    package let help: String
    package let isRequired: Bool

    package init(_ placeholder: String, required: Bool = true, help: String) {
      self.placeholder = placeholder
      self.help = help
      isRequired = required
    }
  }
}
