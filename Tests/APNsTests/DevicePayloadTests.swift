import Clocks
import JSON
import Testing

@testable import APNs

private func text(_ json: String) throws -> JSONText { try JSONText(validating: Array(json.utf8)) }

private func string(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }

@Suite struct `The options of a push` {
  @Test(arguments: [
    (PushType.alert, "com.example.trips"), (.background, "com.example.trips"),
    (.liveActivity, "com.example.trips.push-type.liveactivity"),
    (.widgets, "com.example.trips.push-type.widgets"),
    (.controls, "com.example.trips.push-type.controls"),
    (.location, "com.example.trips.location-query"), (.voip, "com.example.trips.voip"),
    (.pushToTalk, "com.example.trips.voip-ptt"),
    (.complication, "com.example.trips.complication"),
    (.fileProvider, "com.example.trips.pushkit.fileprovider"),
    (.accessory, "com.example.trips.push-type.accessory"),
  ])
  func `give each type its topic`(type: PushType, topic: String) throws {
    #expect(try PushOptions(type).topic(of: BundleID("com.example.trips")) == topic)
  }

  @Test func `give management its own topic, and nobody else one`() throws {
    let options = try PushOptions(.mdm, topic: "com.apple.mgmt.External.1")
    #expect(options.topic(of: try BundleID("a.b")) == "com.apple.mgmt.External.1")
    #expect(throws: PushRuleError.topic(.mdm)) { try PushOptions(.mdm) }
    #expect(throws: PushRuleError.topic(.alert)) { try PushOptions(.alert, topic: "a.b") }
    #expect(throws: PushRuleError.unusableTopic) { try PushOptions(.mdm, topic: "a\nb") }
  }

  @Test func `allow the priorities that the type allows`() throws {
    #expect(try PushOptions(.background).priority == .considerate)
    #expect(try PushOptions(.alert).priority == .immediate)
    #expect(try PushOptions(.alert, priority: .idle).priority == .idle)
    #expect(throws: PushRuleError.priority(.background, .immediate)) {
      try PushOptions(.background, priority: .immediate)
    }
    #expect(throws: PushRuleError.priority(.liveActivity, .idle)) {
      try PushOptions(.liveActivity, priority: .idle)
    }
  }

  @Test func `take a collapse ID of 64 bytes`() throws {
    let longest = String(repeating: "ü", count: 32)
    #expect(try PushOptions(.alert, collapseID: longest).collapseID == longest)
    #expect(throws: PushRuleError.collapseIDTooLong(bytes: 65)) {
      try PushOptions(.alert, collapseID: longest + "a")
    }
    for bad in ["", " a", "a\r\nb", "a "] {
      #expect(throws: PushRuleError.unusableCollapseID) { try PushOptions(.alert, collapseID: bad) }
    }
  }

  @Test func `write expirations as Apple reads them`() {
    #expect(PushExpiration.attemptOnce.text == "0")
    #expect(PushExpiration.until(UnixTime(seconds: 1_790_000_000.9)).text == "1790000000")
    #expect(PushExpiration.longest.text == nil)
  }
}

