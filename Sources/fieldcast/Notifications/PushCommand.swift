internal import HTTP
internal import JSON
internal import LoadHarness
internal import Transport

/// `fieldcast push`: a notification to a member, to a trip's members or to one device.
package enum PushCommand: Command {
  static let token = ServiceCaller.token(for: "push")
  static let member = Option<String?>.text(
    "member", "NAME", help: "Sends to all devices of this person. Either this, --trip or --device.")
  static let trip = Option<String?>.text(
    "trip", "ID", help: "Sends to all members of this trip, each device once.")
  static let device = Option<String?>.text(
    "device", "NAME",
    help: "Sends to a device that was registered without a member, by the name that it got then.")
  static let title = Option<String?>.text("title", "TEXT", help: "The line above the text.")
  static let sound = Option<String?>.text(
    "sound", "FILE", help: "A sound file in the app, or default. Without it, it is silent.")
  static let at = Option<String?>.text(
    "at", "TIME", help: "As 2026-05-01T09:30:00Z; without it, at once.")
  static let collapseID = Option<String?>.text(
    "collapse-id", "ID", help: "Replaces what is displayed of earlier ones with the same ID.")
  static let request = Option<String?>.text(
    "request", "FILE",
    help: """
      JSON as POST /v1/notifications takes it, with everything that a notification can have; the \
      other options are put into it. - reads it from the input.
      """)
  static let key = Option<String?>.text(
    "key", "KEY", help: "An idempotency key: the same command again sends nothing new.")
  static let json = Option<Bool>.flag("json", help: "Writes the service's answer, a JSON object.")

  package static let help = CommandHelp(
    "push", summary: "Sends a notification to a member, a trip's members or a device",
    discussion: """
      Asks a running service to send an alert now or at a time. What is sent at once is waited \
      for, up to 20 s, and its outcome shown: how many devices APNs accepted it for, and how many not.
      """,
    positionals: [
      CommandHelp.Positional("TEXT", required: false, help: "What the notification says.")
    ],
    options: [
      member.spec, trip.spec, device.spec, title.spec, sound.spec, at.spec, collapseID.spec,
      request.spec, key.spec, ServiceCaller.service.spec, token.spec, json.spec,
    ],
    examples: [
      "fieldcast push --member ada --title Birds --sound default Heron",
      "fieldcast push --trip fe1c5ddc-f9f9-473b-841e-58b541e739fa "
        + "--at 2026-05-01T10:00:00Z Lunch",
      "fieldcast push --request notification.json --json",
    ],
    statuses: [.badInput, .noInput, .unavailable, .configuration])

  package static func run(_ arguments: ParsedArguments) async throws -> ExitStatus {
    let answer = try await ServiceCaller.with(
      arguments, token: arguments[token], scope: "push"
    ) { caller, loop in
      let body = try body(from: arguments)
      var fields: HTTPFields = [:]
      if let key = arguments[key] { fields["idempotency-key"] = key }
      let answer = try await caller.call("POST", "/v1/notifications", body: body, fields: fields)
      return arguments[at] == nil ? try await wait(for: answer, caller, loop) : answer
    }
    Terminal.output.writeLine(arguments[json] ? answer.text : sentence(answer.value))
    return .success
  }

  private static func body(from arguments: ParsedArguments) throws -> [UInt8] {
    var object: JSONObject = [:]
    if let path = arguments[request] { object = try read(path) }
    var recipient = object["to"]?.object ?? [:]
    if let name = arguments[member] { recipient["member"] = .string(name) }
    if let id = arguments[trip] { recipient["trip"] = .string(id) }
    if let name = arguments[device] { recipient["device"] = .string(name) }
    guard !recipient.isEmpty else {
      throw UsageError(message: "Nobody is named: give --member NAME, --trip ID or --device NAME.")
    }
    object["to"] = .object(recipient)
    var alert = object["alert"]?.object ?? [:]
    if let text = arguments.positionals.first { alert["body"] = .string(text) }
    if let text = arguments[title] { alert["title"] = .string(text) }
    if !alert.isEmpty { object["alert"] = .object(alert) }
    let texts = [
      ("sound", arguments[sound]), ("sendAt", arguments[at]), ("collapseID", arguments[collapseID]),
    ]
    for (name, text) in texts {
      if let text { object[name] = .string(text) }
    }
    return JSONValue.object(object).serialized()
  }

  private static func read(_ path: String) throws(CommandFailure) -> JSONObject {
    guard let bytes = InputFile.bytes(at: path) else {
      throw CommandFailure(.noInput, "\(path) cannot be read.")
    }
    let value: JSONValue
    do throws(JSONError) {
      value = try JSONValue.parse(bytes)
    } catch {
      throw CommandFailure(.badInput, "\(path) is not JSON: \(error.message)")
    }
    guard let object = value.object else {
      throw CommandFailure(.badInput, "\(path) holds no JSON object.")
    }
    return object
  }

  /// What is sent at once is over soon.
  private static func wait(
    for first: ServiceCaller.Answer, _ caller: ServiceCaller, _ loop: EventLoop
  ) async throws -> ServiceCaller.Answer {
    var answer = first
    guard let id = first.value["id"]?.string else { return first }
    for _ in 0..<200 {
      // A source, or a time of the request's own: later than one waits for.
      guard ["armed", "sending"].contains(answer.value["state"]?.string),
        answer.value["nextTryAt"] == nil, answer.value["sendAt"] == answer.value["createdAt"]
      else { return answer }
      try await loop.sleep(for: .milliseconds(100))
      answer = try await caller.call("GET", "/v1/notifications/\(id)")
    }
    return answer
  }

  private static func sentence(_ answer: JSONValue) -> String {
    let id = answer["id"]?.string ?? ""
    let state = answer["state"]?.string ?? ""
    var text = "\(id): \(state)"
    if answer["devices"] == nil, let time = answer["sendAt"]?.string { text += " for \(time)" }
    let counts = ["accepted", "unconfirmed", "waiting", "dead", "refused"].compactMap { name in
      answer["devices"]?[name]?.int64.flatMap { $0 > 0 ? "\($0) \(name)" : nil }
    }
    if !counts.isEmpty { text += ", " + counts.joined(separator: ", ") }
    if let reason = answer["reason"]?.string { text += ". " + Text.harmless(reason) }
    return text
  }
}
