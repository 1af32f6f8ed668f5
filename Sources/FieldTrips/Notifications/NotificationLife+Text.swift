import Clocks
import JSON

extension NotificationLife {
  /// Reads what ``written()`` wrote.
  package init?(stored bytes: [UInt8]) {
    guard let value = try? JSONValue.parse(bytes),
      let phase = value["phase"]?.string.flatMap(Phase.init),
      let createdAt = value["created"]?.storedTime, let sendAt = value["send"]?.storedTime
    else { return nil }
    self.init(
      phase: phase, createdAt: createdAt, sendAt: sendAt, expiresAt: value["expires"]?.storedTime)
    due = value["due"]?.storedTime
    content = value["content"].flatMap(FetchedContent.init)
    usesFallback = value["fallback"]?.bool ?? false
    failedFetches = Int(clamping: value["failedFetches"]?.int64 ?? 0)
    problem = value["problem"]?.string
    sendingSince = value["sending"]?.storedTime
    rounds = Int(clamping: value["rounds"]?.int64 ?? 0)
    finishedAt = value["finished"]?.storedTime
  }

  package func written() -> [UInt8] {
    var object: JSONObject = ["phase": .string(phase.rawValue)]
    let times: [(String, UnixTime?)] = [
      ("created", createdAt), ("send", sendAt), ("expires", expiresAt), ("due", due),
      ("sending", sendingSince), ("finished", finishedAt),
    ]
    for (key, time) in times {
      if let time { object[key] = JSONValue(stored: time) }
    }
    if let content { object["content"] = content.json }
    if usesFallback { object["fallback"] = .bool(true) }
    if failedFetches > 0 { object["failedFetches"] = .number(JSONNumber(Int64(failedFetches))) }
    if let problem { object["problem"] = .string(problem) }
    if rounds > 0 { object["rounds"] = .number(JSONNumber(Int64(rounds))) }
    return JSONValue.object(object).serialized()
  }
}
