internal import Clocks
internal import FieldTrips
internal import TripStore

/// A timeline as sentences for a person. Times of day are UTC.
struct TimelineText {
  let timeline: TripTimeline

  // MARK: Now

  /// What phones show now and why, in a few sentences.
  var summary: [String] {
    [standing, shown, quiet, waiting, stale, unreached].compactMap(\.self)
  }

  private var record: TripRecord { timeline.record }

  private var standing: String? {
    switch (record.life.phase, record.life.channel) {
    case (.scheduled, _):
      "The trip starts at \(time(record.life.times.startsAt)); nothing is broadcast before."
    case (_, .opening):
      "The trip has no channel yet, so nothing can be broadcast; one is being asked for."
    case (_, .unavailable):
      "The trip has no channel: its app had none left, or may not broadcast."
    case (.ending, _): "The trip's end is asked for: nothing but the end event goes out."
    case (.ended(let at), _):
      record.publishedRevision < record.revision
        ? "The trip was over at \(time(at)) without APNs accepting its last state: nothing goes out "
          + "any more."
        : "The trip ended at \(time(at)); nothing goes out any more."
    case (.live, _): nil
    }
  }

  private var shown: String? {
    guard let send = timeline.shown, let revision = send.revision else {
      guard record.publishedRevision > .initial else {
        return "No broadcast at priority 10 has been accepted yet: phones show what they started "
          + "with."
      }
      return "Phones that listen to the channel show revision \(record.publishedRevision)."
    }
    return "Phones that listen to the channel show revision \(revision), since "
      + "\(time(send.answeredAt))\(send.isEnd ? ", the final one" : "")."
  }

  private var quiet: String? {
    guard let send = timeline.perhapsShown, let revision = send.revision,
      revision > record.publishedRevision
    else { return nil }
    return "Revision \(revision) followed at \(time(send.answeredAt)) at priority 5, which a phone "
      + "may show late or leave out."
  }

  private var waiting: String? {
    let count = timeline.waitingChanges
    guard record.life.phase == .live else { return nil }
    guard record.revision > record.publishedRevision else { return "Nothing waits." }
    let head =
      count == 0
      ? "The first state, which members join with, waits to be broadcast"
      : "\(counted(count, "change")) up to revision \(record.revision) "
        + (count == 1 ? "waits" : "wait")
    guard let present = timeline.present else {
      return head + "; another node owns the trip and knows what for."
    }
    var sentence = head
    if let oldest = present.waiting.notes.first(where: { $0.revision > record.publishedRevision }) {
      // Not for how long: the sentence stays as it is while nothing happens.
      sentence += ", the oldest since \(time(oldest.acceptedAt))"
    }
    return sentence + ": " + reason(present) + "."
  }

  private func reason(_ present: TripTimeline.Present) -> String {
    switch present.stop {
    case .channelGone?: return "APNs has lost the channel, and a new one is being opened"
    case .timestampsAhead(let seconds)?:
      return "the channel is stopped, since its timestamps are \(seconds) s ahead of the clock"
    case nil: break
    }
    if present.isQueued { return "other trips of the app go first, within the app's rate" }
    guard let hold = present.hold else { return "nothing holds back what is to be sent" }
    let until = present.until.map { ", until \(time($0)) at the latest" } ?? ""
    switch hold {
    case .gathering: return "more are expected soon, and one broadcast is to carry them\(until)"
    case .budget: return "the channel's budget is used up\(until)"
    case .pause: return "the channel pauses after APNs did not take a broadcast\(until)"
    case .answer: return "a broadcast is under way and has no answer yet"
    case .second: return "a channel has one timestamp a second\(until)"
    }
  }

  private var stale: String? {
    guard record.life.phase == .live,
      let staleAt = timeline.sends.last(where: \.isAccepted)?.staleAt
    else { return nil }
    return staleAt > timeline.now
      ? nil
      : "The card is marked stale since \(time(staleAt)): no broadcast was accepted for that long."
  }

  private var unreached: String? {
    let counts = record.memberCounts
    let others = Reach.allCases.filter { $0 != .channel }.reduce(0) { $0 + (counts[$1] ?? 0) }
    guard others > 0 else { return nil }
    let parts: [(Reach, String)] = [
      (.updateToken, "with an update token"), (.startToken, "with a push-to-start token only"),
      (.none, "without any token"),
    ]
    let listed = parts.compactMap { reach, words in
      counts[reach].map { "\($0) \(words)" }
    }
    return "\(counted(Int64(others), "member")) \(others == 1 ? "does" : "do") not listen to the "
      + "channel and \(others == 1 ? "gets" : "get") no broadcast: "
      + listed.joined(separator: ", ") + "."
  }

  // MARK: One broadcast

