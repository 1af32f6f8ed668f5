package import Clocks
internal import HTTP
internal import JSON
package import Transport

/// The simulated APNs and its phones, as their introspection shows them.
package struct SimulatorProbe: Sendable {
  private let client: HTTP1Client
  private let query: String

  package init(at endpoint: Endpoint, bundleID: String?, loop: EventLoop) {
    client = HTTP1Client(endpoint: endpoint, responseLimit: 256 << 20, loop: loop)
    query = bundleID.map { "?bundle=\($0)" } ?? ""
  }

  package func close() async { await client.close() }

  /// The simulator's time.
  package func now() async throws -> UnixTime {
    guard let seconds = try await call("GET", "/clock")["now"]?.double else {
      throw LoadFailure("The simulator does not tell its time.")
    }
    return UnixTime(seconds: seconds)
  }

  package func addCrowd(
    _ count: Int, channelID: String, contentState: String, staleDateSeconds: Int64?
  ) async throws {
    let state = try JSONValue.parse(contentState)
    var body: JSONObject = [
      "count": .number(JSONNumber(count)), "channel": .string(channelID), "contentState": state,
    ]
    if let staleDateSeconds { body["staleDate"] = .number(JSONNumber(staleDateSeconds)) }
    _ = try await call("POST", "/crowds" + query, .object(body))
  }

  /// A single phone whose card may go again; the two numbers say which.
  package struct SinglePhone: Sendable {
    let phone: Int64
    let activity: Int64
  }

  package func addPhone(
    channelID: String, contentState: String, staleDateSeconds: Int64?
  ) async throws -> SinglePhone {
    guard
      let phone = try await call("POST", "/phones" + query, ["system": "18.2"])["phone"]?.int64
    else { throw LoadFailure("The simulator gave a phone no number.") }
    var body: JSONObject = [
      "channel": .string(channelID), "contentState": try JSONValue.parse(contentState),
    ]
    if let staleDateSeconds { body["staleDate"] = .number(JSONNumber(staleDateSeconds)) }
    let started = try await call("POST", "/phones/\(phone)/activities", .object(body))
    guard let activity = started["activity"]?.int64 else {
      throw LoadFailure("The simulator gave an activity no number.")
    }
    return SinglePhone(phone: phone, activity: activity)
  }

  package func dismiss(_ single: SinglePhone) async throws {
    _ = try await call("DELETE", "/phones/\(single.phone)/activities/\(single.activity)")
  }

  /// A broadcast as the journal has it.
  package struct Accepted: Sendable {
    package var channelID: String
    package var at: UnixTime
    /// Trip and times are filled in by whoever knows them.
    package var broadcast: SeenBroadcast
  }

  /// What was accepted since the `known` ones, at most `limit`.
  package func broadcasts(
    after known: Int, limit: Int
  ) async throws -> (next: Int, missed: Int, accepted: [Accepted]) {
    let reply = try await call("GET", "/broadcasts?after=\(known)&limit=\(limit)")
    let list = reply["broadcasts"]?.array ?? []
    return (
      Int(reply["next"]?.int64 ?? 0), Int(reply["missed"]?.int64 ?? 0), list.compactMap(Self.read)
    )
  }

  private static func read(_ value: JSONValue) -> Accepted? {
    guard let channelID = value["channel"]?.string, let at = value["acceptedAt"]?.double,
      let priority = value["priority"]?.int64
    else { return nil }
    var broadcast = SeenBroadcast(
      trip: 0, acceptedAt: 0, priority: Int(priority),
      notes: value["contentState"]?["notesCaptured"]?.int64.map(Int.init),
      phones: Int(value["phones"]?.int64 ?? 0),
      delays: (value["delayMicroseconds"]?.array ?? []).compactMap { $0.int64.map(Int.init) },
      lastDelay: value["lastMicroseconds"]?.int64.map(Int.init))
    broadcast.lost = Int(value["lost"]?.int64 ?? 0)
    broadcast.isEnd = value["event"]?.string == "end"
    return Accepted(channelID: channelID, at: UnixTime(seconds: at), broadcast: broadcast)
  }

  /// What a channel's phones show.
  package struct Shown: Sendable {
    package struct State: Sendable {
      package var notes: Int
      package var place: String?
      package var phones: Int
    }

    package var channelID: String
    package var states: [State]
    /// What became of pushes at phones, by name.
    package var outcomes: [String: Int]
  }

  package func shown(on channelIDs: [String]) async throws -> [Shown] {
    let body: JSONValue = ["channels": .array(channelIDs.map { .string($0) })]
    let reply = try await call("POST", "/shown" + query, body)
    return (reply.array ?? []).map { value in
      let states = (value["shown"]?.array ?? []).map { shown in
        Shown.State(
          notes: Int(shown["contentState"]?["notesCaptured"]?.int64 ?? -1),
          place: shown["contentState"]?["lastPlaceName"]?.string,
          phones: Int(shown["phones"]?.int64 ?? 0))
      }
      return Shown(
        channelID: value["channel"]?.string ?? "", states: states,
        outcomes: Self.counts(value["outcomes"]))
    }
  }

  /// Refusals since the start, by reason.
  package func refusals() async throws -> [String: Int] {
    Self.counts(try await call("GET", "/stats")["byReason"])
  }

  private static func counts(_ value: JSONValue?) -> [String: Int] {
    var counts: [String: Int] = [:]
    for member in value?.object?.elements ?? [] {
      counts[member.key] = Int(member.value.int64 ?? 0)
    }
    return counts
  }

  private func call(
    _ method: String, _ path: String, _ body: JSONValue? = nil
  ) async throws -> JSONValue {
    var fields: HTTPFields = [:]
    if body != nil { fields["content-type"] = "application/json" }
    let request = HTTPRequest(
      method: method, path: path, fields: fields, body: body?.serialized() ?? [])
    switch await client.send(request, deadline: .seconds(60)) {
    case .answered(let response):
      guard response.status == 200 else {
        throw LoadFailure("The simulator says \(response.status): \(response.text.prefix(300))")
      }
      return try JSONValue.parse(response.body, limits: JSONLimits(maxBytes: 256 << 20))
    case .notSent(let failure), .unknown(let failure):
      throw LoadFailure("The simulator does not answer: \(failure.message)")
    }
  }
}