@Suite struct `The payload of an alert` {
  @Test func `with everything in it is, byte for byte`() throws {
    var alert = AlertPayload(title: .plain("Vienna"), body: .plain("Day \"two\""))
    alert.subtitle = .localized(key: "SUB", arguments: ["a", "b"])
    alert.launchImage = "l.png"
    alert.badge = 0
    alert.sound = .critical(name: "horn.caf", volume: 0.5)
    alert.threadID = "t"
    alert.category = "c"
    alert.isMutable = true
    alert.targetContentID = "w"
    alert.interruptionLevel = .timeSensitive
    alert.relevance = 0.25
    alert.filterCriteria = "f"
    alert.custom = [("trip", try text(#"{"id": 1e2}"#)), ("x", try text("null"))]
    #expect(
      string(try alert.encoded())
        == #"{"aps":{"alert":{"title":"Vienna","subtitle-loc-key":"SUB","#
        + #""subtitle-loc-args":["a","b"],"body":"Day \"two\"","launch-image":"l.png"},"#
        + #""badge":0,"sound":{"critical":1,"name":"horn.caf","volume":0.5},"thread-id":"t","#
        + #""category":"c","mutable-content":1,"target-content-id":"w","#
        + #""interruption-level":"time-sensitive","relevance-score":0.25,"filter-criteria":"f"},"#
        + #""trip":{"id": 1e2},"x":null}"#)
  }

  @Test func `names localised texts flatly`() throws {
    let alert = AlertPayload(
      title: .localized(key: "T"), body: .localized(key: "B", arguments: ["1"]))
    #expect(
      string(try alert.encoded())
        == #"{"aps":{"alert":{"title-loc-key":"T","loc-key":"B","loc-args":["1"]}}}"#)
  }

  @Test func `is refused when nobody would notice it, or Apple would`() throws {
    var alert = AlertPayload()
    #expect(throws: PayloadError.self) { try alert.encoded() }
    alert.badge = -1
    #expect(throws: PayloadError.outOfRange(name: "badge", allowed: "0 or more")) {
      try alert.encoded()
    }
    alert.badge = 1
    #expect(string(try alert.encoded()) == #"{"aps":{"badge":1}}"#)
    alert.isMutable = true
    #expect(throws: PayloadError.self) { try alert.encoded() }
    alert.isMutable = false
    alert.relevance = 1.5
    #expect(throws: PayloadError.outOfRange(name: "relevance-score", allowed: "0 to 1")) {
      try alert.encoded()
    }
    alert.relevance = nil
    alert.sound = .critical(volume: 2)
    #expect(throws: PayloadError.outOfRange(name: "volume", allowed: "0 to 1")) {
      try alert.encoded()
    }
  }

  @Test(arguments: [["aps"], ["a", "a"]])
  func `is refused with a member twice`(keys: [String]) throws {
    var alert = AlertPayload(title: .plain("t"))
    alert.custom = try keys.map { ($0, try text("1")) }
    #expect(throws: PayloadError.self) { try alert.encoded() }
    #expect(throws: PayloadError.self) { try BackgroundPayload(custom: alert.custom).encoded() }
  }

  @Test func `may have 4,096 bytes and not one more`() throws {
    func alert(_ count: Int) -> AlertPayload {
      AlertPayload(body: .plain(String(repeating: "b", count: count)))
    }
    let rest = 4_096 - (try alert(0).encoded().count)
    #expect(try alert(rest).encoded().count == 4_096)
    #expect(throws: PayloadError.tooLarge(bytes: 4_097, limit: 4_096)) {
      try alert(rest + 1).encoded()
    }
  }

  @Test func `in the background is silent`() throws {
    let payload = BackgroundPayload(custom: [("k", try text("[1]"))])
    #expect(string(try payload.encoded()) == #"{"aps":{"content-available":1},"k":[1]}"#)
  }
}

