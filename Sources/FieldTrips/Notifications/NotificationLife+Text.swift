import Clocks
import JSON

extension NotificationLife {
  /// Reads what ``written()`` wrote.
  package init?(stored bytes: [UInt8]) {
    guard let value = try? JSONValue.parse(bytes),
      let phase = value["phase"]?.string.flatMap(Phase.init),
      let createdAt = value.time("created"), let sendAt = value.time("send")
    else { return nil }
    self.init(
      phase: phase, createdAt: createdAt, sendAt: sendAt, expiresAt: value.time("expires"))
    due = value.time("due")
    content = value["content"].flatMap(FetchedContent.init)
    usesFallback = value["fallback"]?.bool ?? false
    failedFetches = Int(clamping: value["failedFetches"]?.int64 ?? 0)
    problem = value["problem"]?.string
    sendingSince = value.time("sending")
    rounds = Int(clamping: value["rounds"]?.int64 ?? 0)
    finishedAt = value.time("finished")
  }

  package func written() -> [UInt8] {
    var object: JSONObject = ["phase": .string(phase.rawValue)]
    let times: [(String, UnixTime?)] = [
      ("created", createdAt), ("send", sendAt), ("expires", expiresAt), ("due", due),
      ("sending", sendingSince), ("finished", finishedAt),
    ]
    for (key, time) in times {
      if let time { object[key] = .number(JSONNumber(time.milliseconds)) }
    }
    if let content { object["content"] = content.json }
    if usesFallback { object["fallback"] = .bool(true) }
    if failedFetches > 0 { object["failedFetches"] = .number(JSONNumber(Int64(failedFetches))) }
    if let problem { object["problem"] = .string(problem) }
    if rounds > 0 { object["rounds"] = .number(JSONNumber(Int64(rounds))) }
    return JSONValue.object(object).serialized()
  }
}

extension JSONValue {
  fileprivate func time(_ key: String) -> UnixTime? {
    self[key]?.int64.map(UnixTime.init(milliseconds:))
  }
}
