import APNsSimulator
import Clocks
import FieldTrips
import FieldcastServer
import JSON
import Testing
import Transport

/// What the service puts on the wire for each activity type, to the byte, and what a phone whose app
/// has the struct makes of it.
@Suite struct `On the wire` {
  private static func strict(_ schema: ActivitySchema) -> (inout SimulatorConfiguration) -> Void {
    { configuration in
      configuration.keepsAcceptedPushes = true
      configuration.schemas = [schema]
    }
  }

  @Test func `a field trip counts, and ends with its last place`() async throws {
    try await World.with(configure: Self.strict(.fieldTrip)) { world in
      try await world.withService { caller in
        let phone = try await WirePhone.join(
          #"{"name":"Pools","notebook":"Birds","dismissal":60,"#, caller, world)
        #expect(try await phone.shows(#"{"notesCaptured":0}"#))
        try await phone.note(#"{"id":"a","place":"East pools","significant":true}"#)
        #expect(try await phone.shows(#"{"notesCaptured":1,"lastPlaceName":"East pools"}"#))
        _ = try await caller.call(
          "POST", "/v1/trips/\(phone.trip)/end",
          #"{"id":"end","contentState":{"notesCaptured":2,"lastPlaceName":"Quay"}}"#)
        #expect(
          try await phone.shows(#"{"notesCaptured":2,"lastPlaceName":"Quay"}"#, in: .ended))
        let sent = try await phone.sent()
        #expect(
          sent == [
            .start(
              #"{"aps":{"timestamp":T,"event":"start","content-state":{"notesCaptured":0},"#,
              #""attributes-type":"FieldTripAttributes","attributes":{"name":"Pools","#,
              #""notebook":"Birds","tripID":"TRIP","startedAt":A},"#,
              #""input-push-channel":"CHANNEL","stale-date":S,"#,
              #""alert":{"title":"Pools","body":"Your field trip has started."}}}"#),
            .broadcast(
              5,
              #"{"aps":{"timestamp":T,"event":"update","content-state":{"notesCaptured":0},"#,
              #""stale-date":S}}"#),
            .broadcast(
              10,
              #"{"aps":{"timestamp":T,"event":"update","content-state":{"notesCaptured":1,"#,
              #""lastPlaceName":"East pools"},"stale-date":S}}"#),
            .broadcast(
              10,
              #"{"aps":{"timestamp":T,"event":"end","content-state":{"notesCaptured":2,"#,
              #""lastPlaceName":"Quay"},"dismissal-date":D}}"#),
          ])
        await phone.expectDates(staleAfter: 900, dismissal: 60)
      }
    }
  }

  @Test func `a conversation turn is started from afar, and ends by itself`() async throws {
    // Slowly, so that the card does not have to be refreshed between the turn's phases.
    try await World.with(speed: 10, configure: Self.strict(.conversationTurn)) { world in
      try await world.withService { caller in
        let phone = try await WirePhone.join(
          #"{"type":"conversation-turn","name":"Lisbon","#, startsIn: .seconds(30), caller, world)
        #expect(try await phone.shows(#"{"phase":"sending"}"#))
        try await phone.note(#"{"kind":"phase","id":"p2","phase":"thinking"}"#)
        #expect(try await phone.shows(#"{"phase":"thinking"}"#))
        try await phone.note(#"{"kind":"phase","id":"p3","phase":"answered"}"#)
        // The final phase is an update, and the end comes a minute later without anybody's doing.
        #expect(try await phone.shows(#"{"phase":"answered"}"#, in: .active))
        #expect(try await phone.shows(#"{"phase":"answered"}"#, in: .ended))
        // The channel keeps nothing, so the newest phase is sent once more for a card that may have
        // missed it: between the others, when its time has come.
        let sent = try await phone.sent().enumerated().filter {
          $0.offset < 2 || $0.element.way != "broadcast 5"
        }.map(\.element)
        #expect(
          sent == [
            .start(
              #"{"aps":{"timestamp":T,"event":"start","content-state":{"phase":"sending"},"#,
              #""attributes-type":"ConversationTurnAttributes","#,
              #""attributes":{"name":"Lisbon","tripID":"TRIP","startedAt":A},"#,
              #""input-push-channel":"CHANNEL","stale-date":S,"#,
              #""alert":{"title":"Lisbon","body":"Sending your message."}}}"#),
            .broadcast(
              5,
              #"{"aps":{"timestamp":T,"event":"update","content-state":{"phase":"sending"},"#,
              #""stale-date":S}}"#, isKept: false),
            .broadcast(
              10,
              #"{"aps":{"timestamp":T,"event":"update","content-state":{"phase":"thinking"},"#,
              #""stale-date":S}}"#, isKept: false),
            .broadcast(
              10,
              #"{"aps":{"timestamp":T,"event":"update","content-state":{"phase":"answered"},"#,
              #""stale-date":S,"alert":{"title":"Lisbon","body":"The answer is here."}}}"#,
              isKept: false),
            .broadcast(
              10,
              #"{"aps":{"timestamp":T,"event":"end","content-state":{"phase":"answered"},"#,
              #""dismissal-date":D}}"#, isKept: false),
          ])
        await phone.expectDates(staleAfter: 120, dismissal: 300)
      }
    }
  }

  @Test(arguments: [
    #"{"succeeded":{"summary":"214 tests passed","link":"https://ci.example/7"}}"#,
    #"{"failed":{"message":"3 tests failed","code":2}}"#,
    #"{"cancelled":{"by":"ada"}}"#,
  ])
  func `a job shows its result as an update before it ends`(result: String) async throws {
    try await World.with(configure: Self.strict(.jobProgress)) { world in
      try await world.withService { caller in
        let phone = try await WirePhone.join(
          #"{"type":"job-progress","name":"Build 7","#, caller, world)
        #expect(try await phone.shows(#"{"stage":"queued","progress":0}"#))
        try await phone.note(
          #"{"kind":"phase","id":"a","phase":"running","fields":{"sender":"ci-3"}}"#)
        #expect(
          try await phone.shows(#"{"stage":"running","progress":0,"sender":"ci-3"}"#))
        try await phone.note(#"{"id":"b","fields":{"progress":0.5},"significant":true}"#)
        #expect(
          try await phone.shows(#"{"stage":"running","progress":0.5,"sender":"ci-3"}"#))
        try await phone.note(
          #"{"kind":"phase","id":"c","phase":"finished","#
            + #""fields":{"progress":1,"result":\#(result)}}"#)
        let final = #"{"stage":"finished","progress":1,"sender":"ci-3","result":\#(result)}"#
        #expect(try await phone.shows(final, in: .active))
        #expect(try await phone.shows(final, in: .ended))
        let sent = try await phone.sent()
        #expect(
          sent.suffix(2) == [
            .broadcast(
              10,
              #"{"aps":{"timestamp":T,"event":"update","content-state":\#(final),"#,
              #""stale-date":S,"alert":{"title":"Build 7","body":"The job has finished."}}}"#),
            .broadcast(
              10,
              #"{"aps":{"timestamp":T,"event":"end","content-state":\#(final),"#,
              #""dismissal-date":D}}"#),
          ])
        await phone.expectDates(staleAfter: 600, dismissal: 1_800)
      }
    }
  }

  /// The job's card in an app that was made with expo-widgets.
  private static func expoJob() throws -> ActivityType {
    var definition = ActivityType.jobProgress.definition
    definition.name = "expo-job"
    definition.attributesType = "LiveActivityAttributes"
    definition.attributes = []
    definition.envelope = .namedProps("JobCard")
    definition.alerts = AlertRules(start: try AlertText(title: "A job", body: "It is {stage}."))
    definition.contentState[2].mayBeTrimmed = false
    definition.contentState[2].kind = .string(maxBytes: 4_096)
    return try ActivityType(definition)
  }

  @Test func `properties travel as a text of JSON, and their quotes count`() async throws {
    let type = try Self.expoJob()
    try await World.with(configure: Self.strict(.expoWidgets)) { world in
      try await world.withService {
        $0.activityTypes.append(type)
      } _: { caller in
        let phone = try await WirePhone.join(
          #"{"type":"expo-job","name":"Build 7","#, caller, world)
        let path = "/v1/trips/\(phone.trip)/content-state"
        func put(_ id: String, _ sender: String) async throws -> TestCaller.Answer {
          let state = #"{"stage":"running","progress":0.5,"sender":"\#(sender)"}"#
          return try await caller.call(
            "PUT", path, #"{"id":"\#(id)","significant":true,"contentState":\#(state)}"#)
        }
        // Each quote is `\"` in the state and `\\\"` in the text that it becomes part of.
        let quotes = #"\""#
        let fits = String(repeating: quotes, count: 900)
        #expect(try await put("b", fits).status == 202)
        let wire =
          #"{"name":"JobCard","props":"{\"stage\":\"running\",\"progress\":0.5,"#
          + #"\"sender\":\""# + String(repeating: #"\\\""#, count: 900) + #"\"}"}"#
        #expect(try await phone.shows(wire))
        let refused = try await put("c", String(repeating: quotes, count: 1_020))
        #expect(refused.problem == "state-too-large", "\(refused.text)")
        let sent = try await phone.sent()
        #expect(
          sent.first
            == .start(
              #"{"aps":{"timestamp":T,"event":"start","content-state":{"name":"JobCard","#,
              #""props":"{\"stage\":\"queued\",\"progress\":0}"},"#,
              #""attributes-type":"LiveActivityAttributes","attributes":{},"#,
              #""input-push-channel":"CHANNEL","stale-date":S,"#,
              #""alert":{"title":"A job","body":"It is queued."}}}"#))
        #expect(
          sent.last
            == .broadcast(
              10,
              #"{"aps":{"timestamp":T,"event":"update","content-state":\#(wire),"#,
              #""stale-date":S}}"#))
      }
    }
  }
}

/// A push as it was accepted, with what differs between runs put as `T`, `S`, `D`, `A`, `TRIP` and
/// `CHANNEL`.
private struct WirePush: Equatable {
  var way: String
  var body: String

  /// By push-to-start token.
  static func start(_ parts: String...) -> WirePush {
    WirePush(way: "start", body: parts.joined())
  }

  /// - Parameter isKept: whether APNs is to keep it for phones that are offline.
  static func broadcast(_ priority: Int, _ parts: String..., isKept: Bool = true) -> WirePush {
    WirePush(way: "broadcast \(priority)" + (isKept ? " kept" : ""), body: parts.joined())
  }

  /// One whose headers are not as Apple wants them.
  static func strange(_ body: String) -> WirePush { WirePush(way: "strange", body: body) }
}

/// The one phone of a trip, started from afar, with an app that has the struct of the trip's type.
private struct WirePhone {
  let trip: String
  let phone: Int
  let channelID: String
  let startsAt: UnixTime
  let caller: TestCaller
  let world: World

  /// - Parameter body: the beginning of the request that creates the trip.
  static func join(
    _ body: String, startsIn wait: Duration = .seconds(180), _ caller: TestCaller, _ world: World
  ) async throws -> WirePhone {
    let starts = world.clock.wall + wait
    let created = try await caller.createTrip(body + #""startsAt":\#(starts.wholeSeconds)}"#)
    let ada = try await TestPhone.make(SystemVersion(18, 0), of: "ada", in: world)
    try await ada.join(created.id, caller, withStartToken: true)
    let phone = WirePhone(
      trip: created.id, phone: ada.phone, channelID: created.channelID, startsAt: starts,
      caller: caller, world: world)
    _ = try await ada.waitForCard()
    try await phone.waitForFirstBroadcast()
    return phone
  }

  /// Before anything changes, so that what is sent is the same in each run.
  private func waitForFirstBroadcast() async throws {
    let (bundleID, channelID) = (world.bundleID, channelID)
    let isThere = await world.simulator.wait(upTo: .seconds(30)) { apns, _ in
      apns.channel(bundleID, channelID)?.ledger.last != nil
    }
    #expect(isThere, "the first state is not broadcast")
  }

  func note(_ body: String) async throws {
    let answer = try await caller.call("POST", "/v1/trips/\(trip)/notes", body)
    #expect(answer.status == 202, "\(answer.text)")
  }

  /// Waits until the phone shows this state, byte for byte.
  func shows(_ state: String, in phase: LiveActivity.Phase? = nil) async throws -> Bool {
    let number = phone
    return await world.simulator.wait(upTo: .seconds(40)) { apns, now in
      guard let card = (try? apns.cards(of: number, now: now))?.first else { return false }
      return card.contentState == state && (phase == nil || card.phase == phase)
    }
  }

  /// All that APNs accepted, the start first: the first broadcast does not wait for it. The phones decode strictly, and complain of nothing.
  func sent() async throws -> [WirePush] {
    let complaints = await world.simulator.run { apns, _ in apns.complaints.recent.map(\.text) }
    #expect(complaints.isEmpty)
    let pushes = await world.simulator.run { apns, _ in apns.acceptedPushes }.map(masked)
    return pushes.filter { $0.way == "start" } + pushes.filter { $0.way != "start" }
  }

  private func masked(_ push: SimulatedRequest) -> WirePush {
    var text = String(decoding: push.body, as: UTF8.self)
    text = text.replacing(/"timestamp":[0-9]{10}/, with: #""timestamp":T"#)
    text = text.replacing(/"stale-date":[0-9]{10}/, with: #""stale-date":S"#)
    text = text.replacing(/"startedAt":[0-9]{10}/, with: #""startedAt":A"#)
    text = text.replacing(/"dismissal-date":[0-9]{10}/, with: #""dismissal-date":D"#)
    text = text.replacing(trip, with: "TRIP").replacing(channelID, with: "CHANNEL")
    let priority = push.value("apns-priority").flatMap { Int($0) } ?? 0
    let expiration = push.value("apns-expiration").flatMap { Int64($0) } ?? -1
    guard push.value("apns-push-type") == "liveactivity" else { return .strange(text) }
    if push.path.hasPrefix("/3/device/") {
      guard push.value("apns-topic") == world.bundleID + ".push-type.liveactivity",
        priority == 10, expiration > startsAt.wholeSeconds, push.value("apns-channel-id") == nil
      else { return .strange(text) }
      return .start(text)
    }
    guard push.path == "/4/broadcasts/apps/" + world.bundleID,
      push.value("apns-channel-id") == channelID, push.value("apns-topic") == nil,
      expiration == 0 || expiration > startsAt.wholeSeconds
    else { return .strange(text) }
    return .broadcast(priority, text, isKept: expiration != 0)
  }

  /// That stale and dismissal dates lie so many seconds behind their push, in whole seconds.
  func expectDates(
    staleAfter: Int64, dismissal: Int64, sourceLocation: SourceLocation = #_sourceLocation
  ) async {
    let pushes = await world.ledger(of: channelID)?.recent ?? []
    for push in pushes {
      guard let sent = push.payload.timestampSeconds else { continue }
      // A timestamp may lead the clock, from which dates are counted, by a few seconds.
      if let stale = push.payload.staleDateSeconds {
        #expect(
          (staleAfter - 5...staleAfter + 60).contains(stale - sent),
          sourceLocation: sourceLocation)
      }
      if let gone = push.payload.dismissalDateSeconds {
        #expect(
          (dismissal - 5...dismissal + 60).contains(gone - sent),
          sourceLocation: sourceLocation)
      }
    }
    #expect(pushes.last?.payload.dismissalDateSeconds != nil, sourceLocation: sourceLocation)
    expectOrder(in: pushes, sourceLocation: sourceLocation)
  }

  private func expectOrder(in pushes: [ActivityPush], sourceLocation: SourceLocation) {
    let timestamps = pushes.compactMap(\.payload.timestampSeconds)
    #expect(
      zip(timestamps, timestamps.dropFirst()).allSatisfy(<), sourceLocation: sourceLocation)
  }
}
