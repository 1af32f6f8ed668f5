internal import Clocks
internal import FieldTrips
internal import JSON

/// One broadcast, or try at one, as the timeline keeps it.
struct SendRecord: Sendable, Equatable {
  /// Why it did not go out the moment its first trigger was stored.
  struct Wait: Sendable, Equatable {
    /// ``ChannelPublisher/Hold`` by its name; nil if nothing held it.
    var hold: String?
    /// When that was over.
    var until: UnixTime?
    /// Then it stood in the app's queue for so long; milliseconds.
    var queuedMilliseconds: Int64 = 0
  }

  /// The channel's token bucket after the answer.
  struct Budget: Sendable, Equatable {
    /// Tokens; below zero in debt.
    var level: Double
    /// Broadcasts an hour, as adapted.
    var ratePerHour: Double
  }

  var isEnd: Bool
  var priority: Int
  /// Of the content-state that was sent; nil if it came to nothing before one was read.
  var revision: Revision?
  var timestampSeconds: Int64?
  var sentAt: UnixTime
  var answeredAt: UnixTime
  /// ``BroadcastOutcome`` by its name, such as `accepted`.
  var outcome: String
  /// What APNs said, or why it said nothing: `429 TooManyRequests`.
  var answer: String
  var staleAt: UnixTime?
  var wait: Wait
  var triggers: TriggerNotes
  /// Nil in what an older program wrote.
  var budget: Budget?

  var isAccepted: Bool { outcome == Self.name(of: .accepted) }

  static func name(of outcome: BroadcastOutcome) -> String {
    switch outcome {
    case .accepted: "accepted"
    case .throttled: "throttled"
    case .providerTokenThrottled: "providerTokenThrottled"
    case .notSent, .unavailable, .superfluous, .notReserved: "notSent"
    case .unknown, .serverError: "unknown"
    case .channelGone: "channelGone"
    case .refused: "refused"
    }
  }
}

// MARK: As the store keeps it

extension SendRecord {
  /// Compact, since there are many: numbers are milliseconds since 1970, and a trigger is an array.
  func stored() -> [UInt8] {
    var writer = JSONWriter(reservingCapacity: 160 + 80 * triggers.kept)
    writer.object {
      if isEnd { $0.member("e", true) }
      $0.member("p", priority)
      if let revision { $0.member("r", revision.number) }
      if let timestampSeconds { $0.member("ts", timestampSeconds) }
      $0.member("s", sentAt.milliseconds)
      $0.member("a", answeredAt.milliseconds)
      $0.member("o", outcome)
      $0.member("w", answer)
      if let staleAt { $0.member("st", staleAt.milliseconds) }
      if let hold = wait.hold { $0.member("h", hold) }
      if let until = wait.until { $0.member("hu", until.milliseconds) }
      if wait.queuedMilliseconds > 0 { $0.member("q", wait.queuedMilliseconds) }
      if let budget {
        $0.member("b", hundredths(budget.level))
        $0.member("br", hundredths(budget.ratePerHour))
      }
      if !triggers.isEmpty { triggers.write(to: &$0) }
    }
    return writer.finish()
  }

  private func hundredths(_ number: Double) -> Int64 {
    Int64(exactly: (number * 100).rounded()) ?? 0
  }

  /// Reads ``stored()``; nil for anything else, such as what a newer program wrote.
  init?(stored bytes: [UInt8]) {
    guard let value = try? JSONValue.parse(bytes), let priority = value["p"]?.int64,
      let sentAt = UnixTime(value["s"]), let answeredAt = UnixTime(value["a"]),
      let outcome = value["o"]?.string
    else { return nil }
    self.init(
      isEnd: value["e"]?.bool == true, priority: Int(priority),
      revision: Revision(value["r"]), timestampSeconds: value["ts"]?.int64,
      sentAt: sentAt, answeredAt: answeredAt, outcome: outcome,
      answer: value["w"]?.string ?? "", staleAt: UnixTime(value["st"]),
      wait: Wait(
        hold: value["h"]?.string, until: UnixTime(value["hu"]),
        queuedMilliseconds: value["q"]?.int64 ?? 0),
      triggers: TriggerNotes(value),
      budget: value["b"]?.int64.flatMap { level in
        value["br"]?.int64.map {
          Budget(level: Double(level) / 100, ratePerHour: Double($0) / 100)
        }
      })
  }
}

extension TriggerNotes {
  func stored() -> [UInt8] {
    guard !isEmpty else { return [] }
    var writer = JSONWriter(reservingCapacity: 80 * kept)
    writer.object { write(to: &$0) }
    return writer.finish()
  }

  /// Reads ``stored()``; empty for anything else.
  init(stored bytes: [UInt8]) {
    self.init()
    guard !bytes.isEmpty, let value = try? JSONValue.parse(bytes) else { return }
    self.init(value)
  }

  fileprivate func write(to writer: inout JSONWriter) {
    if omitted > 0 { writer.member("n", omitted) }
    writer.key("t")
    writer.array { list in
      for note in notes {
        list.array {
          $0.string(note.id)
          $0.string(note.kind)
          $0.int(note.acceptedAt.milliseconds)
          $0.int(note.committedAt.milliseconds)
          $0.int(note.revision.number)
          $0.string(note.verdict.rawValue)
          if let trace = note.trace { $0.string(trace.traceparent) }
        }
      }
    }
  }

  fileprivate init(_ value: JSONValue) {
    self.init(
      (value["t"]?.array ?? []).compactMap(TriggerNote.init),
      omitted: Int(clamping: max(0, value["n"]?.int64 ?? 0)))
  }
}

extension TriggerNote {
  fileprivate init?(_ value: JSONValue) {
    guard let id = value[0]?.string, let kind = value[1]?.string,
      let acceptedAt = UnixTime(value[2]), let committedAt = UnixTime(value[3]),
      let revision = Revision(value[4]), let verdict = value[5]?.string.flatMap(Verdict.init)
    else { return nil }
    self.init(
      id: id, kind: kind, acceptedAt: acceptedAt, committedAt: committedAt, revision: revision,
      verdict: verdict, trace: value[6]?.string.flatMap { TraceContext(traceparent: $0) })
  }
}

extension UnixTime {
  fileprivate init?(_ value: JSONValue?) {
    guard let milliseconds = value?.int64 else { return nil }
    self.init(milliseconds: milliseconds)
  }
}

extension Revision {
  fileprivate init?(_ value: JSONValue?) {
    guard let number = value?.int64, number >= 0 else { return nil }
    self.init(number)
  }
}
