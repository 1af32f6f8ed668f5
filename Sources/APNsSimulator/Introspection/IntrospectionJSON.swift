internal import Clocks
internal import JSON

// How the simulator's state reads as JSON. Times are in seconds since 1970 with a fraction where
// they come from a clock, and whole seconds where they come from a payload.
extension JSONWriter {
  mutating func member(_ key: String, time: UnixTime?) {
    self.key(key)
    if let time { double(time.seconds) } else { null() }
  }

  mutating func member(_ key: String, whole: Int64?) {
    self.key(key)
    if let whole { int(whole) } else { null() }
  }

  mutating func member(_ key: String, text: String?) {
    self.key(key)
    if let text { string(text) } else { null() }
  }

  /// JSON text that was checked when it came in; text that is none, which only a test can have
  /// made, becomes a string.
  mutating func member(_ key: String, json: [UInt8]) {
    self.key(key)
    if let text = try? JSONText(validating: json) {
      raw(text)
    } else {
      string(String(decoding: json, as: UTF8.self))
    }
  }

  mutating func counts(_ key: String, _ counts: [(name: String, count: Int)]) {
    self.key(key)
    object { writer in
      for (name, count) in counts { writer.member(name, count) }
    }
  }
}

extension CardView {
  func write(to writer: inout JSONWriter) {
    writer.object { writer in
      writer.member("phone", phone)
      writer.member("activity", whole: activityID.map(Int64.init))
      writer.member("channel", text: channelID)
      writer.member("phase", phase.rawValue)
      writer.member("contentState", json: Array(contentState.utf8))
      writer.member("shownTimestamp", whole: shownTimestampSeconds)
      writer.member("startedAt", time: startedAt)
      writer.member("staleDate", whole: staleDateSeconds)
      writer.member("endedAt", time: endedAt)
      writer.member("dismissedAt", time: dismissedAt)
    }
  }
}

extension PhoneEvent {
  func write(to writer: inout JSONWriter) {
    writer.object { writer in
      writer.member("at", time: at)
      writer.member("push", whole: push.map { Int64(clamping: $0) })
      writer.member("activity", whole: activityID.map(Int64.init))
      writer.member("outcome", text: outcome?.name)
      writer.member("note", text: note)
    }
  }
}

extension ActivityPush {
  func write(to writer: inout JSONWriter) {
    writer.object { writer in
      writer.member("push", Int64(clamping: number))
      writer.member("acceptedAt", time: acceptedAt)
      writer.member("event", text: payload.event?.rawValue)
      writer.member("timestamp", whole: payload.timestampSeconds)
      writer.member("priority", priority)
      if let state = payload.contentState { writer.member("contentState", json: state.bytes) }
      writer.member("staleDate", whole: payload.staleDateSeconds)
      writer.member("dismissalDate", whole: payload.dismissalDateSeconds)
      writer.key("complaints")
      writer.array { writer in
        for complaint in payload.complaints { writer.string(complaint) }
      }
    }
  }
}

extension Channel {
  /// - Parameter full: with the accepted broadcasts that are still kept.
  func write(to writer: inout JSONWriter, full: Bool) {
    writer.object { writer in
      writer.member("channel", channelID)
      writer.member("storagePolicy", policy.rawValue)
      writer.member("createdAt", time: createdAt)
      writer.member("deletedAt", time: deletedAt)
      writer.member("accepted", ledger.accepted)
      writer.member("throttled", ledger.throttled)
      writer.member("refused", ledger.refused)
      writer.counts(
        "acceptedByPriority",
        ledger.acceptedByPriority.sorted { $0.key > $1.key }.map { ("\($0.key)", $0.value) })
      writer.member("newestTimestamp", whole: ledger.newestTimestampSeconds)
      writer.member("timestampsStrictlyRise", ledger.timestampsStrictlyRise)
      writer.member("endedAt", time: ledger.endedAt)
      writer.member("acceptedAfterEnd", ledger.acceptedAfterEnd)
      writer.member("complaints", ledger.complaints)
      if let lead = ledger.greatestLeadSeconds {
        writer.key("greatestTimestampLead")
        writer.double(lead)
      }
      if let state = ledger.newestState?.payload.contentState {
        writer.member("newestContentState", json: state.bytes)
      }
      guard full else { return }
      writer.key("broadcasts")
      writer.array { writer in
        for push in ledger.recent { push.write(to: &writer) }
      }
    }
  }
}

extension ConvergenceSummary {
  func write(to writer: inout JSONWriter) {
    writer.object { writer in
      writer.member("phones", phones)
      writer.member("showingNewest", showingNewest)
      writer.member("hasConverged", hasConverged)
      writer.member("newestTimestamp", whole: newestTimestampSeconds)
      if let newestContentState {
        writer.member("newestContentState", json: Array(newestContentState.utf8))
      }
      writer.counts(
        "byShownTimestamp",
        byShownTimestamp.sorted { $0.key < $1.key }.map { ("\($0.key)", $0.value) })
      writer.counts(
        "byPhase",
        byPhase.map { (name: $0.key.rawValue, count: $0.value) }.sorted { $0.name < $1.name })
    }
  }
}

extension SimulatorStatistics {
  func write(to writer: inout JSONWriter) {
    writer.object { writer in
      writer.counts("requests", Kind.allCases.map { ($0.rawValue, requests[$0] ?? 0) })
      writer.counts(
        "byStatus", answers.sorted { $0.key < $1.key }.map { ("\($0.key)", $0.value) })
      writer.counts(
        "byReason",
        reasons.map { (name: $0.key.rawValue, count: $0.value) }.sorted { $0.name < $1.name })
      writer.counts(
        "acceptedByPriority",
        acceptedByPriority.sorted { $0.key > $1.key }.map { ("\($0.key)", $0.value) })
      writer.member("bytesReceived", bytesReceived)
    }
  }
}

extension ConnectionRecord {
  func write(to writer: inout JSONWriter) {
    writer.object { writer in
      writer.member("connection", number)
      writer.member("port", port.rawValue)
      writer.member("openedAt", time: openedAt)
      writer.member("closedAt", time: closedAt)
      writer.member("closeReason", text: closeReason)
      writer.member("requests", requests)
      writer.key("maxConcurrentStreams")
      writer.array { writer in
        for limit in settings { writer.int(limit.maxConcurrentStreams) }
      }
      writer.key("goAways")
      writer.array { writer in
        for reason in goAways { writer.string(reason.rawValue) }
      }
    }
  }
}

extension Phone {
  func write(to writer: inout JSONWriter) {
    writer.object { writer in
      writer.member("phone", phone)
      writer.member("system", settings.system.description)
      writer.member("online", settings.isOnline)
      writer.member("deviceToken", deviceToken)
      writer.member("pushToStartToken", text: pushToStartToken)
      writer.member("notifications", notifications.count)
      writer.key("activities")
      writer.array { writer in
        for activity in activities {
          writer.object { writer in
            writer.member("activity", activity.activityID)
            writer.member("channel", text: activity.channelID)
            writer.member("updateToken", text: activity.updateToken)
            writer.member("startedByPush", activity.startedByPush)
          }
        }
      }
    }
  }
}
