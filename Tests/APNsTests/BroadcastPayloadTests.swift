import Clocks
import JSON
import Testing

@testable import APNs

private func text(_ json: String) throws -> JSONText { try JSONText(validating: Array(json.utf8)) }

private func encoded(_ payload: BroadcastPayload) throws -> String {
  String(decoding: try payload.encoded(), as: UTF8.self)
}

@Suite struct `The payload of a broadcast` {
  private let alert = LiveActivityAlert(title: .plain("Vienna"), body: .plain("New note"))

  @Test func `of an update is, byte for byte`() throws {
    let state = try text(#"{"notesCaptured":3,"lastPlaceName":"Café \"Zur Post\""}"#)
    let payload = BroadcastPayload(
      .update(staleDate: UnixTime(seconds: 1_790_000_960.9)), timestampSeconds: 1_790_000_060,
      contentState: state)
    #expect(
      try encoded(payload)
        == #"{"aps":{"timestamp":1790000060,"event":"update","content-state":"#
        + #"{"notesCaptured":3,"lastPlaceName":"Café \"Zur Post\""},"stale-date":1790000960}}"#)
  }

  @Test func `of an end is, byte for byte`() throws {
    let payload = BroadcastPayload(
      .end(dismissalDate: UnixTime(wholeSeconds: 1_790_007_500)), timestampSeconds: 1_790_007_200,
      contentState: try text(#"{"phase":"arrived"}"#))
    #expect(
      try encoded(payload)
        == #"{"aps":{"timestamp":1790007200,"event":"end","content-state":{"phase":"arrived"},"#
        + #""dismissal-date":1790007500}}"#)
  }

  @Test func `carries relevance and an alert`() throws {
    var payload = BroadcastPayload(
      .update(relevance: 75), timestampSeconds: 1, contentState: try text("{}"),
      alert: .init(title: .plain("A \"b\""), body: .plain("c\nd"), sound: "default"))
    #expect(
      try encoded(payload)
        == #"{"aps":{"timestamp":1,"event":"update","content-state":{},"relevance-score":75.0,"#
        + #""alert":{"title":"A \"b\"","body":"c\nd","sound":"default"}}}"#)
    payload.alert = .init(
      title: .localized(key: "T", arguments: ["1", "2"]), body: .localized(key: "B"))
    #expect(
      try encoded(payload).hasSuffix(
        #""alert":{"title":{"loc-key":"T","loc-args":["1","2"]},"body":{"loc-key":"B"}}}}"#))
  }

  @Test func `leaves the caller's bytes untouched`() throws {
    let state =
      " {\"z\":12345678901234567890123, \"e\":1e2,\n\"f\":1.0,\"neg\":-0,\"s\":\"a\\/b\\u00e9\"} "
    let payload = BroadcastPayload(.update(), timestampSeconds: 1, contentState: try text(state))
    #expect(try encoded(payload).contains(state))
  }

  @Test(arguments: ["[]", "7", "null", "\"x\""])
  func `refuses a content-state that is no object`(json: String) throws {
    let payload = BroadcastPayload(.update(), timestampSeconds: 1, contentState: try text(json))
    #expect(throws: PayloadError.notAnObject(name: "content-state")) { try payload.encoded() }
  }

  @Test func `refuses an alert that the phone would not show`() throws {
    for (title, body) in [("", "b"), ("t", "")] {
      let payload = BroadcastPayload(
        .update(), timestampSeconds: 1, contentState: try text("{}"),
        alert: .init(title: .plain(title), body: .plain(body)))
      #expect(throws: PayloadError.incompleteAlert) { try payload.encoded() }
    }
  }

  @Test func `refuses a relevance that is no number`() throws {
    for relevance in [Double.nan, .infinity] {
      let payload = BroadcastPayload(
        .update(relevance: relevance), timestampSeconds: 1, contentState: try text("{}"))
      #expect(throws: PayloadError.self) { try payload.encoded() }
    }
  }

  @Test func `may have 5,120 bytes and not one more`() throws {
    let state = try text(#"{"s":"\#(String(repeating: "x", count: 4_000))"}"#)
    func payload(bodyBytes: Int) -> BroadcastPayload {
      BroadcastPayload(
        .update(), timestampSeconds: 1, contentState: state,
        alert: .init(
          title: .plain("t"), body: .plain(String(repeating: "b", count: bodyBytes))))
    }
    let rest = 5_120 - (try payload(bodyBytes: 1).encoded().count - 1)
    #expect(try payload(bodyBytes: rest).encoded().count == 5_120)
    #expect(throws: PayloadError.tooLarge(bytes: 5_121, limit: 5_120)) {
      try payload(bodyBytes: rest + 1).encoded()
    }
  }

  @Test func `holds content that a phone can hold`() throws {
    func payload(_ bytes: Int) throws -> BroadcastPayload {
      let filler = String(repeating: "x", count: bytes - 8)
      return BroadcastPayload(
        .update(), timestampSeconds: 1, contentState: try text(#"{"s":"\#(filler)"}"#))
    }
    #expect(try payload(4_096).encoded().count > 4_096)
    #expect(throws: PayloadError.contentTooLarge(bytes: 4_097, limit: 4_096)) {
      try payload(4_097).encoded()
    }
    #expect(throws: PayloadError.contentTooLarge(bytes: 4_100, limit: 4_096)) {
      try payload(4_000).encoded(attributesBytes: 100)
    }
  }

  @Test func `says how much it is over`() {
    #expect(
      "\(PayloadError.tooLarge(bytes: 5_200, limit: 5_120))"
        == "The payload has 5200 bytes, 80 over APNs' limit of 5120.")
  }
}

@Suite struct `A broadcast that the caller wrote` {
  private func broadcast(_ json: String) throws -> Broadcast {
    try Broadcast(
      to: try #require(ChannelID(ClientBench.channel)), storage: .none, priority: .idle,
      raw: text(json))
  }

  @Test(arguments: [
    #" {"aps":{"timestamp":1,"event":"update","content-state":{"b":1e2,"a":123456789012345678901}}}"#,
    #"{"aps":{"event":"end","timestamp":1},"extra":"🚂"}"#,
  ])
  func `travels untouched`(json: String) throws {
    #expect(String(decoding: try broadcast(json).payload, as: UTF8.self) == json)
  }

  private static let start =
    #"{"aps":{"timestamp":1,"event":"start","content-state":{},"attributes-type":"T","#
    + #""attributes":{},"alert":{"title":"t","body":"b"}}}"#

  @Test(arguments: [
    "[]", "{}", start,
    #"{"aps":{"timestamp":1790000000000,"event":"end"}}"#,
    #"{"aps":{"timestamp":1,"event":"update"}}"#,
  ])
  func `is refused when it breaks a rule`(json: String) {
    #expect(throws: PayloadError.self) { try broadcast(json) }
  }
}
