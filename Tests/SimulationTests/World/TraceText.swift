import FieldTrips
import Redis

/// What a trace says of things, in a word or two.
enum TraceText {
  static func of(_ trip: TripID) -> String { "trip \(trip.text.prefix(4))" }

  static func of(_ state: Bytes) -> String { String(decoding: state, as: UTF8.self) }

  static func of(_ message: Message) -> String {
    "\(message.isEnd ? "the end" : "an update") \(message.timestampSeconds) at priority "
      + "\(message.priority) \(of(message.contentState))"
  }

  static func of(_ call: ModelCall, _ reply: RESPValue) -> String {
    var words: [String] = []
    if call.script == nil {
      words.append(call.arguments.dropFirst().prefix(2).map(text).joined(separator: " "))
    }
    if let key = call.keys.first { words.append(key) }
    if let script = call.script, ["commit", "append", "reserve", "record"].contains(script) {
      words += call.arguments.map(text).filter { !$0.isEmpty }
    }
    return " " + words.joined(separator: " ") + " = " + of(reply)
  }

  private static func text(_ bytes: Bytes) -> String {
    bytes.count > 90 ? "…" : String(decoding: bytes, as: UTF8.self)
  }

  static func of(_ reply: RESPValue) -> String {
    switch reply {
    case .simple(let text): text
    case .error: "an error"
    case .integer(let number): "\(number)"
    case .bulk(let bytes): text(bytes)
    case .null: "nothing"
    case .array(let values): "[" + values.prefix(5).map(of).joined(separator: ", ") + "]"
    }
  }
}
