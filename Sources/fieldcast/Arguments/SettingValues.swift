internal import JSON

/// Where the value of an option came from. Earlier ones win over later ones.
package enum ValueSource: Sendable, Equatable, CustomStringConvertible {
  case flag
  case environment(String)
  case file(String)
  case fallback

  package var description: String {
    switch self {
    case .flag: "command line"
    case .environment(let name): "environment \(name)"
    case .file(let path): "file \(path)"
    case .fallback: "default"
    }
  }
}

/// A value that cannot be used, and where it is.
package struct SettingProblem: Sendable, Equatable {
  package let source: ValueSource
  package let message: String
}

/// The values that were found for a command's options, as checked texts.
struct SettingValues: Sendable {
  private(set) var texts: [String: String] = [:]
  private(set) var sources: [String: ValueSource] = [:]
  private(set) var problems: [SettingProblem] = []

  /// One of the command line, which was checked.
  mutating func set(_ name: String, to text: String) {
    texts[name] = text
    sources[name] = .flag
  }

  mutating func fill(_ options: [OptionSpec], from environment: [String: String]) {
    for option in options where texts[option.name] == nil {
      // An empty variable is one that a script did not fill: as good as absent.
      guard let name = option.environment, let value = environment[name], !value.isEmpty else {
        continue
      }
      take(value, for: option, .environment(name), "\(name)=\(value)")
    }
  }

  /// Takes the values of a file: one JSON object whose members have the options' names.
  ///
  /// - Parameter file: nil when it cannot be read.
  mutating func fill(_ options: [OptionSpec], from file: [UInt8]?, at path: String) {
    let source = ValueSource.file(path)
    guard let file else {
      return refuse(source, "\(path) cannot be read.")
    }
    let value: JSONValue
    do throws(JSONError) { value = try JSONValue.parse(file) } catch {
      return refuse(source, "\(path) is not JSON: \(error.message)")
    }
    guard let object = value.object else {
      return refuse(source, "\(path): expected one JSON object.")
    }
    let known = options.filter { $0.name != ConfigurationFile.option.spec.name }
    for (key, value) in object.elements where !value.isNull {
      guard let option = known.first(where: { $0.name == key }) else {
        let nearest = Spelling.nearest(to: key, among: known.map(\.name))
        let hint = nearest.map { " Did you mean \"\($0)\"?" } ?? ""
        refuse(source, "\(path): there is no setting \"\(key)\".\(hint)")
        continue
      }
      guard let text = Self.text(of: value) else {
        refuse(
          source,
          "\(path): \"\(key)\" is no text, number, true or false: expected \(option.expected).")
        continue
      }
      // Checked also where it is overruled: it is wrong all the same.
      take(text, for: option, source, "\(path): \"\(key)\" \(text)")
    }
  }

  private mutating func take(
    _ text: String, for option: OptionSpec, _ source: ValueSource, _ name: String
  ) {
    guard option.accepts(text) else {
      return refuse(source, "\(name): expected \(option.expected).")
    }
    guard texts[option.name] == nil else { return }
    texts[option.name] = text
    sources[option.name] = source
  }

  private mutating func refuse(_ source: ValueSource, _ message: String) {
    problems.append(SettingProblem(source: source, message: message))
  }

  private static func text(of value: JSONValue) -> String? {
    switch value {
    case .string(let text): text
    case .number(let number): number.literal
    case .bool(let isOn): isOn ? "1" : "0"
    case .null, .array, .object: nil
    }
  }
}

/// The file that a command's settings may stand in.
enum ConfigurationFile {
  static let option = Option<String?>.text(
    "config", "FILE", environment: "FIELDCAST_CONFIG",
    help: """
      A JSON object with settings, by the names of these options: {"listen": "0.0.0.0:8080", \
      "budget": 60}. The environment wins over it, and the command line over both. Without it, \
      there is none.
      """)
}
