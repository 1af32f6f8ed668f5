internal import Clocks
internal import HTTP
internal import JSON

// All channels at once, for whoever measures a service with thousands of them.
extension IntrospectionListener {
  func addFollowing(_ router: inout Router) {
    add(&router, "GET", "/broadcasts") { simulator, request in
      let after = request.query["after"].flatMap(Int.init) ?? 0
      let limit = request.query["limit"].flatMap(Int.init) ?? 1_000
      return await simulator.run { apns, _ in
        Self.broadcasts(apns, after: max(0, after), limit: max(1, min(limit, 10_000)))
      }
    }
    add(&router, "POST", "/shown") { simulator, request in
      var body = try IntrospectionBody(request.request)
      let bundleID = Self.bundleID(request, simulator)
      let channels = try body.texts("channels") ?? []
      try body.finish()
      return try await simulator.run { apns, now throws(PhoneError) in
        var shown: [(channelID: String, states: ShownStates)] = []
        for channelID in channels {
          shown.append((channelID, try apns.shownStates(bundleID, channelID, now: now)))
        }
        return Self.array(shown) { $0.states.write($0.channelID, to: &$1) }
      }
    }
  }

  /// `next` is what to ask for after this; `missed` were accepted and are kept no longer.
  private static func broadcasts(_ apns: SimulatedAPNs, after: Int, limit: Int) -> [UInt8] {
    let (missed, entries) = apns.journal.entries(after: after, limit: limit)
    var writer = JSONWriter(reservingCapacity: 256 * entries.count + 128)
    writer.object { writer in
      writer.member("next", after + missed + entries.count)
      writer.member("missed", missed)
      writer.key("broadcasts")
      writer.array { writer in
        for entry in entries { entry.write(apns.spread(of: entry), to: &writer) }
      }
    }
    return writer.finish()
  }
}

extension BroadcastJournal.Entry {
  fileprivate func write(_ spread: ArrivalSpread, to writer: inout JSONWriter) {
    writer.object { writer in
      writer.member("channel", channelID)
      writer.member("acceptedAt", time: push.acceptedAt)
      writer.member("priority", push.priority)
      writer.member("event", text: push.payload.event?.rawValue)
      if let state = push.payload.contentState {
        writer.member("contentState", json: state.bytes)
      }
      writer.member("phones", spread.phones)
      writer.member("lost", spread.lost)
      writer.key("delayMicroseconds")
      writer.array { writer in
        for delay in spread.delays { writer.int(delay.wholeNanoseconds / 1_000) }
      }
      writer.member("lastMicroseconds", whole: spread.last.map { $0.wholeNanoseconds / 1_000 })
    }
  }
}

extension ShownStates {
  fileprivate func write(_ channelID: String, to writer: inout JSONWriter) {
    writer.object { writer in
      writer.member("channel", channelID)
      writer.key("shown")
      writer.array { writer in
        for (state, count) in phones {
          writer.object { writer in
            writer.member("contentState", json: state)
            writer.member("phones", count)
          }
        }
      }
      writer.counts("outcomes", outcomes.byName)
    }
  }
}
