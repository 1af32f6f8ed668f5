import Clocks
import FieldTrips
import JSON
import Testing

@Suite struct `The mapper of a field trip` {
  var bench: CardBench
  init() throws { bench = try CardBench(.fieldTrip) }

  @Test mutating func `counts notes and keeps the last place`() throws {
    #expect(bench.state == #"{"notesCaptured":0}"#)
    bench.take(try note("1", place: "Meadow"))
    #expect(bench.state == #"{"notesCaptured":1,"lastPlaceName":"Meadow"}"#)
    bench.take(try note("2"))
    #expect(bench.state == #"{"notesCaptured":2,"lastPlaceName":"Meadow"}"#)
  }

  @Test mutating func `finds the first note, milestones and a caller's wish significant`() throws {
    var significant: [Int] = []
    for count in 1...200 {
      let verdict = bench.take(try note("\(count)", significant: count == 33))
      if verdict.change?.isSignificant == true { significant.append(count) }
    }
    #expect(significant == [1, 10, 25, 33, 50, 100, 200])
  }

  @Test mutating func `never brings an older place back`() throws {
    bench.take(try note("1", place: "third", sequence: 3))
    #expect(bench.take(try note("2", place: "second", sequence: 2)).change != nil)
    #expect(bench.state == #"{"notesCaptured":2,"lastPlaceName":"third"}"#)
    // One without sequence counts by its arrival, and does not open the door to older ones.
    bench.take(try note("3", place: "now"))
    bench.take(try note("4", place: "first", sequence: 1))
    #expect(bench.state == #"{"notesCaptured":4,"lastPlaceName":"now"}"#)
  }

  @Test mutating func `goes by the time of capture where there is no sequence`() throws {
    bench.take(try note("1", place: "later", at: noon - .seconds(10)))
    bench.take(try note("2", place: "earlier", at: noon - .seconds(20)))
    #expect(bench.state == #"{"notesCaptured":2,"lastPlaceName":"later"}"#)
  }

  @Test mutating func `a phone whose clock is ahead does not shut the others out`() throws {
    bench.take(try note("1", place: "from the future", at: noon + .seconds(3_600)))
    bench.take(try note("2", place: "next", at: noon + .seconds(1)), at: noon + .seconds(2))
    #expect(bench.state == #"{"notesCaptured":2,"lastPlaceName":"next"}"#)
  }

  @Test mutating func `cuts a place that is too long at a whole character`() throws {
    bench.take(try note("1", place: String(repeating: "🏞️", count: 40)))
    let place = bench.card.state.object["lastPlaceName"]?.string
    #expect(place == String(repeating: "🏞️", count: 17) + "…")
  }

