import JSON

/// How much a trigger may be.
package enum TriggerLimits {
  /// Bytes of one trigger as JSON.
  package static let bytes = 16_384
  /// Triggers in one batch.
  package static let batchCount = 1_000
  /// Bytes of a batch.
  package static let batchBytes = 1_048_576
  /// Bytes of a place's name as it comes; the activity type cuts or refuses what its card cannot
  /// show.
  package static let placeBytes = 1_024
}

extension Trigger {
  /// Reads one trigger from JSON, by whatever door it came.
  ///
  /// A note is `{"id", "trip", "member"?, "place"?, "capturedAt"?, "significant"?, "sequence"?,
  /// "fields"?}`, a whole state `{"id", "trip", "contentState", …}`, a phase change
  /// `{"id", "trip", "phase", "fields"?, …}`, an end `{"id", "trip", "contentState"?,
  /// "dismissal"?, …}`; the three take `"occurredAt"`, `"significant"` and `"sequence"`. Each takes
  /// the `"traceparent"` of its caller's trace.
  ///
  /// - Parameters:
  ///   - kind: what the door says it is. Nil believes a member `"kind"`, and takes what has none
  ///     for a note.
  ///   - trip: what the address says; the body may then leave `"trip"` out, but not name another.
  ///   - fallbackID: taken if the body has no `"id"`, as when the caller gave an idempotency key.
  package static func read(
    _ bytes: [UInt8], kind: Kind? = nil, trip: TripID? = nil, fallbackID: TriggerID? = nil
  ) throws(Refusal) -> Trigger {
    let value: JSONValue
    do throws(JSONError) {
      value = try JSONValue.parse(bytes, limits: JSONLimits(maxBytes: TriggerLimits.bytes))
    } catch {
      throw Refusal(error)
    }
    return try read(value, kind: kind, trip: trip, fallbackID: fallbackID)
  }

  /// Reads one trigger, or a batch as an array or under `"notes"`; each is judged by itself.
  ///
  /// - Throws: what concerns the whole: no JSON, no batch, empty, too many.
  package static func readBatch(
    _ bytes: [UInt8], kind: Kind? = nil, trip: TripID? = nil
  ) throws(Refusal) -> [Result<Trigger, Refusal>] {
    try readMessage(bytes, kind: kind, trip: trip).triggers
  }

  /// Like ``readBatch(_:kind:trip:)``.
  ///
  /// - Returns: also whether the bytes are one trigger and no batch, and may be kept in place of
  ///   what ``written()`` makes of it.
  package static func readMessage(
    _ bytes: [UInt8], kind: Kind? = nil, trip: TripID? = nil
  ) throws(Refusal) -> (triggers: [Result<Trigger, Refusal>], isOneTrigger: Bool) {
    let value: JSONValue
    do throws(JSONError) {
      value = try JSONValue.parse(bytes, limits: JSONLimits(maxBytes: TriggerLimits.batchBytes))
    } catch {
      throw Refusal(error)
    }
    if let elements = value.array {
      return (try readAll(elements, kind: kind, trip: trip, at: ""), false)
    }
    if let notes = value["notes"], value.object?.count == 1 {
      guard let elements = notes.array else {
        throw Refusal(
          Problem(.wrongType, at: "/notes", "Expected an array, found \(found(notes))."))
      }
      return (try readAll(elements, kind: kind, trip: trip, at: "/notes"), false)
    }
    return (
      [result(value, kind: kind, trip: trip, at: "")], bytes.count <= TriggerLimits.bytes
    )
  }

  private static func readAll(
    _ elements: [JSONValue], kind: Kind?, trip: TripID?, at path: String
  ) throws(Refusal) -> [Result<Trigger, Refusal>] {
    guard (1...TriggerLimits.batchCount).contains(elements.count) else {
      throw Refusal(
        Problem(
          elements.isEmpty ? .badValue : .tooLarge, at: path,
          "Expected 1 to \(TriggerLimits.batchCount) triggers, found \(elements.count)."))
    }
    return elements.enumerated().map { index, element in
      result(element, kind: kind, trip: trip, at: pointer(path, String(index)))
    }
  }

