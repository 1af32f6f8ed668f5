internal import Clocks
internal import FieldTrips
internal import HTTP
internal import JSON
internal import TripStore

extension TripAPI {
  // MARK: POST /v1/trips/{trip}/notes

  /// Takes in one note or phase change, or a batch; 202 with each one's place in the log.
  ///
  /// In a batch each note is judged by itself; when some are not taken, the answer is 207 and says
  /// which and why.
  ///
  /// - Parameter caller: a member's notes are its own, said or not.
  func postNotes(
    _ request: HTTPRequest, trip text: String, by caller: Caller
  ) async -> HTTPResponse {
    await answering {
      let trip = try tripID(text)
      let read = try Trigger.readBatch(request.body, trip: trip).map(Self.takenByNotes)
        .map { try Self.own($0, of: caller) }
      let triggers = read.compactMap { try? $0.get().with(request.trace) }
      var outcomes = await intake.append(triggers)[...]
      let results = read.map { result in
        switch result {
        case .success(let trigger):
          return NoteResult(id: trigger.id, outcomes.popFirst(), of: trip)
        case .failure(let refusal): return NoteResult(refused: ProblemDocument(refusal))
        }
      }
      // One alone, or all for the same reason: the answer is that reason.
      if let problem = results[0].problem, results.allSatisfy({ $0.problem?.kind == problem.kind })
      {
        return problem.response
      }
      let isPartial = results.contains { $0.problem != nil }
      var writer = JSONWriter(reservingCapacity: 64 * results.count + 32)
      writer.object {
        $0.key("notes")
        $0.array { list in for result in results { list.object { result.write(to: &$0) } } }
      }
      return .json(isPartial ? 207 : 202, writer.finish())
    }
  }

  /// What replaces the whole state or ends the trip has an address, and a scope, of its own.
  private static func takenByNotes(
    _ read: Result<Trigger, Refusal>
  ) -> Result<Trigger, Refusal> {
    guard case .success(let trigger) = read else { return read }
    let place: String
    switch trigger.kind {
    case .note, .phase: return read
    case .state: place = "PUT …/content-state"
    case .end: place = "POST …/end"
    }
    return .failure(
      Refusal(
        Problem(
          .badValue, at: "/kind",
          "A trigger of the kind \"\(trigger.kind.rawValue)\" is sent to \(place).")))
  }

  /// A member hands in notes of its own, and does not move a trip to another phase.
  private static func own(
    _ read: Result<Trigger, Refusal>, of caller: Caller
  ) throws(ProblemError) -> Result<Trigger, Refusal> {
    guard let member = caller.member, case .success(let trigger) = read else { return read }
    guard case .note(var note) = trigger.effect else {
      throw ProblemError(
        ProblemDocument(.wrongScope, "A member's token is for notes, not for a change of phase."))
    }
    if let named = note.member { try caller.mayActAs(named) }
    note.member = member
    return .success(trigger.with(.note(note)))
  }

  // MARK: PUT /v1/trips/{trip}/content-state

  /// Replaces the whole content-state, by `If-Match` only if the trip is at that revision.
  func putContentState(_ request: HTTPRequest, trip text: String) async -> HTTPResponse {
    await answering {
      let trip = try tripID(text)
      let ifRevision = try readIfMatch(request.fields["if-match"])
      let trigger = try Trigger.read(request.body, kind: .state, trip: trip)
      if case .state(let state) = trigger.effect { try await check(state, of: trip) }
      return try await takeOne(trigger.with(request.trace), ifRevision: ifRevision)
    }
  }

  // MARK: POST /v1/trips/{trip}/end

  /// Ends the trip: final state, end event, dismissal; the channel is deleted after that.
  ///
  /// The body may be empty, and then ends the trip as it is. Ending twice is ending once.
  func endTrip(_ request: HTTPRequest, trip text: String) async -> HTTPResponse {
    await answering {
      let trip = try tripID(text)
      let trigger =
        request.body.isEmpty
        ? Trigger(id: .requestedEnd, trip: trip, effect: .end(Trigger.EndOfTrip()))
        : try Trigger.read(request.body, kind: .end, trip: trip)
      if case .end(let end) = trigger.effect, let state = end.finalState {
        try await check(state, of: trip)
      }
      return try await takeOne(trigger.with(request.trace), ifRevision: nil)
    }
  }

  /// A state that the phone could not decode is refused here, not when it is to be sent.
  private func check(_ state: JSONText, of trip: TripID) async throws {
    let record = try await record(of: trip)
    guard let type = settings.type(named: record.definition.typeName) else { return }
    let attributes = try JSONText(stored: record.definition.attributes)
    _ = try type.contentState(validating: state, attributes: attributes)
  }

  private func takeOne(_ trigger: Trigger, ifRevision: Revision?) async throws -> HTTPResponse {
    let outcome = await intake.append([trigger], ifRevision: ifRevision)[0]
    let result = NoteResult(id: trigger.id, outcome, of: trigger.trip)
    if let problem = result.problem { return problem.response }
    var writer = JSONWriter(reservingCapacity: 96)
    writer.object { result.write(to: &$0) }
    return .json(202, writer.finish())
  }

  private func readIfMatch(_ value: String?) throws(Refusal) -> Revision? {
    guard let value, value != "*" else { return nil }
    let digits =
      value.hasPrefix("\"") && value.hasSuffix("\"") ? value.dropFirst().dropLast() : value[...]
    guard digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let number = Int64(digits) else {
      throw Refusal(
        Problem(.badValue, "If-Match must be a revision in quotes, as ETag gave it: \"7\"."))
    }
    return Revision(number)
  }
}

/// What became of one note, as its caller reads it.
private struct NoteResult {
  var id: TriggerID?
  var status = "accepted"
  var position: LogID?
  var problem: ProblemDocument?

  init(refused problem: ProblemDocument) { self.problem = problem }

  init(id: TriggerID, _ outcome: TriggerIntake.Outcome?, of trip: TripID) {
    self.id = id
    switch outcome {
    case .success(.accepted(let position)): self.position = position
    case .success(.duplicate): status = "duplicate"
    case .success(.revisionMismatch(let current)):
      problem = ProblemDocument(
        .revisionMismatch,
        "The trip is at revision \(current) or on its way to the next. Read it again.")
    case .success(.logFull):
      problem = ProblemDocument(
        .backlogFull, "The trip's partition is behind with its work. Try again in a moment.",
        retryAfter: 1)
    case .success(let verdict): problem = verdict.problem(of: trip).map { ProblemDocument($0) }
    case .failure(let error): problem = ProblemDocument(error)
    case nil: preconditionFailure("every note that was read has an outcome")
    }
  }

  func write(to writer: inout JSONWriter) {
    if let id { writer.member("id", id.text) }
    if let problem {
      writer.member("status", "refused")
      writer.member("problem", problem.kind)
      writer.member("detail", problem.detail)
      return
    }
    writer.member("status", status)
    if let position { writer.member("position", "\(position)") }
  }
}

extension HTTPRequest {
  /// The trace that the caller keeps.
  fileprivate var trace: TraceContext? {
    fields["traceparent"].flatMap { TraceContext(traceparent: $0) }
  }
}

extension TriggerID {
  /// Of an end that was asked for without a body.
  static let requestedEnd = TriggerID(wellKnown: "fieldcast.end")
  /// Of the end that a trip was created with.
  static let plannedEnd = TriggerID(wellKnown: "fieldcast.planned-end")
}
