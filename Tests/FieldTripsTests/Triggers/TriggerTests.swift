import Clocks
import FieldTrips
import JSON
import Testing

@Suite struct `A trigger as JSON` {
  let trip = "0c9d3a52-6a0e-4d4b-9f3e-0a5b6c7d8e9f"

  func read(_ text: String, _ kind: Trigger.Kind? = nil, trip: TripID? = nil) throws -> Trigger {
    try Trigger.read(Array(text.utf8), kind: kind, trip: trip)
  }

  @Test func `is a note with everything that one can have`() throws {
    let trigger = try read(
      #"{"id":"n1","trip":"\#(trip.uppercased())","member":"anna","place":"Meadow","#
        + #""capturedAt":"2026-05-02T12:00:00.5Z","significant":true,"sequence":4}"#)
    let expected = Trigger(
      id: try TriggerID("n1"), trip: try TripID(trip),
      effect: .note(Trigger.Note(member: try MemberID("anna"), place: "Meadow")),
      isSignificant: true, sequence: 4, occurredAt: noon + .milliseconds(500))
    #expect(trigger == expected)
  }

  @Test func `needs no trip when the address names it`() throws {
    let trigger = try read(#"{"id":"n1","place":null}"#, .note, trip: try TripID(trip))
    #expect(trigger.trip.text == trip)
  }

  @Test func `is of four kinds`() throws {
    let start = #"{"id":"a","trip":"\#(trip)","kind":"#
    #expect(try read(start + #""note"}"#).kind == .note)
    #expect(try read(start + #""state","contentState":{}}"#).kind == .state)
    #expect(try read(start + #""phase","phase":"thinking"}"#).kind == .phase)
    let end = try read(start + #""end","dismissal":600}"#)
    #expect(end.effect == .end(Trigger.EndOfTrip(dismissal: .after(.seconds(600)))))
  }

  @Test(arguments: [
    ("", "malformedJSON", ""),
    ("[]", "wrongType", "Expected an object, found an array of 0."),
    ("{}", "missingField", "/id: \"id\" is required. /trip: \"trip\" is required."),
    (#"{"id":7,"trip":"@"}"#, "wrongType", "/id: Expected a string, found the number 7."),
    (
      #"{"id":"","trip":"@"}"#, "badIdentifier",
      "/id: The trigger ID is empty: expected 1 to 128 bytes."
    ),
    (
      #"{"id":"a","trip":"b"}"#, "badIdentifier",
      "/trip: \"b\" is not a trip ID: expected a UUID such as 0c9d3a52-6a0e-4d4b-9f3e-0a5b6c7d8e9f."
    ),
    (
      #"{"id":"a","trip":"@","capturedat":1}"#, "unknownField",
      "/capturedat: \"capturedat\" is not known here. Did you mean \"capturedAt\"?"
    ),
    (#"{"id":"a","trip":"@","color":1}"#, "unknownField", "/color: \"color\" is not known here."),
    (#"{"id":"a","trip":"@","a/b":1}"#, "unknownField", "/a~1b: \"a/b\" is not known here."),
    (
      #"{"id":"a","trip":"@","place":""}"#, "badValue",
      "/place: Expected 1 to 1024 bytes of text, found 0."
    ),
    (
      #"{"id":"a","trip":"@","significant":1}"#, "wrongType",
      "/significant: Expected true or false, found the number 1."
    ),
    (
      #"{"id":"a","trip":"@","sequence":1.5}"#, "wrongType",
      "/sequence: Expected a whole number, found the number 1.5."
    ),
    (
      #"{"id":"a","trip":"@","sequence":-1}"#, "badValue",
      "/sequence: Expected a number from 0 to 9223372036854775807, found -1."
    ),
    (
      #"{"id":"a","trip":"@","capturedAt":1777723200000}"#, "badDate",
      "/capturedAt: 1777723200000 looks like milliseconds: expected seconds since 1970, 1777723200."
    ),
    (
      #"{"id":"a","trip":"@","capturedAt":true}"#, "wrongType",
      "/capturedAt: Expected a date as RFC 3339 text or seconds since 1970, found true."
    ),
    (
      #"{"id":"a","trip":"@","kind":"update"}"#, "badValue",
      "/kind: Expected one of \"note\", \"state\", \"phase\", \"end\", found \"update\"."
    ),
    (
      #"{"id":"a","id":"b","trip":"@"}"#, "malformedJSON",
      "The key \"id\" stands twice in one object, the second time at byte 10."
    ),
    (
      #"{"id":"a","trip":"@","kind":"state"}"#, "missingField",
      "/contentState: \"contentState\" is required."
    ),
    (
      #"{"id":"a","trip":"@","kind":"end","dismissal":21600}"#, "badTime",
      "/dismissal: A dismissal 21600 s after the end is over the system's limit of 14400 s (4 h)."
    ),
  ])
  func `says what is wrong with it`(text: String, code: String, message: String) {
    let refusal = #expect(throws: Refusal.self) {
      try read(text.replacing("@", with: trip))
    }
    #expect(refusal?.code.rawValue == code)
    if !message.isEmpty { #expect(refusal?.description == message) }
  }

  @Test func `may not name another trip than its address`() throws {
    let refusal = #expect(throws: Refusal.self) {
      try read(
        #"{"id":"a","trip":"\#(trip)"}"#, .note, trip: TripID(randomBytes: .init(repeating: 1)))
    }
    #expect(refusal?.code == .wrongTrip)
  }

  @Test func `is refused over its size`() {
    let long = #"{"id":"a","place":""# + String(repeating: " ", count: 16_384) + #""}"#
    #expect(throws: Refusal.self) { try read(long) }
    let refusal = #expect(throws: Refusal.self) { try read(long) }
    #expect(refusal?.code == .tooLarge)
  }

  @Test func `is judged by itself in a batch`() throws {
    let batch = #"{"notes":[{"id":"a"},{"id":1},{"id":"c","x":0}]}"#
    let results = try Trigger.readBatch(
      Array(batch.utf8), kind: .note, trip: try TripID(trip))
    #expect(results.count == 3)
    #expect(try results[0].get().id.text == "a")
    let paths = results.compactMap { result -> String? in
      if case .failure(let refusal) = result { refusal.problems[0].path } else { nil }
    }
    #expect(paths == ["/notes/1/id", "/notes/2/x"])
  }

  @Test func `a batch has 1 to 1000 triggers`() throws {
    for text in ["[]", "[" + Array(repeating: "{}", count: 1_001).joined(separator: ",") + "]"] {
      #expect(throws: Refusal.self) { try Trigger.readBatch(Array(text.utf8)) }
    }
    #expect(try Trigger.readBatch(Array("{}".utf8)).count == 1)
  }

  @Test func `takes the caller's idempotency key where an end has no ID`() throws {
    let trigger = try Trigger.read(
      Array("{}".utf8), kind: .end, trip: try TripID(trip), fallbackID: try TriggerID("key"))
    #expect(trigger.id.text == "key")
  }

  @Test(arguments: 0..<200 as Range<UInt64>)
  func `survives the log`(seed: UInt64) throws {
    var dice = TripDice(seed: seed)
    let text = ["a", "\"\\", "\u{1F3DE}", "ä\n", "</script>"].randomElement(using: &dice) ?? ""
    let fields: JSONObject = dice.happens(oneIn: 2) ? ["x": .string(text)] : [:]
    let state = JSONText(.object(["text": .string(text)]))
    let effects: [Trigger.Effect] = [
      .note(Trigger.Note(member: try MemberID("m"), place: text, fields: fields)),
      .note(Trigger.Note()), .state(state),
      .phase(Trigger.PhaseChange(phase: "thinking", fields: fields)),
      .end(Trigger.EndOfTrip()),
      .end(Trigger.EndOfTrip(finalState: state, dismissal: .atOnce)),
      .end(Trigger.EndOfTrip(dismissal: .after(.seconds(dice.roll(1..<14_400))))),
    ]
    let trigger = Trigger(
      id: try TriggerID("t\(seed)"), trip: TripID(using: &dice),
      effect: effects.randomElement(using: &dice) ?? effects[0],
      isSignificant: dice.happens(oneIn: 2),
      sequence: dice.happens(oneIn: 2) ? Int64(dice.roll(0..<1_000)) : nil,
      occurredAt: dice.happens(oneIn: 2) ? noon + .milliseconds(dice.roll(0..<9_999)) : nil)
    let again = try Trigger.read(trigger.written(), kind: trigger.kind, trip: trigger.trip)
    #expect(again == trigger)
  }
}
