import Redis

/// The script that takes triggers into a log.
extension ModelRedis {
  private struct Trip {
    let id: Bytes
    let key: String
    let seen: String
    let phase: String?
    let revision: Bytes
    var isEnded: Bool
  }

  mutating func append(_ call: ModelCall) -> RESPValue {
    let log = call.keys[0]
    let previous = streams[log]?.entries.last?.id ?? .zero
    var room = Int(call.number(2)) - (streams[log]?.entries.count ?? 0)
    let tripCount = (call.keys.count - 2) / 2
    var trips: [Int: Trip] = [:]
    var answers: [RESPValue] = [.text("\(previous)")]
    for index in 0..<Int(call.number(3)) {
      let base = 4 + tripCount + index * 5
      let place = Int(call.number(base))
      var trip = trips[place] ?? self.trip(place, call)
      let id = call.text(base + 2)
      if let refusal = refusal(of: trip, revision: call.arguments[base + 4], room: room, call) {
        let isKnown = trip.phase != nil && sets[trip.seen]?.contains(id) == true
        answers.append(isKnown ? .integer(0) : refusal)
      } else if !insert(trip.seen, member: id), mutation != .duplicatesTaken {
        answers.append(.integer(0))
      } else {
        let entry = add(log, Self.fields(of: trip.id, call, base))
        answers.append(.text("\(entry)"))
        room -= 1
        expiries[trip.seen] = milliseconds + call.number(1)
        if call.text(base + 1) == "end", mutation != .endForgotten {
          trip.isEnded = true
          set(trip.key, "closing", Bytes("\(entry)".utf8))
        }
      }
      trips[place] = trip
    }
    return .array(answers)
  }

  private func trip(_ place: Int, _ call: ModelCall) -> Trip {
    let key = call.keys[place * 2]
    let phase = field(key, "life").map(Self.phase)
    return Trip(
      id: call.arguments[3 + place], key: key, seen: call.keys[place * 2 + 1], phase: phase,
      revision: field(key, "rev") ?? [],
      isEnded: field(key, "closing") != nil || phase == "ending" || phase == "ended")
  }

  private mutating func refusal(
    of trip: Trip, revision: Bytes, room: Int, _ call: ModelCall
  ) -> RESPValue? {
    if trip.phase == nil { return .integer(-1) }
    if trip.isEnded { return .integer(-2) }
    if !revision.isEmpty, revision != trip.revision || isWaiting(trip, call) {
      return .array([.integer(RESPValue.integer(in: trip.revision) ?? 0)])
    }
    return room <= 0 ? .integer(-3) : nil
  }

  private static func fields(of trip: Bytes, _ call: ModelCall, _ base: Int) -> [Bytes] {
    [
      Bytes("t".utf8), trip, Bytes("k".utf8), call.arguments[base + 1], Bytes("i".utf8),
      call.arguments[base + 2], Bytes("b".utf8), call.arguments[base + 3], Bytes("a".utf8),
      call.arguments[0],
    ]
  }

  /// Whether a trigger of a trip lies behind the cursor.
  private mutating func isWaiting(_ trip: Trip, _ call: ModelCall) -> Bool {
    let cursor = string(call.keys[1]).flatMap(StreamID.init(ascii:)) ?? .zero
    let waiting = entries(call.keys[0], after: cursor, count: 1_000)
    let kinds: Set = ["note", "state", "phase", "end"]
    return waiting.count == 1_000
      || waiting.contains {
        $0.fields[1] == trip.id && kinds.contains(String(decoding: $0.fields[3], as: UTF8.self))
      }
  }
}