  func sentence(about send: SendRecord) -> String {
    let what =
      (send.isEnd ? "The end event" : "A broadcast") + " at priority \(send.priority)"
      + (send.revision.map { " with revision \($0)" } ?? "")
    let took = span(send.answeredAt - send.sentAt)
    switch send.outcome {
    case "accepted":
      return "\(what) was accepted by APNs after \(took)"
        + (send.priority == 5 ? "; a phone may show it late or leave it out." : ".")
    case "throttled":
      return "\(what) was throttled (\(send.answer)): nobody got it, and the channel slows down. "
        + "The next one carries the newest state."
    case "providerTokenThrottled":
      return "\(what) was turned away (\(send.answer)): nobody got it, and it is tried again."
    case "notSent":
      return "\(what) did not leave: \(send.answer) It is tried again with the newest state."
    case "unknown":
      return "\(what) has no certain answer after \(took) (\(send.answer)): phones may have it. "
        + "It is sent again, which does no harm."
    case "channelGone":
      return "\(what) found that APNs has lost the channel (\(send.answer))."
    default:
      return "\(what) was refused (\(send.answer)): a defect, to be looked into."
    }
  }

  // MARK: One trigger

  /// - Parameter send: the broadcast that carried it; nil while it waits.
  func story(of note: TriggerNote, in send: SendRecord?) -> String {
    var sentence = "\(kind(note)) came at \(time(note.acceptedAt))"
    if note.committedAt - note.acceptedAt > .seconds(1) {
      sentence +=
        ", lay \(span(note.committedAt - note.acceptedAt)) in the log until a node worked it off"
    }
    switch note.verdict {
    case .unchanged where note.kind == "end": return sentence + ", and left the card as it was."
    case .unchanged: return sentence + ", and changed nothing: the card shows newer, or the same."
    case .refused: return sentence + ", and was refused: it is among the dead letters."
    case .changed: sentence += ", made revision \(note.revision)"
    }
    guard let send else { return sentence + ", and waits." }
    sentence += ", and went out after \(span(send.sentAt - note.committedAt))"
    let count = send.triggers.count
    let company = count > 1 ? ", together with \(count - 1) more" : ""
    return sentence + (past(send, note).map { ": \($0)" } ?? "") + company + "."
  }

  private func past(_ send: SendRecord, _ note: TriggerNote) -> String? {
    // The app's queue is named where it took most of the wait: a turn of it is no reason.
    let (queued, waited) = (
      Duration.milliseconds(send.wait.queuedMilliseconds), send.sentAt - note.committedAt
    )
    if queued >= .milliseconds(50), queued * 2 >= waited {
      return "other trips of the app went first for \(span(queued))"
    }
    // What held the others back was over when this one came.
    if let until = send.wait.until, until <= note.committedAt { return nil }
    guard send.sentAt - note.committedAt > .milliseconds(50) else { return nil }
    return switch send.wait.hold.flatMap(ChannelPublisher.Hold.init) {
    case .gathering: "one broadcast was to carry the notes that come close together"
    case .budget: "the channel's budget had no token before"
    case .pause: "APNs had not taken the broadcast before, and the channel paused"
    case .answer: "an earlier broadcast had no answer yet"
    case .second: "a channel has one timestamp a second"
    case nil: nil
    }
  }

  private func kind(_ note: TriggerNote) -> String {
    switch note.kind {
    case "note": "Note \(note.id)"
    case "state": "The state \(note.id)"
    case "phase": "The phase change \(note.id)"
    default: "The end \(note.id)"
    }
  }

  // MARK: Words

  /// `10:41:28`; with its date when that is not today's.
  private func time(_ time: UnixTime) -> String {
    let text = DateText.format(UnixTime(wholeSeconds: time.wholeSeconds))
    let today = DateText.format(timeline.now).prefix(10)
    let clock = text.dropFirst(11).prefix(8)
    return text.hasPrefix(today) ? String(clock) : "\(text.prefix(10)) \(clock)"
  }

  /// `23 ms`, `4.2 s`, `3 min 20 s`, `2 h 5 min`.
  private func span(_ span: Duration) -> String {
    let milliseconds = max(0, span.wholeNanoseconds / 1_000_000)
    if milliseconds < 1_000 { return "\(milliseconds) ms" }
    let seconds = milliseconds / 1_000
    if seconds < 60 { return "\(seconds).\(milliseconds / 100 % 10) s" }
    if seconds < 3_600 { return "\(seconds / 60) min \(seconds % 60) s" }
    return "\(seconds / 3_600) h \(seconds / 60 % 60) min"
  }

  private func counted(_ count: Int64, _ one: String) -> String {
    "\(count) \(count == 1 ? one : one + "s")"
  }
}
