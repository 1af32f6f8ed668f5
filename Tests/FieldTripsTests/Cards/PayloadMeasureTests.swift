import FieldTrips
import JSON
import Testing

@Suite struct `The measure of payloads` {
  @Test func `builds the payload to its last byte`() throws {
    let measure = PayloadMeasure(type: .fieldTrip, attributes: try json("{}"))
    let update =
      #"{"aps":{"timestamp":9999999999,"event":"update","content-state":{"notesCaptured":1},"#
      + #""stale-date":9999999999,"relevance-score":100}}"#
    #expect(
      measure.updateBytes(try json(#"{"notesCaptured":1}"#), alert: nil) == update.utf8.count)
  }

  @Test func `finds the byte that is too much`() throws {
    var definition = ActivityType.fieldTrip.definition
    definition.contentState[1] = FieldSchema("lastPlaceName", .string(maxBytes: 4_096))
    let type = try ActivityType(definition)
    let attributes = try json("{}")
    let fitting = try (3_700...4_096).reversed().first { length in
      let text = String(repeating: "x", count: length)
      let state = try json(#"{"notesCaptured":1,"lastPlaceName":"\#(text)"}"#)
      return (try? type.contentState(validating: state, attributes: attributes)) != nil
    }
    let text = String(repeating: "x", count: try #require(fitting))
    let state = try json(#"{"notesCaptured":1,"lastPlaceName":"\#(text)"}"#)
    let alert = type.startAlert(
      attributes: attributes, state: try ContentState(stored: state.bytes))
    let start = PayloadMeasure(type: type, attributes: attributes).startBytes(state, alert: alert)
    #expect(start == 4_096)
  }

  /// A start says in the attributes when it is, whatever stood there before.
  @Test func `counts the time of a start, which is filled in later`() throws {
    let alert = try AlertText(title: "t", body: "b")
    let state = try json("{}")
    func start(_ attributes: String) throws -> Int {
      PayloadMeasure(type: .fieldTrip, attributes: try json(attributes))
        .startBytes(state, alert: alert)
    }
    let filled = try start(#"{"name":"n","startedAt":1790000000}"#)
    #expect(try start(#"{"name":"n","startedAt":0}"#) == filled)
    #expect(try start(#"{"name":"n"}"#) + #","startedAt":1790000000"#.utf8.count == filled)
  }

  @Test func `an envelope of strings weighs its escapes`() throws {
    let state = try json(#"{"a":"\"b\""}"#)
    let wrapped = WireEnvelope.namedProps("Trip").wrap(state)
    #expect(
      String(decoding: wrapped.bytes, as: UTF8.self)
        == #"{"name":"Trip","props":"{\"a\":\"\\\"b\\\"\"}"}"#)
    #expect(WireEnvelope.plain.wrap(state) == state)
  }

  @Test func `alerts are filled from the card and its attributes`() throws {
    let type = ActivityType.fieldTrip
    let alert = type.startAlert(
      attributes: try json(#"{"name":"Birds\u0007 of Marsh"}"#), state: type.initialState)
    #expect(alert.title == "Birds of Marsh")
    let silent = #expect(throws: IdentifierError.self) {
      try AlertText(title: "", body: "b", sound: "default")
    }
    #expect(
      silent?.message
        == "An alert needs a title and a body: without them the phone ignores it, its sound included."
    )
  }
}