@Suite struct `The payload of one Live Activity` {
  private func start(_ input: LiveActivityPayload.Input?) throws -> LiveActivityPayload {
    LiveActivityPayload(
      .start(
        .init(
          attributesType: "TrainAttributes", attributes: try text(#"{"trainId":"IC 512"}"#),
          alert: .init(
            title: .plain("IC 512"), body: .plain("Boarding at platform 4"), sound: "default"),
          input: input, staleDate: UnixTime(wholeSeconds: 1_790_000_600))),
      timestampSeconds: 1_790_000_000,
      contentState: try text(#"{"phase":"boarding","platform":"4"}"#))
  }

  @Test func `of a start is, byte for byte`() throws {
    let channel = try #require(ChannelID("dHN0LXNyY2gtY2hubA=="))
    #expect(
      string(try start(.channel(channel)).encoded())
        == #"{"aps":{"timestamp":1790000000,"event":"start","#
        + #""content-state":{"phase":"boarding","platform":"4"},"#
        + #""attributes-type":"TrainAttributes","attributes":{"trainId":"IC 512"},"#
        + #""input-push-channel":"dHN0LXNyY2gtY2hubA==","stale-date":1790000600,"#
        + #""alert":{"title":"IC 512","body":"Boarding at platform 4","sound":"default"}}}"#)
    #expect(string(try start(.token).encoded()).contains(#""input-push-token":1,"#))
    #expect(!string(try start(nil).encoded()).contains("input-push"))
  }

  @Test func `of an update is that of a broadcast, with the smaller limit`() throws {
    let state = try text(#"{"s":"\#(String(repeating: "x", count: 3_900))"}"#)
    let alert = LiveActivityAlert(
      title: .plain("t"), body: .plain(String(repeating: "b", count: 300)))
    let broadcast = BroadcastPayload(
      .update(), timestampSeconds: 1, contentState: state, alert: alert)
    let single = LiveActivityPayload(
      .update(), timestampSeconds: 1, contentState: state, alert: alert)
    let bytes = try broadcast.encoded().count
    #expect(throws: PayloadError.tooLarge(bytes: bytes, limit: 4_096)) { try single.encoded() }
    var short = single
    short.alert = nil
    #expect(try short.encoded().count < 4_096)
    short.event = .end(dismissalDate: UnixTime(wholeSeconds: 5))
    #expect(string(try short.encoded()).hasSuffix(#","dismissal-date":5}}"#))
  }

  @Test func `of an end may leave the state as it is, of others not`() throws {
    let end = LiveActivityPayload(.end(), timestampSeconds: 5, contentState: nil)
    #expect(string(try end.encoded()) == #"{"aps":{"timestamp":5,"event":"end"}}"#)
    let update = LiveActivityPayload(.update(), timestampSeconds: 5, contentState: nil)
    #expect(throws: PayloadError.notAnObject(name: "content-state")) { try update.encoded() }
  }

  @Test(arguments: [-1, 1_790_000_000_000]) func `counts in seconds`(timestamp: Int64) throws {
    let end = LiveActivityPayload(.end(), timestampSeconds: timestamp, contentState: nil)
    #expect(throws: PayloadError.self) { try end.encoded() }
  }

  @Test func `of a start needs what the phone needs`() throws {
    var payload = try start(.token)
    guard case .start(var start) = payload.event else { return }
    start.alert.title = .plain("")
    payload.event = .start(start)
    #expect(throws: PayloadError.incompleteAlert) { try payload.encoded() }
    start.alert.title = .plain("t")
    start.attributes = try text("[]")
    payload.event = .start(start)
    #expect(throws: PayloadError.notAnObject(name: "attributes")) { try payload.encoded() }
    start.attributes = try text(#"{"a":"\#(String(repeating: "x", count: 4_090))"}"#)
    payload.event = .start(start)
    #expect(throws: PayloadError.self) { try payload.encoded() }
  }
}

@Suite struct `A payload that the caller wrote` {
  @Test(arguments: [
    (PushType.alert, #"{"aps":{"alert":"x"},"n":1e2}"#),
    (.background, #"{"aps":{"content-available":1}}"#),
    (.liveActivity, #"{"aps":{"timestamp":1,"event":"update","content-state":{}}}"#),
    (.liveActivity, #"{"aps":{"timestamp":1,"event":"end"}}"#),
    (
      .liveActivity,
      #"{"aps":{"timestamp":1,"event":"start","content-state":{},"attributes-type":"T","#
        + #""attributes":{},"alert":{"title":"t","body":"b"},"input-push-token":1}}"#
    ),
    (.mdm, #"{"mdm":"x"}"#), (.widgets, #"{"aps":{"content-changed":true}}"#),
  ])
  func `passes untouched when it keeps the rules`(type: PushType, json: String) throws {
    #expect(string(try RawPayload(text(json), for: type).encoded()) == json)
  }

  @Test(arguments: [
    (PushType.alert, "[]"), (.alert, "{}"), (.alert, #"{"aps":{}}"#), (.alert, #"{"aps":7}"#),
    (.background, #"{"aps":{"alert":"x"}}"#),
    (.background, #"{"aps":{"content-available":1,"sound":"s"}}"#),
    (.liveActivity, #"{"aps":{"timestamp":1,"event":"stop","content-state":{}}}"#),
    (.liveActivity, #"{"aps":{"event":"update","content-state":{}}}"#),
    (.liveActivity, #"{"aps":{"timestamp":1790000000000,"event":"update","content-state":{}}}"#),
    (.liveActivity, #"{"aps":{"timestamp":1.5,"event":"update","content-state":{}}}"#),
    (.liveActivity, #"{"aps":{"timestamp":1,"event":"update","content-state":"{}"}}"#),
    (
      .liveActivity,
      #"{"aps":{"timestamp":1,"event":"update","content-state":{},"stale-date":"x"}}"#
    ),
    (
      .liveActivity,
      #"{"aps":{"timestamp":1,"event":"start","content-state":{},"attributes-type":"T","#
        + #""attributes":{}}}"#
    ),
    (
      .liveActivity,
      #"{"aps":{"timestamp":1,"event":"start","content-state":{},"attributes-type":"T","#
        + #""attributes":{},"alert":{"title":"t","body":"b"},"input-push-token":1,"#
        + #""input-push-channel":"AAAA"}}"#
    ),
  ])
  func `is refused when it breaks one`(type: PushType, json: String) throws {
    #expect(throws: PayloadError.self) { try RawPayload(text(json), for: type) }
  }

  @Test func `has the size of its type`() throws {
    let json = #"{"aps":{"alert":"\#(String(repeating: "x", count: 4_200))"}}"#
    #expect(throws: PayloadError.self) { try RawPayload(text(json), for: .alert) }
    #expect(try RawPayload(text(json), for: .voip).encoded().count > 4_096)
  }
}

@Suite struct `The payload of a signal` {
  @Test func `is, byte for byte`() throws {
    #expect(string(try WidgetPayload().encoded()) == #"{"aps":{"content-changed":true}}"#)
    #expect(
      string(try FileProviderPayload(containerIdentifier: "root", domain: "d").encoded())
        == #"{"container-identifier":"root","domain":"d"}"#)
    #expect(string(try ManagementPayload(pushMagic: "m\"").encoded()) == #"{"mdm":"m\""}"#)
    let call = CustomPayload(.voip, members: [("caller", try text(#" {"n": 1e2} "#))])
    #expect(string(try call.encoded()) == #"{"aps":{},"caller": {"n": 1e2} }"#)
    let talk = CustomPayload(.pushToTalk, members: [("aps", try text(#"{"x":1}"#))])
    #expect(string(try talk.encoded()) == #"{"aps":{"x":1}}"#)
  }

  @Test func `has the type that it says`() {
    let kinds = CustomPayload.Kind.allCases.map { CustomPayload($0).type }
    #expect(Set(kinds).count == kinds.count)
    #expect(kinds == [.voip, .pushToTalk, .complication, .location, .controls, .accessory])
  }

  @Test func `is refused when the device could make nothing of it`() throws {
    #expect(throws: PayloadError.self) {
      try FileProviderPayload(containerIdentifier: "").encoded()
    }
    #expect(throws: PayloadError.self) { try ManagementPayload(pushMagic: "").encoded() }
    let one = try text("1")
    #expect(throws: PayloadError.self) {
      try CustomPayload(.voip, members: [("a", one), ("a", one)]).encoded()
    }
    let long = try text("\"" + String(repeating: "x", count: 4_100) + "\"")
    #expect(try CustomPayload(.voip, members: [("a", long)]).encoded().count > 4_096)
    #expect(throws: PayloadError.self) {
      try CustomPayload(.location, members: [("a", long)]).encoded()
    }
  }
}

@Suite struct `A push` {
  @Test func `takes its type from what it says`() throws {
    let push = try Push(AlertPayload(title: .plain("a")), collapseID: "c")
    #expect(push.options == (try PushOptions(.alert, collapseID: "c")))
    #expect(string(push.payload) == #"{"aps":{"alert":{"title":"a"}}}"#)
    let call = try Push(CustomPayload(.voip))
    #expect(call.options.expiration == .attemptOnce)
    #expect(try Push(BackgroundPayload()).options.priority == .considerate)
    #expect(try Push(ManagementPayload(pushMagic: "m"), topic: "t").options.type == .mdm)
  }

  @Test func `is refused when payload and head do not fit`() throws {
    #expect(throws: PushRuleError.priority(.background, .immediate)) {
      try Push(BackgroundPayload(), priority: .immediate)
    }
    #expect(throws: PushRuleError.topic(.mdm)) { try Push(ManagementPayload(pushMagic: "m")) }
    #expect(throws: PushRuleError.topic(.alert)) {
      try Push(AlertPayload(title: .plain("a")), topic: "t")
    }
    #expect(throws: PayloadError.self) { try Push(AlertPayload()) }
  }
}
