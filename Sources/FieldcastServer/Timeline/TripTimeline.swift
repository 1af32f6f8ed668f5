internal import Clocks
internal import FieldTrips
internal import JSON
internal import TripStore

/// Why a phone shows what it shows: the last broadcasts of a trip, the triggers that each carried,
/// and what waits now. What `GET /v1/trips/{trip}/timeline` answers.
struct TripTimeline: Sendable {
  /// What the trip's owner knows and the store does not.
  struct Present: Sendable {
    var waiting: TriggerNotes
    var hold: ChannelPublisher.Hold?
    /// Until when that holds; nil if it depends on an answer, or if nothing holds.
    var until: UnixTime?
    /// It stands in the app's queue: all that is missing is its turn.
    var isQueued: Bool
    var stop: ChannelPublisher.StopReason?
  }

  let record: TripRecord
  /// Nil where this node does not have the trip's.
  let type: ActivityType?
  /// Oldest first.
  let sends: [SendRecord]
  /// Nil when another node owns the trip.
  let present: Present?
  let now: UnixTime

  /// The last broadcast that every phone which listens has shown.
  var shown: SendRecord? { sends.last { $0.isAccepted && $0.priority == 10 } }

  /// The last quiet broadcast behind it, which phones may have shown.
  var perhapsShown: SendRecord? {
    let last = sends.last { $0.isAccepted }
    return last?.priority == 5 ? last : nil
  }

  /// As ``Revision/changes(since:)`` has it.
  var waitingChanges: Int64 { record.revision.changes(since: record.publishedRevision) }

  func written() -> [UInt8] {
    let text = TimelineText(timeline: self)
    var writer = JSONWriter(reservingCapacity: 4_096)
    writer.object {
      $0.member("trip", record.id.text)
      $0.member("name", record.definition.name)
      $0.member("phase", record.life.phase.name)
      $0.member("now", DateText.format(now))
      $0.member("revision", record.revision.number)
      $0.member("publishedRevision", record.publishedRevision.number)
      record.writeCard(as: type, withAttributes: false, to: &$0)
      $0.key("summary")
      $0.array { list in for sentence in text.summary { list.string(sentence) } }
      if let present, record.revision > record.publishedRevision || !present.waiting.isEmpty {
        write(present, to: &$0)
      }
      $0.key("broadcasts")
      $0.array { list in
        for send in sends { list.object { write(send, text, to: &$0) } }
      }
      $0.key("kept")
      $0.object {
        $0.member("broadcasts", TripStore.timelineLimit)
        $0.member("triggersOfEach", TriggerNotes.mostKept)
      }
    }
    return writer.finish()
  }

  private func write(_ present: Present, to writer: inout JSONWriter) {
    let text = TimelineText(timeline: self)
    writer.key("waiting")
    writer.object {
      $0.member("changes", waitingChanges)
      if let hold = present.hold { $0.member("hold", hold.rawValue) }
      if let until = present.until { $0.member("until", DateText.format(until)) }
      $0.key("triggers")
      $0.array { list in
        for note in present.waiting.notes {
          list.object { write(note, text.story(of: note, in: nil), to: &$0) }
        }
      }
      if present.waiting.omitted > 0 { $0.member("triggersLeftOut", present.waiting.omitted) }
    }
  }

  private func write(_ send: SendRecord, _ text: TimelineText, to writer: inout JSONWriter) {
    writer.member("sentAt", DateText.format(send.sentAt))
    writer.member("answeredAt", DateText.format(send.answeredAt))
    writer.member("event", send.isEnd ? "end" : "update")
    writer.member("priority", send.priority)
    if let revision = send.revision { writer.member("revision", revision.number) }
    if let timestamp = send.timestampSeconds { writer.member("timestamp", timestamp) }
    if let staleAt = send.staleAt { writer.member("staleDate", staleAt.wholeSeconds) }
    writer.member("outcome", send.outcome)
    if !send.answer.isEmpty { writer.member("answer", send.answer) }
    if let hold = send.wait.hold { writer.member("hold", hold) }
    if let until = send.wait.until { writer.member("heldUntil", DateText.format(until)) }
    if send.wait.queuedMilliseconds > 0 {
      writer.member("queuedMilliseconds", send.wait.queuedMilliseconds)
    }
    if let budget = send.budget {
      writer.key("budget")
      writer.object {
        $0.key("tokens")
        $0.double(budget.level)
        $0.key("perHour")
        $0.double(budget.ratePerHour)
      }
    }
    writer.member("text", text.sentence(about: send))
    guard !send.triggers.isEmpty else { return }
    writer.key("triggers")
    writer.array { list in
      for note in send.triggers.notes {
        list.object { write(note, text.story(of: note, in: send), to: &$0) }
      }
    }
    if send.triggers.omitted > 0 { writer.member("triggersLeftOut", send.triggers.omitted) }
  }

  private func write(_ note: TriggerNote, _ story: String, to writer: inout JSONWriter) {
    writer.member("id", note.id)
    writer.member("kind", note.kind)
    writer.member("acceptedAt", DateText.format(note.acceptedAt))
    writer.member("committedAt", DateText.format(note.committedAt))
    writer.member("verdict", note.verdict.rawValue)
    writer.member("revision", note.revision.number)
    writer.member("text", story)
  }
}