  @Test mutating func `sets the whole state, keeping what is newer`() throws {
    bench.take(try note("1", place: "ninth", sequence: 9))
    bench.take(try wholeState(#"{"notesCaptured":40,"lastPlaceName":"fifth"}"#, sequence: 5))
    #expect(bench.state == #"{"notesCaptured":40,"lastPlaceName":"ninth"}"#)
    // What the state covers already changes nothing, and an older state neither.
    #expect(bench.take(try note("2", place: "x", sequence: 4)) == .unchanged)
    #expect(bench.take(try wholeState(#"{"notesCaptured":1}"#, sequence: 4)) == .unchanged)
    bench.take(try wholeState(#"{"notesCaptured":41}"#))
    #expect(bench.state == #"{"notesCaptured":41}"#)
  }

  @Test mutating func `says when nothing changed, and remembers all the same`() throws {
    bench.take(try wholeState(#"{"notesCaptured":3,"lastPlaceName":"a"}"#))
    #expect(bench.take(try wholeState(#"{"lastPlaceName":"a","notesCaptured":3}"#)) == .unchanged)
    let before = bench.card.memory
    let again = try wholeState(#"{"lastPlaceName":"a","notesCaptured":3}"#, sequence: 7)
    #expect(bench.take(again) == .unchanged)
    #expect(bench.card.memory != before)
  }

  @Test mutating func `refuses what the phone could not decode, and stays as it was`() throws {
    let before = bench.card
    let verdict = bench.take(try wholeState(#"{"notescaptured":1,"lastPlaceName":7}"#))
    #expect(
      verdict.refusal?.problems.map(\.message) == [
        "\"notesCaptured\" is required: without it the phone keeps its old card.",
        "Expected a string, found the number 7.",
        "\"notescaptured\" is not known here. Did you mean \"notesCaptured\"?",
      ])
    #expect(
      bench.take(try note("1", fields: ["notesCaptured": 9])).refusal?.code == .unknownField)
    #expect(bench.take(try phase("live")).refusal?.code == .unknownPhase)
    #expect(bench.card == before)
  }

  @Test(arguments: ["-1", "1000000001", "9223372036854775807"])
  mutating func `refuses a count that nobody can have counted`(count: String) throws {
    let before = bench.card
    let verdict = bench.take(try wholeState(#"{"notesCaptured":\#(count)}"#))
    #expect(verdict.refusal?.code == .badValue)
    #expect(bench.card == before)
  }

  @Test mutating func `counts on from the highest number that can be set`() throws {
    bench.take(try wholeState(#"{"notesCaptured":1000000000}"#))
    #expect(bench.take(try note("1")).refusal == nil)
    #expect(bench.state == #"{"notesCaptured":1000000001}"#)
  }

  @Test mutating func `passes numbers and text of a whole state on as they were spelled`() throws {
    bench.take(try wholeState(#"{"lastPlaceName":"Ätna \u00e9","notesCaptured":-0}"#))
    #expect(bench.state == #"{"lastPlaceName":"Ätna é","notesCaptured":-0}"#)
  }
}

@Suite struct `Other mappers` {
  @Test func `a conversation turn goes through its phases and then ends`() throws {
    var bench = try CardBench(.conversationTurn, attributes: #"{"name":"Trip planning"}"#)
    #expect(bench.state == #"{"phase":"sending"}"#)
    #expect(bench.take(try phase("sending")) == .unchanged)
    #expect(bench.take(try phase("thinking")).change == Change(isSignificant: true))
    let answered = bench.take(try phase("answered")).change
    #expect(answered?.alert?.title == "Trip planning")
    #expect(answered?.endsAfter == .seconds(60))
    #expect(bench.take(try phase("answerd")).refusal?.code == .unknownPhase)
  }

  @Test func `late phases do not turn a conversation back`() throws {
    var bench = try CardBench(.conversationTurn)
    bench.take(try phase("answered", sequence: 3))
    #expect(bench.take(try phase("thinking", sequence: 2)) == .unchanged)
    #expect(bench.state == #"{"phase":"answered"}"#)
  }

  @Test func `a job ends with one of three results, as an update`() throws {
    var bench = try CardBench(.jobProgress, attributes: #"{"name":"Build 7"}"#)
    bench.take(try phase("running", ["sender": "ci-3"]))
    bench.take(try note("1", fields: ["progress": 0.5]))
    #expect(bench.state == #"{"stage":"running","progress":0.5,"sender":"ci-3"}"#)
    let two: JSONValue = ["failed": ["message": "x"], "cancelled": [:]]
    #expect(bench.take(try phase("finished", ["result": two])).refusal?.code == .badValue)
    let result: JSONValue = ["failed": ["message": "3 tests failed", "code": 2]]
    let change = bench.take(try phase("finished", ["result": result])).change
    #expect(change?.isSignificant == true && change?.endsAfter == .seconds(300))
    #expect(bench.card.state.object["result"]?["failed"]?["code"]?.int64 == 2)
    let wrong = bench.take(try phase("finished", ["result": ["failed": ["code": "2"]]])).refusal
    #expect(wrong?.problems.map(\.path) == ["/result/failed/message", "/result/failed/code"])
    bench.take(try note("2", fields: ["result": nil, "progress": 1]))
    #expect(bench.state == #"{"stage":"finished","progress":1,"sender":"ci-3"}"#)
    #expect(bench.take(try note("3", fields: ["progress": nil])).refusal?.code == .missingField)
  }

  @Test func `withheld fields never reach a card`() throws {
    var definition = ActivityType.fieldTrip.definition
    definition.contentState[1].isWithheld = true
    var bench = try CardBench(ActivityType(definition))
    bench.take(try note("1", place: "secret"))
    bench.take(try wholeState(#"{"notesCaptured":5,"lastPlaceName":"secret"}"#))
    #expect(bench.state == #"{"notesCaptured":5}"#)
  }

  @Test func `withheld attributes never reach a card, whenever they were stored`() throws {
    var definition = ActivityType.fieldTrip.definition
    definition.attributes[1] = FieldSchema("notebook", .string(maxBytes: 256), isWithheld: true)
    definition.alerts.updates[.firstNote] = try AlertText(title: "{notebook}.", body: "{name}")
    let type = try ActivityType(definition)
    let stored = try json(#"{"name":"n","notebook":"secret","old":1}"#)
    let start = UnixTime(wholeSeconds: 1_790_000_000)
    #expect(type.attributes(stored, startingAt: start) == (try json(#"{"name":"n"}"#)))
    let known = try json(#"{"name":"n"}"#)
    #expect(type.attributes(adopting: known) == known)
    var card = Card(state: type.initialState)
    let mapper = Mapper(type: type, attributes: stored)
    guard
      case .changed(let change) = mapper.apply(try note("1"), acceptedAt: start, to: &card)
    else { return #expect(Bool(false), "the first note changes the card") }
    #expect(change.alert?.title == ".")
  }

  @Test func `a list keeps its newest values, and dates come in the phone's unit`() throws {
    var definition = ActivityType.fieldTrip.definition
    definition.contentState += [
      FieldSchema("places", .list(of: .string(maxBytes: 20), maximum: 2)),
      FieldSchema("lastAt", .date(.secondsSince2001)),
    ]
    definition.mapper += [
      MapperRule("places", .list(.place)), MapperRule("lastAt", .latest(.occurredAt)),
    ]
    var bench = try CardBench(ActivityType(definition))
    for place in ["a", "b", "c"] { bench.take(try note(place, place: place, at: noon)) }
    let object = bench.card.state.object
    #expect(object["places"] == ["b", "c"])
    #expect(object["lastAt"] == .number(JSONNumber(1_777_723_200 - 978_307_200)))
  }
}

@Suite struct `Any mapper` {
  /// Notes and their order of capture, some with sequence and some by time.
  func notes(_ dice: inout TripDice, bySequence: Bool) throws -> [Trigger] {
    try (1...dice.roll(2..<40)).map { number in
      try note(
        "n\(number)", place: dice.happens(oneIn: 3) ? nil : "place \(number)",
        sequence: bySequence ? Int64(number) : nil,
        at: bySequence ? nil : noon + .seconds(number))
    }
  }

  @Test(arguments: 0..<100 as Range<UInt64>)
  func `gives the in-order card from any order, with repetitions taken out by ID`(
    seed: UInt64
  ) throws {
    var dice = TripDice(seed: seed)
    let notes = try notes(&dice, bySequence: dice.happens(oneIn: 2))
    let later = noon + .seconds(100)
    var inOrder = try CardBench(.fieldTrip)
    for note in notes { inOrder.take(note, at: later) }
    var shuffled = try CardBench(.fieldTrip)
    var seen: Set<TriggerID> = []
    for note in (notes + notes.filter { _ in dice.happens(oneIn: 2) }).shuffled(using: &dice)
    where seen.insert(note.id).inserted {
      shuffled.take(note, at: later)
      // A restart in between: what is stored is enough to go on.
      shuffled.card = try Card(
        state: ContentState(stored: shuffled.card.state.bytes),
        memory: MapperMemory(stored: shuffled.card.memory.written()))
    }
    #expect(shuffled.card.state.object.hasSameFields(as: inOrder.card.state.object))
    #expect(shuffled.card.memory == inOrder.card.memory)
  }

  @Test(arguments: 0..<40 as Range<UInt64>)
  func `accepts or refuses anything, and always leaves a card that fits`(seed: UInt64) throws {
    var dice = TripDice(seed: seed)
    var definition = ActivityType.jobProgress.definition
    if dice.happens(oneIn: 2) { definition.envelope = .namedProps("Job") }
    definition.contentState[2] = FieldSchema(
      "sender", .string(maxBytes: 4_000), mayBeTrimmed: dice.happens(oneIn: 2))
    let type = try ActivityType(definition)
    let attributes = try json(#"{"name":"\#(String(repeating: "a", count: dice.roll(1..<900)))"}"#)
    let mapper = Mapper(type: type, attributes: attributes)
    let measure = PayloadMeasure(type: type, attributes: attributes)
    var card = Card(state: type.initialState)
    for step in 0..<20 {
      let before = card
      let letters = ["a", "\"", "é", "\u{1}", "👩‍👩‍👧"].randomElement(using: &dice) ?? ""
      let text = String(repeating: letters, count: dice.roll(0..<1_500))
      let fields: JSONObject = ["sender": .string(text), "progress": .number(JSONNumber(step))]
      let verdict = mapper.apply(
        try note("\(step)", fields: fields), acceptedAt: noon, to: &card)
      if verdict.refusal != nil { #expect(card == before) }
      #expect(measure.excessBytes(of: card.state) <= 0)
      #expect((verdict.change != nil) == (card.state != before.state))
    }
  }
}

extension JSONObject {
  func hasSameFields(as other: JSONObject) -> Bool {
    count == other.count && elements.allSatisfy { other[$0.key] == $0.value }
  }
}
