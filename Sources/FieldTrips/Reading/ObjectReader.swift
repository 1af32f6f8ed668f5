import Clocks
import JSON

/// Reads the members of a JSON object one by one, strictly, and collects what is wrong.
///
/// An optional member that is `null` counts as left out, as many clients write it. Members that
/// nobody asked for are refused by name in ``finish()``.
struct ObjectReader {
  let path: String
  private let object: JSONObject
  private var asked: [String] = []
  private(set) var problems: [Problem] = []

  init(_ value: JSONValue, at path: String = "") {
    self.path = path
    asked.reserveCapacity(12)
    if let object = value.object {
      self.object = object
    } else {
      object = JSONObject()
      problems = [Problem(.wrongType, at: path, "Expected an object, found \(found(value)).")]
    }
  }

  /// Whether the object has this member, and it is not null.
  func has(_ key: String) -> Bool {
    guard let value = object[key] else { return false }
    return !value.isNull
  }

  /// Any value, unchecked.
  mutating func value(_ key: String, isRequired: Bool = false) -> JSONValue? {
    asked.append(key)
    if let value = object[key], !value.isNull { return value }
    if isRequired, problems.first?.path != path || problems.first?.code != .wrongType {
      add(.missingField, key, "\"\(key)\" is required.")
    }
    return nil
  }

  /// - Parameter bytes: how many bytes of UTF-8 the text may have.
  mutating func string(
    _ key: String, isRequired: Bool = false, bytes: ClosedRange<Int> = 1...256
  ) -> String? {
    guard let text = typed(key, isRequired, "a string", \.string) else { return nil }
    let count = text.utf8.count
    guard bytes.contains(count) else {
      add(
        count > bytes.upperBound ? .tooLarge : .badValue, key,
        "Expected \(bytes.lowerBound) to \(bytes.upperBound) bytes of text, found \(count).")
      return nil
    }
    return text
  }

  mutating func bool(_ key: String) -> Bool? { typed(key, false, "true or false", \.bool) }

  mutating func integer(_ key: String, in range: ClosedRange<Int64>) -> Int64? {
    guard let number = typed(key, false, "a whole number", \.int64) else { return nil }
    guard range.contains(number) else {
      add(
        .badValue, key,
        "Expected a number from \(range.lowerBound) to \(range.upperBound), found \(number).")
      return nil
    }
    return number
  }

  /// Text that is one of these.
  mutating func choice(_ key: String, among choices: [String], isRequired: Bool = false) -> String?
  {
    guard let text = typed(key, isRequired, "a string", \.string) else { return nil }
    guard choices.contains(text) else {
      let all = choices.map { "\"\($0)\"" }.joined(separator: ", ")
      add(.badValue, key, "Expected one of \(all), found \(quoted(text)).")
      return nil
    }
    return text
  }

  mutating func object(_ key: String) -> JSONObject? { typed(key, false, "an object", \.object) }

  /// A date as RFC 3339 text or as seconds since 1970.
  mutating func date(_ key: String) -> UnixTime? {
    guard let value = value(key) else { return nil }
    do throws(DateText.Malformed) {
      if let text = value.string { return try DateText.parse(text) }
      if let seconds = value.double { return try DateReading.date(secondsSince1970: seconds) }
      add(
        .wrongType, key,
        "Expected a date as RFC 3339 text or seconds since 1970, found \(found(value)).")
    } catch {
      add(.badDate, key, error.message)
    }
    return nil
  }

  mutating func seconds(_ key: String, in range: ClosedRange<Int64>) -> Duration? {
    integer(key, in: range).map { .seconds($0) }
  }

  mutating func id<ID: CallerID>(_ key: String, as _: ID.Type, isRequired: Bool = false) -> ID? {
    identifier(key, isRequired: isRequired) { (text) throws(IdentifierError) in try ID(text) }
  }

  /// Text that a type of its own judges.
  mutating func identifier<Output>(
    _ key: String, isRequired: Bool = false,
    _ read: (String) throws(IdentifierError) -> Output
  ) -> Output? {
    guard let text = typed(key, isRequired, "a string", \.string) else { return nil }
    do throws(IdentifierError) {
      return try read(text)
    } catch {
      add(.badIdentifier, key, error.message)
      return nil
    }
  }

  /// Reads an object inside this one with a reader of its own.
  mutating func nested<Output>(
    _ key: String, _ read: (inout ObjectReader) -> Output?
  ) -> Output? {
    guard let value = value(key) else { return nil }
    var reader = ObjectReader(value, at: pointer(path, key))
    let output = read(&reader)
    let inner = reader.finish()
    problems += inner
    return inner.isEmpty ? output : nil
  }

  mutating func add(_ code: Problem.Code, _ key: String, _ message: String) {
    problems.append(Problem(code, at: pointer(path, key), message))
  }

  /// Adds problems of something inside, with their own paths.
  mutating func take(_ inner: [Problem]) { problems += inner }

  /// All problems, those of unknown members included.
  consuming func finish() -> [Problem] {
    for key in object.keys where !asked.contains(key) {
      add(
        .unknownField, key,
        "\(quoted(key)) is not known here.\(suggestion(for: key, among: asked))")
    }
    return problems
  }

  private mutating func typed<Output>(
    _ key: String, _ isRequired: Bool, _ expected: String,
    _ read: (JSONValue) -> Output?
  ) -> Output? {
    guard let value = value(key, isRequired: isRequired) else { return nil }
    if let output = read(value) { return output }
    add(.wrongType, key, "Expected \(expected), found \(found(value)).")
    return nil
  }
}

/// A value as a message names it; strings are cut, objects and arrays only counted.
func found(_ value: JSONValue) -> String {
  switch value {
  case .null: "null"
  case .bool(let bool): bool ? "true" : "false"
  case .number(let number): "the number " + String(number.literal.prefix(24))
  case .string(let text): "the string " + quoted(text)
  case .array(let elements): "an array of \(elements.count)"
  case .object: "an object"
  }
}
