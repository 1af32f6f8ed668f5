/// One setting of a command: how it is written, what it may be, and what it is if nobody says.
///
/// Its value comes from the command line, else from its environment variable, else from the
/// command's ``ConfigurationFile``, if it takes one, else it is the default. An option is declared
/// once, as a static property of its command; the same declaration parses, checks, completes the
/// help text, and reads: `arguments[DemoCommand.speed]`.
package struct Option<Value: Sendable>: Sendable {
  package let spec: OptionSpec
  fileprivate let read: @Sendable (String) -> Value?
  fileprivate let fallback: Value

  fileprivate init(
    _ spec: OptionSpec, fallback: Value, read: @escaping @Sendable (String) -> Value?
  ) {
    var spec = spec
    spec.accepts = { read($0) != nil }
    self.spec = spec
    self.read = read
    self.fallback = fallback
  }

  /// The value of a checked text, or the default for none.
  func value(of text: String?) -> Value {
    guard let text else { return fallback }
    guard let value = read(text) else {
      preconditionFailure("--\(spec.name) was not checked before it was read")
    }
    return value
  }
}

/// What parser and help need to know of an option, whatever its type.
package struct OptionSpec: Sendable {
  package let name: String
  /// How a value is called in the help; nil for a flag, which takes none.
  package let placeholder: String?
  package let help: String
  package let environment: String?
  /// The default as the help shows it.
  package let defaultText: String?
  /// What a value must be, for the help and for whoever wrote another.
  package let expected: String
  /// All values that there are, where they can be listed.
  fileprivate(set) var choices: [String] = []
  fileprivate(set) var accepts: @Sendable (String) -> Bool = { _ in true }

  var isFlag: Bool { placeholder == nil }
}

extension Option where Value == Bool {
  /// On where it is named. In the environment: 1, true, yes, on, or 0, false, no, off.
  package static func flag(_ name: String, environment: String? = nil, help: String) -> Option {
    Option(
      OptionSpec(
        name: name, placeholder: nil, help: help, environment: environment, defaultText: nil,
        expected: "1 or 0"),
      fallback: false
    ) { text in
      switch text.lowercased() {
      case "1", "true", "yes", "on": true
      case "0", "false", "no", "off": false
      default: nil
      }
    }
  }
}

extension Option where Value == Double {
  package static func number(
    _ name: String, in range: ClosedRange<Double>, unit: String, default fallback: Double,
    environment: String? = nil, help: String
  ) -> Option {
    let (low, high) = (short(range.lowerBound), short(range.upperBound))
    return Option(
      OptionSpec(
        name: name, placeholder: "NUMBER", help: help, environment: environment,
        defaultText: short(fallback), expected: "\(low)...\(high) \(unit)"),
      fallback: fallback
    ) { text in
      Double(text).flatMap { range.contains($0) ? $0 : nil }
    }
  }

  private static func short(_ number: Double) -> String {
    number == number.rounded() && abs(number) < 1e15 ? String(Int64(number)) : String(number)
  }
}

extension Option where Value == Int {
  package static func integer(
    _ name: String, in range: ClosedRange<Int>, unit: String, default fallback: Int,
    environment: String? = nil, help: String
  ) -> Option {
    Option(
      OptionSpec(
        name: name, placeholder: "N", help: help, environment: environment,
        defaultText: String(fallback),
        expected: written(range, unit)),
      fallback: fallback
    ) { text in
      Int(text).flatMap { range.contains($0) ? $0 : nil }
    }
  }
}

extension Option where Value == String {
  package static func text(
    _ name: String, _ placeholder: String, default fallback: String, environment: String? = nil,
    help: String
  ) -> Option {
    Option(
      OptionSpec(
        name: name, placeholder: placeholder, help: help, environment: environment,
        defaultText: fallback, expected: "a text that is not empty"),
      fallback: fallback
    ) { $0.isEmpty ? nil : $0 }
  }

  package static func choice(
    _ name: String, among choices: [String], default fallback: String, environment: String? = nil,
    help: String
  ) -> Option {
    var spec = OptionSpec(
      name: name, placeholder: "WORD", help: help, environment: environment,
      defaultText: fallback, expected: "one of " + choices.joined(separator: ", "))
    spec.choices = choices
    return Option(spec, fallback: fallback) { choices.contains($0) ? $0 : nil }
  }
}

extension Option where Value == String? {
  /// A text that may be left out, with a sentence in `help` that says what happens then.
  package static func text(
    _ name: String, _ placeholder: String, environment: String? = nil, help: String
  ) -> Option {
    Option(
      OptionSpec(
        name: name, placeholder: placeholder, help: help, environment: environment,
        defaultText: nil, expected: "a text that is not empty"),
      fallback: nil
    ) { $0.isEmpty ? nil : .some($0) }
  }
}

extension Option where Value == Int? {
  /// A whole number that may be left out, with a sentence in `help` that says what happens then.
  package static func integer(
    _ name: String, in range: ClosedRange<Int>, unit: String, environment: String? = nil,
    help: String
  ) -> Option {
    Option(
      OptionSpec(
        name: name, placeholder: "N", help: help, environment: environment, defaultText: nil,
        expected: written(range, unit)),
      fallback: nil
    ) { text in
      guard let number = Int(text), range.contains(number) else { return nil }
      return .some(number)
    }
  }
}

private func written(_ range: ClosedRange<Int>, _ unit: String) -> String {
  let limits =
    range.upperBound == Int.max
    ? "\(range.lowerBound) or more" : "\(range.lowerBound)...\(range.upperBound)"
  return unit.isEmpty ? limits : "\(limits) \(unit)"
}