  private static func result(
    _ value: JSONValue, kind: Kind?, trip: TripID?, at path: String
  ) -> Result<Trigger, Refusal> {
    do throws(Refusal) {
      return .success(try read(value, kind: kind, trip: trip, at: path))
    } catch {
      return .failure(error)
    }
  }

  static func read(
    _ value: JSONValue, kind: Kind?, trip: TripID?, fallbackID: TriggerID? = nil,
    at path: String = ""
  ) throws(Refusal) -> Trigger {
    var reader = ObjectReader(value, at: path)
    let kind = readKind(&reader, expecting: kind)
    let id = reader.id("id", as: TriggerID.self, isRequired: fallbackID == nil) ?? fallbackID
    let trip = readTrip(&reader, expecting: trip)
    let occurredAt = reader.date(kind == .note ? "capturedAt" : "occurredAt")
    let sequence = reader.integer("sequence", in: 0...Int64.max)
    let isSignificant = reader.bool("significant") ?? false
    let trace = reader.string("traceparent", bytes: 0...512)
    let effect = readEffect(&reader, kind)
    if let refusal = Refusal(reader.finish()) { throw refusal }
    guard let id, let trip, let effect else {
      preconditionFailure("a trigger without problems has all of its required members")
    }
    return Trigger(
      id: id, trip: trip, effect: effect, isSignificant: isSignificant, sequence: sequence,
      occurredAt: occurredAt, trace: trace.flatMap { TraceContext(traceparent: $0) })
  }

  private static func readKind(_ reader: inout ObjectReader, expecting kind: Kind?) -> Kind {
    guard reader.has("kind") else {
      _ = reader.value("kind")
      return kind ?? .note
    }
    let choices = kind.map { [$0.rawValue] } ?? Kind.allCases.map(\.rawValue)
    let named = reader.choice("kind", among: choices).flatMap(Kind.init(rawValue:))
    return kind ?? named ?? .note
  }

  private static func readTrip(_ reader: inout ObjectReader, expecting trip: TripID?) -> TripID? {
    let named = reader.identifier("trip") { (text) throws(IdentifierError) in try TripID(text) }
    guard let trip else {
      if named == nil, !reader.has("trip") { _ = reader.value("trip", isRequired: true) }
      return named
    }
    if let named, named != trip {
      reader.add(.wrongTrip, "trip", "The address names the trip \(trip), the body \(named).")
    }
    return trip
  }

  private static func readEffect(_ reader: inout ObjectReader, _ kind: Kind) -> Effect? {
    switch kind {
    case .note:
      return .note(
        Note(
          member: reader.id("member", as: MemberID.self),
          place: reader.string("place", bytes: 1...TriggerLimits.placeBytes),
          fields: reader.object("fields") ?? [:]))
    case .state:
      return reader.contentState(isRequired: true).map(Effect.state)
    case .phase:
      let phase = reader.string("phase", isRequired: true, bytes: 1...64)
      let fields = reader.object("fields") ?? [:]
      return phase.map { .phase(PhaseChange(phase: $0, fields: fields)) }
    case .end:
      return .end(
        EndOfTrip(finalState: reader.contentState(), dismissal: reader.dismissal("dismissal")))
    }
  }
}

extension ObjectReader {
  /// A content-state as an object, not yet held against an activity type.
  mutating func contentState(isRequired: Bool = false) -> JSONText? {
    guard let value = value("contentState", isRequired: isRequired) else { return nil }
    guard value.object != nil else {
      add(.wrongType, "contentState", "Expected an object, found \(found(value)).")
      return nil
    }
    return JSONText(value)
  }

  /// `"default"`, `"atOnce"`, or seconds after the end.
  mutating func dismissal(_ key: String) -> Dismissal? {
    guard let value = value(key) else { return nil }
    if value.string == "default" { return .systemDefault }
    if value.string == "atOnce" { return .atOnce }
    guard let seconds = value.int64 else {
      add(
        .wrongType, key,
        "Expected \"default\", \"atOnce\" or whole seconds after the end, found \(found(value)).")
      return nil
    }
    do throws(IdentifierError) {
      return try Dismissal.checked(after: .seconds(max(-1, min(seconds, 1_000_000_000))))
    } catch {
      let unit =
        seconds >= 1_000_000_000
        ? " It looks like a date: give the seconds between the end and the dismissal." : ""
      add(.badTime, key, error.message + unit)
      return nil
    }
  }
}
