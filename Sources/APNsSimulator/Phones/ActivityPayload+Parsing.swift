internal import JSON

extension ActivityPayload {
  /// How the push travels, which decides what it may contain.
  enum Path: Sendable {
    case device
    case broadcast
  }

  /// Reads a Live Activity payload strictly: whatever is missing, ill-typed or unknown becomes a
  /// complaint, since APNs would answer 200 and the phone stay silent.
  init(_ body: JSONValue, path: Path, nowSeconds: Int64, schemas: [ActivitySchema]) {
    guard let root = body.object, let aps = root["aps"]?.object else {
      defect = "the payload has no aps object"
      complaints = ["the payload has no aps object"]
      return
    }
    for key in root.keys where key != "aps" {
      complaints.append("\(key) beside aps is not documented for Live Activities")
    }
    readEvent(aps, path: path)
    readTimes(aps, nowSeconds: nowSeconds)
    readState(aps, schemas: schemas)
    readStart(aps, schemas: schemas)
    readAlert(aps)
    readRest(aps)
    if defect == nil, timestampSeconds == nil { defect = "no usable timestamp" }
    if defect == nil, event == nil { defect = "no usable event" }
  }

  private mutating func readEvent(_ aps: JSONObject, path: Path) {
    guard let text = aps["event"]?.string, let event = ActivityPush.Event(rawValue: text) else {
      complaints.append("event is not start, update or end")
      return
    }
    self.event = event
    if path == .broadcast, event == .start {
      complaints.append("a broadcast cannot start activities")
    }
    if event != .end, aps["dismissal-date"] != nil {
      complaints.append("dismissal-date counts in an end only")
    }
    if event != .start {
      for key in Self.startKeys where aps[key] != nil {
        complaints.append("\(key) counts in a start only")
      }
    }
  }

  private static let startKeys = [
    "attributes-type", "attributes", "input-push-token", "input-push-channel",
  ]

  private mutating func readTimes(_ aps: JSONObject, nowSeconds: Int64) {
    timestampSeconds = date("timestamp", aps, required: true)
    staleDateSeconds = date("stale-date", aps, required: false)
    dismissalDateSeconds = date("dismissal-date", aps, required: false)
    if let stale = staleDateSeconds, stale <= nowSeconds {
      complaints.append("stale-date is not in the future")
    }
  }

  private mutating func date(_ key: String, _ aps: JSONObject, required: Bool) -> Int64? {
    guard let value = aps[key] else {
      if required { complaints.append("\(key) is missing") }
      return nil
    }
    guard let seconds = value.int64 else {
      complaints.append("\(key) is not a whole number of seconds")
      return nil
    }
    if seconds >= 100_000_000_000 {
      complaints.append("\(key) looks like milliseconds; Apple counts seconds")
    }
    return seconds
  }

  private mutating func readState(_ aps: JSONObject, schemas: [ActivitySchema]) {
    guard let state = aps["content-state"] else {
      if event != .end { complaints.append("content-state is missing") }
      return
    }
    guard state.object != nil else {
      complaints.append("content-state is not an object")
      for schema in schemas { undecodable[schema.attributesType] = "content-state is no object" }
      return
    }
    contentState = ContentState(state.serialized())
    for schema in schemas {
      let problem = ActivitySchema.problem(state, schema.contentState, path: "content-state")
      if let problem { undecodable[schema.attributesType] = problem }
      complaints += schema.misplacedDates(in: state)
    }
    if !schemas.isEmpty, undecodable.count == schemas.count {
      complaints.append(
        "no registered attributes type decodes this content-state: "
          + undecodable.values.sorted().joined(separator: "; "))
    }
  }

  private mutating func readStart(_ aps: JSONObject, schemas: [ActivitySchema]) {
    guard event == .start else { return }
    attributesType = aps["attributes-type"]?.string
    attributes = aps["attributes"]?.serialized()
    guard let type = attributesType else {
      complaints.append("a start needs attributes-type")
      return
    }
    guard let schema = schemas.first(where: { $0.attributesType == type }) else {
      complaints.append("no app here has an attributes type \(type)")
      return
    }
    guard let value = aps["attributes"] else {
      complaints.append("a start needs attributes")
      return
    }
    if let problem = ActivitySchema.problem(value, schema.attributes, path: "attributes") {
      undecodable[type] = problem
      complaints.append("attributes do not decode: \(problem)")
    }
    readInputs(aps)
  }

  private mutating func readInputs(_ aps: JSONObject) {
    if let token = aps["input-push-token"] {
      wantsUpdateToken = token.int64 == 1
      if !wantsUpdateToken { complaints.append("input-push-token is not the number 1") }
    }
    if let channel = aps["input-push-channel"] {
      inputChannelID = channel.string
      if inputChannelID == nil { complaints.append("input-push-channel is not a string") }
    }
    if wantsUpdateToken, inputChannelID != nil {
      complaints.append("input-push-token and input-push-channel exclude each other")
    }
  }

  private mutating func readAlert(_ aps: JSONObject) {
    guard let value = aps["alert"] else {
      if event == .start { complaints.append("a start without alert is dropped by the phone") }
      return
    }
    guard let object = value.object else {
      alert = .incomplete
      complaints.append("alert is not an object")
      return
    }
    for key in object.keys where !["title", "body", "sound"].contains(key) {
      complaints.append("alert.\(key) is unknown to Live Activities")
    }
    let hasTitle = isText(object, "title")
    let hasBody = isText(object, "body")
    alert = hasTitle ? .complete : .incomplete
    if !hasTitle { complaints.append("an alert without title is no alert") }
    if !hasBody { complaints.append("alert.body is missing") }
    if let sound = object["sound"], sound.string == nil {
      complaints.append("alert.sound is not a string")
    }
  }

  /// A plain string, or the nested localised form that only Live Activities have.
  private func isText(_ alert: JSONObject, _ key: String) -> Bool {
    guard let value = alert[key] else { return false }
    if value.string != nil { return true }
    guard let object = value.object, object["loc-key"]?.string != nil else { return false }
    guard let arguments = object["loc-args"] else { return true }
    return arguments.array?.allSatisfy { $0.string != nil } ?? false
  }

  private static let knownKeys: Set<String> = [
    "timestamp", "event", "content-state", "attributes-type", "attributes", "alert",
    "stale-date", "dismissal-date", "relevance-score", "input-push-token", "input-push-channel",
  ]

  private mutating func readRest(_ aps: JSONObject) {
    for key in aps.keys where !Self.knownKeys.contains(key) {
      complaints.append("aps.\(key) is unknown to Live Activities")
    }
    if let score = aps["relevance-score"], score.double == nil {
      complaints.append("relevance-score is not a number")
    }
  }
}
