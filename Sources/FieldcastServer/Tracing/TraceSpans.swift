internal import Clocks
internal import FieldTrips

/// What a broadcast adds to the traces of the triggers that it carried.
///
/// Of each trigger whose caller keeps a trace: `fieldcast trigger`, from the moment it was taken in
/// to APNs' answer, and in it `commit`, `wait` and `broadcast`, one behind the other. They are made
/// when the answer is there, of what the timeline keeps, so a trace survives a crash in between, and
/// costs nothing where there is none. What the timeline leaves out of a large burst has no spans.
enum TraceSpans {
  static func make(
    of send: SendRecord, trip: TripID, using random: inout some RandomNumberGenerator
  ) -> [Span] {
    var spans: [Span] = []
    for note in send.triggers.notes {
      guard let trace = note.trace else { continue }
      let whole = Span(
        note, trace, in: trace.span, "fieldcast trigger", .consumer,
        from: note.acceptedAt, until: send.answeredAt, using: &random,
        facts: [
          ("fieldcast.trip", .text(trip.text)), ("fieldcast.trigger", .text(note.id)),
          ("fieldcast.kind", .text(note.kind)), ("fieldcast.verdict", .text(note.verdict.rawValue)),
          ("fieldcast.revision", .number(note.revision.number)),
        ])
      spans.append(whole)
      spans.append(
        Span(
          note, trace, in: whole.id, "commit", .inside, from: note.acceptedAt,
          until: note.committedAt, using: &random, facts: []))
      spans.append(
        Span(
          note, trace, in: whole.id, "wait", .inside, from: note.committedAt, until: send.sentAt,
          using: &random, facts: send.wait.hold.map { [("fieldcast.hold", .text($0))] } ?? []))
      spans.append(
        Span(
          note, trace, in: whole.id, "broadcast", .producer, from: send.sentAt,
          until: send.answeredAt, using: &random, facts: facts(of: send)))
    }
    return spans
  }

  private static func facts(of send: SendRecord) -> [(name: String, fact: Span.Fact)] {
    var facts: [(name: String, fact: Span.Fact)] = [
      ("fieldcast.event", .text(send.isEnd ? "end" : "update")),
      ("fieldcast.priority", .number(Int64(send.priority))),
      ("fieldcast.outcome", .text(send.outcome)),
      ("fieldcast.conflated", .number(Int64(send.triggers.count))),
    ]
    if let revision = send.revision {
      facts.append(("fieldcast.revision", .number(revision.number)))
    }
    return facts
  }
}

extension Span {
  fileprivate init(
    _ note: TriggerNote, _ trace: TraceContext, in parent: UInt64, _ name: String, _ kind: Kind,
    from: UnixTime, until: UnixTime, using random: inout some RandomNumberGenerator,
    facts: [(name: String, fact: Fact)]
  ) {
    self.init(
      traceHigh: trace.traceHigh, traceLow: trace.traceLow,
      // Zero would be no ID.
      id: max(1, random.next()), parent: parent, name: name, kind: kind, from: from, until: until,
      facts: facts)
  }
}
