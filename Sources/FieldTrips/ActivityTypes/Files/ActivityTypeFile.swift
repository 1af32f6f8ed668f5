package import JSON

/// The activity types of a service, as a file names them:
///
/// ```json
/// {"builtIn": ["field-trip"], "default": "match", "types": {"match": {"attributesType": …}}}
/// ```
///
/// Without `builtIn` all that are built in stay; a type of the same name takes the place of one.
package struct ActivityTypeFile: Sendable, Equatable {
  /// The first is meant where a request names none.
  package let types: [ActivityType]

  /// Bytes and levels that a file may have.
  package static let limits = JSONLimits(maxBytes: 1 << 20, maxDepth: 32)

  /// - Throws: every problem by its path in the file: `/types/match/contentState/score`.
  package static func read(_ bytes: [UInt8]) throws(Refusal) -> ActivityTypeFile {
    let value: JSONValue
    do throws(JSONError) {
      value = try JSONValue.parse(bytes, limits: limits)
    } catch {
      throw Refusal(error)
    }
    return try read(value)
  }

  package static func read(_ value: JSONValue) throws(Refusal) -> ActivityTypeFile {
    var reader = ObjectReader(value)
    var types = reader.builtIn()
    let own =
      reader.members("types") { name, value, path, problems -> ActivityType? in
        do throws(Refusal) {
          return try ActivityType(.read(value, named: name, at: path))
        } catch {
          problems += error.problems
          return nil
        }
      } ?? []
    for type in own {
      if let place = types.firstIndex(where: { $0.name == type.name }) {
        types[place] = type
      } else {
        types.append(type)
      }
    }
    let preferred = reader.string("default", bytes: 1...64)
    // With a fault in a definition its name is missing here, and would be blamed for it.
    let isWhole = reader.problems.isEmpty
    if let preferred, isWhole, let place = types.firstIndex(where: { $0.name == preferred }) {
      types.insert(types.remove(at: place), at: 0)
    } else if let preferred, isWhole {
      reader.add(
        .unknownActivityType, "default",
        "There is no activity type \(quoted(preferred))."
          + suggestion(for: preferred, among: types.map(\.name)))
    } else if isWhole, types.isEmpty {
      reader.add(.missingField, "types", "No activity type is left: a service needs one.")
    }
    if let refusal = Refusal(reader.finish()) { throw refusal }
    return ActivityTypeFile(types: types)
  }

  /// A file that names these types and no others.
  package static func json(of types: [ActivityType]) -> JSONValue {
    var object = JSONObject()
    for type in types { object[type.name] = type.definition.json }
    return ["builtIn": [], "types": .object(object)]
  }
}

extension ObjectReader {
  fileprivate mutating func builtIn() -> [ActivityType] {
    guard let names = strings("builtIn") else { return ActivityType.builtIn }
    let known = ActivityType.builtIn.map(\.name)
    for name in names where !known.contains(name) {
      add(
        .unknownActivityType, "builtIn",
        "\(quoted(name)) is not built in.\(suggestion(for: name, among: known))")
    }
    return ActivityType.builtIn.filter { names.contains($0.name) }
  }
}
