internal import FieldTrips
internal import JSON
internal import TripStore

/// Holds the activity types of a service that starts against those that trips in the store were
/// made with.
struct TypeChanges {
  let store: TripStore
  let log: ServiceLog

  /// - Parameter isAccepted: whether changes that running trips may not survive are only logged.
  /// - Throws: when there are such changes, all of them.
  func check(_ types: [ActivityType], isAccepted: Bool) async throws {
    let known = try await store.typeDefinitions()
    var problems: [String] = []
    let current = types.map { ($0, $0.definition.json.serialized()) }
    for (type, now) in current {
      guard let bytes = known[type.name], bytes != now else { continue }
      guard let old = definition(type.name, bytes) else { continue }
      let found = old.problemsOfChange(to: type.definition)
      problems += found.map { "\(type.name)\($0.path): \($0.message)" }
      log.info("an activity type has changed", ["type": type.name])
    }
    if !problems.isEmpty, !isAccepted {
      throw StartFailure(
        "Activity types have changed in ways that trips which run may not survive:\n  "
          + problems.joined(separator: "\n  ")
          + "\nUndo that, or give the changed type another name. When no trip of the old kind is "
          + "left, start once with --accept-type-changes.")
    }
    for problem in problems { log.warning("a change of a type is accepted", ["change": problem]) }
    try await store.remember(
      typeDefinitions: Dictionary(uniqueKeysWithValues: current.map { ($0.name, $1) }))
  }

  private func definition(_ name: String, _ bytes: [UInt8]) -> ActivityTypeDefinition? {
    do {
      return try ActivityTypeDefinition.read(
        try JSONValue.parse(bytes, limits: ActivityTypeFile.limits), named: name)
    } catch {
      log.warning(
        "what an activity type was cannot be read, so its change is not checked",
        ["type": name, "reason": "\(error)"])
      return nil
    }
  }
}
