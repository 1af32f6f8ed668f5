package import JSON

extension Trigger {
  /// This trigger as JSON, to be read again with its ``kind`` and ``trip`` given: what the
  /// partition's log keeps.
  package func written() -> [UInt8] {
    var writer = JSONWriter(reservingCapacity: 192)
    writer.object {
      $0.member("id", id.text)
      if let occurredAt {
        $0.member(kind == .note ? "capturedAt" : "occurredAt", DateText.format(occurredAt))
      }
      if let sequence { $0.member("sequence", sequence) }
      if isSignificant { $0.member("significant", true) }
      if let trace { $0.member("traceparent", trace.traceparent) }
      writeEffect(&$0)
    }
    return writer.finish()
  }

  private func writeEffect(_ writer: inout JSONWriter) {
    switch effect {
    case .note(let note):
      if let member = note.member { writer.member("member", member.text) }
      if let place = note.place { writer.member("place", place) }
      if !note.fields.isEmpty { writer.member("fields", .object(note.fields)) }
    case .state(let state):
      writer.member("contentState", state)
    case .phase(let change):
      writer.member("phase", change.phase)
      if !change.fields.isEmpty { writer.member("fields", .object(change.fields)) }
    case .end(let end):
      if let state = end.finalState { writer.member("contentState", state) }
      if let dismissal = end.dismissal { writer.member("dismissal", dismissal.json) }
    }
  }
}

extension Dismissal {
  /// As requests and replies write it.
  package var json: JSONValue {
    switch self {
    case .systemDefault: "default"
    case .atOnce: "atOnce"
    case .after(let span): .number(JSONNumber(span.wholeNanoseconds / 1_000_000_000))
    }
  }
}
