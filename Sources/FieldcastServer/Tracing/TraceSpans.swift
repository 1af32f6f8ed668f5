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
      func add(
        _ name: String, _ kind: Span.Kind, in parent: UInt64, from: UnixTime, until: UnixTime,
        _ facts: [(name: String, fact: Span.Fact)] = []
      ) -> UInt64 {
        let id = max(1, random.next())
        spans.append(
          Span(
            trace: trace, id: id, parent: parent, name: name, kind: kind, from: from, until: until,
            facts: facts))
        return id
      }
      let whole = add(
        "fieldcast trigger", .consumer, in: trace.span, from: note.acceptedAt,
        until: send.answeredAt, facts(of: note, trip))
      _ = add("commit", .inside, in: whole, from: note.acceptedAt, until: note.committedAt)
      _ = add(
        "wait", .inside, in: whole, from: note.committedAt, until: send.sentAt,
        send.wait.hold.map { [("fieldcast.hold", .text($0))] } ?? [])
      _ = add(
        "broadcast", .producer, in: whole, from: send.sentAt, until: send.answeredAt,
        facts(of: send))
    }
    return spans
  }

  private static func facts(
    of note: TriggerNote, _ trip: TripID
  ) -> [(name: String, fact: Span.Fact)] {
    [
      ("fieldcast.trip", .text(trip.text)), ("fieldcast.trigger", .text(note.id)),
      ("fieldcast.kind", .text(note.kind)), ("fieldcast.verdict", .text(note.verdict.rawValue)),
      ("fieldcast.revision", .number(note.revision.number)),
    ]
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
