internal import Clocks
internal import FieldTrips
internal import JSON
internal import TripStore

/// One trip as the dashboard shows it: the card that phones have now, and how it came about. Times
/// are milliseconds since 1970, by the service's clock.
///
/// It says when things were and not how long ago, so that its bytes stay as they are while nothing
/// happens.
struct TripPage {
  let timeline: TripTimeline
  let policy: PublishingPolicy
  /// The node that owns the trip; nil while none does.
  let node: String?
  let partition: Partition

  private var record: TripRecord { timeline.record }

  func written() -> [UInt8] {
    var writer = JSONWriter(reservingCapacity: 16_384)
    writer.object {
      writeTrip(to: &$0)
      writeTimes(to: &$0)
      writeCard(to: &$0)
      writeBudget(to: &$0)
      writeStory(to: &$0)
    }
    return writer.finish()
  }

  // MARK: The trip

  private func writeTrip(to writer: inout JSONWriter) {
    let definition = record.definition
    record.writeNames(to: &writer)
    writer.member("app", definition.app.words)
    writer.member("phase", record.life.phase.name)
    writer.member("partition", "\(partition)")
    if let node { writer.member("node", node) }
    writer.member("channel", record.life.channel.name)
    switch record.life.channel {
    case .open(let id): writer.member("channelID", id.text)
    case .deletionDue(let id, let at):
      writer.member("channelID", id.text)
      writer.member("deletionAt", at.milliseconds)
    case .opening, .gone, .unavailable: break
    }
    writer.member("storage", definition.storagePolicy.name)
    TripFreshness(
      phase: record.life.phase, revision: record.revision, published: record.publishedRevision
    ).write(to: &writer)
    if let changed = record.changedAt { writer.member("changedAt", changed.milliseconds) }
    writer.members(record.memberCounts)
  }

  private func writeTimes(to writer: inout JSONWriter) {
    let times = record.life.times
    writer.member("createdAt", times.createdAt.milliseconds)
    writer.member("startsAt", times.startsAt.milliseconds)
    writer.member("endsAt", times.endsAt.milliseconds)
    guard case .ended(let at) = record.life.phase else { return }
    writer.member("endedAt", at.milliseconds)
    // The system's own time is up to four hours.
    let gone = times.dismissal.date(endingAt: at) ?? at + LiveActivityLimits.longestDismissal
    writer.member("goneAt", gone.milliseconds)
    writer.member("goneBySystem", times.dismissal == .systemDefault)
  }

  // MARK: The card

  private func writeCard(to writer: inout JSONWriter) {
    record.writeCard(as: timeline.type, to: &writer)
    writer.key("fields")
    writer.array { list in
      for field in timeline.type?.definition.contentState ?? [] where !field.isWithheld {
        list.object {
          $0.member("name", field.name)
          $0.member("kind", field.kind.name)
        }
      }
    }
    if let shown = record.shown { write(shown, "shown", to: &writer) }
    if let quiet = record.quiet { write(quiet, "quiet", to: &writer) }
  }

  private func write(_ card: ShownCard, _ key: String, to writer: inout JSONWriter) {
    writer.key(key)
    writer.object {
      $0.member("revision", card.revision.number)
      $0.member("at", card.acceptedAt.milliseconds)
      if let stale = card.staleAt { $0.member("staleAt", stale.milliseconds) }
      $0.key("state")
      // What its type withholds by now was shown, and is no one's to see any more.
      if let stored = try? ContentState(stored: card.contentState),
        let state = try? timeline.type?.adopting(stored)
      {
        $0.raw(state.text)
      } else {
        $0.null()
      }
    }
  }

  // MARK: The budget

  /// The bucket's anchor and not its level, which changes all the time: a reader works it out.
  private func writeBudget(to writer: inout JSONWriter) {
    let rate = record.ratePerHour ?? policy.budgetPerHour
    writer.key("budget")
    writer.object {
      $0.member("overdraft", policy.overdraft)
      $0.key("perHour")
      $0.double(policy.budgetPerHour)
      $0.key("ratePerHour")
      $0.double(rate)
      writeBucket(ratePerHour: rate, to: &$0)
      if let anchor = record.anchor { $0.member("anchor", anchor.milliseconds) }
    }
  }

  /// How much a bucket holds and how fast it fills: `rate` broadcasts an hour, as they were adapted.
  private func writeBucket(ratePerHour rate: Double, to writer: inout JSONWriter) {
    guard rate > 0 else { return }
    let interval = PublishingPolicy.refillInterval(ratePerHour: rate)
    writer.member("capacity", policy.capacity(ratePerHour: rate))
    writer.member("refillMilliseconds", interval.wholeNanoseconds / 1_000_000)
  }

  // MARK: What happened

  private func writeStory(to writer: inout JSONWriter) {
    let text = TimelineText(timeline: timeline)
    writer.key("summary")
    writer.array { list in for sentence in text.summary { list.string(sentence) } }
    writer.key("sends")
    writer.array { list in
      for send in timeline.sends { list.object { write(send, text, to: &$0) } }
    }
    let waiting = timeline.present?.waiting ?? TriggerNotes(stored: record.waiting)
    writer.key("waitingTriggers")
    Self.write(waiting, to: &writer)
  }

  private func write(_ send: SendRecord, _ text: TimelineText, to writer: inout JSONWriter) {
    writer.member("sent", send.sentAt.milliseconds)
    writer.member("answered", send.answeredAt.milliseconds)
    writer.member("priority", send.priority)
    if send.isEnd { writer.member("end", true) }
    if let revision = send.revision { writer.member("revision", revision.number) }
    writer.member("outcome", send.outcome)
    writer.member("answer", send.answer)
    writer.member("text", text.sentence(about: send))
    if let budget = send.budget {
      writer.key("level")
      writer.double(budget.level)
      writeBucket(ratePerHour: budget.ratePerHour, to: &writer)
    }
    writer.key("triggers")
    Self.write(send.triggers, to: &writer)
  }

  /// Bytes of a trigger's ID that are shown: a thousand of the longest would be more than a reader
  /// is sent at once.
  private static let mostShownOfID = 40

  static func shortened(_ id: String) -> String {
    guard id.utf8.count > mostShownOfID else { return id }
    var kept = Substring()
    for character in id {
      guard kept.utf8.count + character.utf8.count <= mostShownOfID else { break }
      kept.append(character)
    }
    return kept + "…"
  }

  /// Each trigger as an array, since there are many: ID, kind, when it came, what became of it.
  static func write(_ triggers: TriggerNotes, to writer: inout JSONWriter) {
    writer.object {
      $0.member("count", triggers.count)
      $0.key("kept")
      $0.array { list in
        for note in triggers.notes {
          list.array {
            $0.string(shortened(note.id))
            $0.string(note.kind)
            $0.int(note.acceptedAt.milliseconds)
            $0.string(note.verdict.rawValue)
          }
        }
      }
    }
  }
}

extension FieldKind {
  /// What a reader needs to know to show a value.
  fileprivate var name: String {
    switch self {
    case .integer: "integer"
    case .number: "number"
    case .string: "string"
    case .bool: "bool"
    case .date(let unit): unit.rawValue
    case .choice: "choice"
    case .object: "object"
    case .oneOf: "oneOf"
    case .list: "list"
    }
  }
}
