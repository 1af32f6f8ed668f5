import Clocks
import FieldTrips
import JSON
import Testing

/// Domain events that arrive in any order, for every built-in type: no card ever shows something
/// older than it showed before, and in the end it shows what it would have shown in order.
@Suite struct `Events out of order` {
  /// How the events of a history tell their order.
  enum Marks: CaseIterable, Sendable {
    case sequence, time, both
  }

  /// What a day of one type is made of, in order; each event says how new what it brings is.
  private struct History {
    let type: ActivityType
    var events: [Trigger] = []
    private let marks: Marks

    init(_ type: ActivityType, _ marks: Marks) {
      self.type = type
      self.marks = marks
    }

    mutating func add(_ effect: Trigger.Effect) throws {
      let number = events.count + 1
      events.append(
        Trigger(
          id: try TriggerID("e\(number)"), trip: try sampleTrip(), effect: effect,
          sequence: marks == .time ? nil : Int64(number),
          occurredAt: marks == .sequence ? nil : noon + .seconds(number)))
    }

    mutating func addPhase(_ phase: String, _ fields: JSONObject = [:]) throws {
      try add(.phase(Trigger.PhaseChange(phase: phase, fields: fields)))
    }

    mutating func addNote(place: String? = nil, _ fields: JSONObject = [:]) throws {
      try add(.note(Trigger.Note(place: place, fields: fields)))
    }
  }

  private static func history(
    of type: ActivityType, _ marks: Marks, _ dice: inout TripDice
  ) throws -> [Trigger] {
    var history = History(type, marks)
    switch type.name {
    case "field-trip":
      for number in 1...dice.roll(3..<30) {
        try history.addNote(place: dice.happens(oneIn: 4) ? nil : "place \(1_000 + number)")
      }
    case "conversation-turn":
      for phase in ["sending", "thinking", "answered"] { try history.addPhase(phase) }
    default:
      try history.addPhase("queued", ["sender": "ci-1000"])
      for number in 1...dice.roll(3..<20) {
        let progress: JSONValue = .number(JSONNumber(number))
        if dice.happens(oneIn: 3) {
          try history.addPhase(
            "running", ["progress": progress, "sender": "ci-\(1_000 + number)"])
        } else {
          try history.addNote(["progress": progress])
        }
      }
      try history.addPhase(
        "finished", ["progress": 100, "result": ["failed": ["message": "x", "code": 2]]])
    }
    return history.events
  }

  /// What a card shows, as numbers that only rise in an orderly history.
  private func ages(_ object: JSONObject, _ type: ActivityType) -> [Int] {
    let phase = object["phase"]?.string ?? object["stage"]?.string ?? ""
    func number(_ field: String) -> Int {
      Int(object[field]?.string?.drop { !$0.isNumber } ?? "") ?? 0
    }
    return [
      type.definition.phases.firstIndex(of: phase) ?? 0,
      Int(object["notesCaptured"]?.int64 ?? 0), Int(object["progress"]?.double ?? 0),
      number("lastPlaceName"), number("sender"), object["result"] == nil ? 0 : 1,
    ]
  }

  @Test(arguments: ActivityType.builtIn.map(\.name), Marks.allCases)
  func `never bring an older state back, and lose nothing`(name: String, marks: Marks) throws {
    let type = try #require(ActivityType.builtIn.first { $0.name == name })
    for seed in 0..<200 as Range<UInt64> {
      var dice = TripDice(seed: seed)
      let history = try Self.history(of: type, marks, &dice)
      var inOrder = try CardBench(type)
      for event in history { inOrder.take(event, at: noon + .seconds(1_000)) }
      var bench = try CardBench(type)
      var before = ages(bench.card.state.object, type)
      for event in history.shuffled(using: &dice) {
        bench.take(event, at: noon + .seconds(1_000))
        let now = ages(bench.card.state.object, type)
        #expect(zip(before, now).allSatisfy { $0 <= $1 }, "seed \(seed), \(event.id)")
        before = now
      }
      #expect(
        bench.card.state.object.hasSameFields(as: inOrder.card.state.object), "seed \(seed)")
    }
  }

  @Test func `that say nothing of their order do not turn a phase back`() throws {
    for (type, phases) in [
      (ActivityType.conversationTurn, ["sending", "thinking", "answered"]),
      (.jobProgress, ["queued", "running", "finished"]),
    ] {
      for seed in 0..<50 as Range<UInt64> {
        var dice = TripDice(seed: seed)
        var bench = try CardBench(type)
        var before = 0
        for each in phases.shuffled(using: &dice) {
          bench.take(try phase(each))
          let now = ages(bench.card.state.object, type)[0]
          #expect(now >= before)
          before = now
        }
        #expect(before == 2)
      }
    }
    // Nor do they bring what belongs to the earlier phase.
    var bench = try CardBench(.jobProgress)
    bench.take(try phase("finished", ["progress": 1]))
    #expect(bench.take(try phase("running", ["progress": 0.5])) == .unchanged)
    // One that says that it is newer is believed: a job that begins again.
    #expect(bench.take(try phase("queued", ["progress": 0], sequence: 9)).change != nil)
    #expect(bench.state == #"{"stage":"queued","progress":0}"#)
  }

  @Test func `turn a phase back where a type's phases come and go`() throws {
    var definition = ActivityType.jobProgress.definition
    definition.phasesAdvance = false
    var bench = try CardBench(ActivityType(definition))
    bench.take(try phase("running"))
    #expect(bench.take(try phase("queued")).change != nil)
  }
}
