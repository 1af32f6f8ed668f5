import FieldTrips
import JSON
import Testing

@Suite struct `A file of activity types` {
  private func read(_ text: String) throws -> ActivityTypeFile {
    try ActivityTypeFile.read(Array(text.utf8))
  }

  /// A whole file around one type, whose members may be replaced.
  private func file(_ changes: JSONObject = [:], builtIn: JSONValue = []) -> JSONValue {
    var type: JSONObject = [
      "attributesType": "MatchAttributes",
      "attributes": ["name": ["type": "string"]],
      "contentState": [
        "phase": ["type": "choice", "choices": ["play", "final"], "initial": "play"],
        "goals": ["type": "integer", "initial": 0],
        "scorers": [
          "type": "list", "of": ["type": "string", "maxBytes": 80], "maximum": 3, "optional": true,
        ],
      ],
      "mapper": [
        "phase": "phase", "goals": "count", "scorers": ["list": "fields.scorer"],
      ],
      "alerts": ["start": ["title": "{name}", "body": "Kick-off."]],
    ]
    for (name, value) in changes.elements { type[name] = value }
    return ["builtIn": builtIn, "types": ["match": .object(type)]]
  }

  @Test func `writes what it reads, for every built-in type and every kind of field`() throws {
    var definition = ActivityType.fieldTrip.definition
    definition.name = "everything"
    definition.contentState += [
      FieldSchema("a", .bool), FieldSchema("b", .date(.secondsSince2001)),
      FieldSchema("c", .list(of: .object([FieldSchema("d", .number)]), maximum: 4)),
      FieldSchema("e", .string(maxBytes: 9), isWithheld: true),
    ]
    definition.mapper += [
      MapperRule("b", .latest(.occurredAt)), MapperRule("c", .list(.field("c"))),
      MapperRule("e", .latest(.member)),
    ]
    definition.significance = SignificanceRules(
      firstNote: false, milestones: [Milestone("notesCaptured", every: 5)], heedsCallers: false)
    definition.timings = ActivityTimings(
      staleAfter: nil, dismissal: .atOnce, activeLife: .seconds(60), longestTrip: .seconds(61),
      longestWait: .seconds(1), endsAfterFinalPhase: .seconds(2))
    definition.storage = .noStorage
    definition.envelope = .namedProps("Everything")
    definition.alerts.updates = [
      .firstNote: try AlertText(title: "One", body: "One.", sound: "default"),
      .milestone: try AlertText(title: "Five", body: "Five."),
    ]
    definition.olderApps = [
      OlderApp(
        "1.0", attributes: [], contentState: [FieldSchema("lastPlaceName", .string(maxBytes: 8))])
    ]
    let types = ActivityType.builtIn + [try ActivityType(definition)]
    let written = ActivityTypeFile.json(of: types)
    #expect(try ActivityTypeFile.read(written.serialized()).types == types)
  }

  @Test func `has the built-in types beside its own, without those switched off`() throws {
    #expect(try read("{}").types == ActivityType.builtIn)
    #expect(
      try ActivityTypeFile.read(file(builtIn: ["job-progress"])).types.map(\.name)
        == ["job-progress", "match"])
    #expect(try ActivityTypeFile.read(file()).types.map(\.name) == ["match"])
  }

  @Test func `overrides a built-in type by its name, as to keep places off the card`() throws {
    var definition = ActivityType.fieldTrip.definition
    definition.contentState[1].isWithheld = true
    let types = try read(
      #"{"types":{"field-trip":\#(String(decoding: definition.json.serialized(), as: UTF8.self))}}"#
    ).types
    #expect(types.map(\.name) == ActivityType.builtIn.map(\.name))
    var bench = try CardBench(types[0])
    bench.take(try note("a", place: "Nest site 4"))
    #expect(bench.state == #"{"notesCaptured":1}"#)
    let state = try types[0].contentState(
      validating: json(#"{"notesCaptured":2,"lastPlaceName":"Nest site 4"}"#),
      attributes: json("{}"))
    #expect(string(state) == #"{"notesCaptured":2}"#)
  }

  @Test func `says which type is meant where none is named`() throws {
    var object = try #require(file(builtIn: ["field-trip"]).object)
    object["default"] = "match"
    #expect(
      try ActivityTypeFile.read(.object(object)).types.map(\.name) == ["match", "field-trip"])
    object["default"] = "matches"
    let refusal = #expect(throws: Refusal.self) { try ActivityTypeFile.read(.object(object)) }
    #expect(
      refusal?.description
        == #"/default: There is no activity type "matches". Did you mean "match"?"#)
  }

  /// Members to replace, and the problems that follow.
  struct Fault: Sendable {
    var changes: JSONObject
    var problems: [String]

    init(_ changes: JSONObject, _ problems: String...) {
      self.changes = changes
      self.problems = problems
    }
  }

  @Test(arguments: [
    Fault(
      ["attributeType": "X"],
      #"/types/match/attributeType: "attributeType" is not known here. Did you mean "attributesType"?"#
    ),
    Fault(["alerts": nil], #"/types/match/alerts: "alerts" is required."#),
    Fault(
      ["alerts": [:]],
      "/types/match/alerts/start: \"start\" is required: a phone ignores a remote start without an "
        + "alert."),
    Fault(
      ["alerts": ["start": ["title": "", "body": "x"]]],
      "/types/match/alerts/start: An alert needs a title and a body: without them the phone ignores "
        + "it, its sound included."),
    Fault(
      ["alerts": ["start": ["title": "{nam}", "body": "{score}: {phase}"]]],
      "/types/match/alerts/start/title: Neither the content-state nor the attributes have a field "
        + "\"nam\". Did you mean \"name\"?",
      "/types/match/alerts/start/body: Neither the content-state nor the attributes have a field "
        + "\"score\". Did you mean \"scorers\"?"),
    Fault(
      [
        "alerts": [
          "start": ["title": "x", "body": "x"],
          "phases": ["final": ["title": "x", "body": " {scorers}"]],
        ]
      ],
      "/types/match/alerts/phases/final/body: It would be empty without its fields, which are "
        + "optional: add some words."),
    Fault(
      ["contentState": ["goals": ["type": "int", "initial": 0]]],
      #"/types/match/contentState/goals/type: Expected one of "integer", "number", "string", "bool", "#
        + #""date", "choice", "object", "oneOf", "list", found "int"."#),
    // What is known stays known behind a fault.
    Fault(
      ["contentState": ["goals": ["type": "strin", "maxBytes": 9, "initial": ""]]],
      #"/types/match/contentState/goals/type: Expected one of "integer", "number", "string", "bool", "#
        + #""date", "choice", "object", "oneOf", "list", found "strin"."#),
    Fault(
      ["contentState": ["list": ["type": "list", "of": ["type": "boo"], "maximum": 3]]],
      #"/types/match/contentState/list/of/type: Expected one of "integer", "number", "string", "#
        + #""bool", "date", "choice", "object", "oneOf", "list", found "boo"."#),
    Fault(
      ["contentState": ["list": ["type": "list", "maximum": 3]]],
      #"/types/match/contentState/list/of: "of" is required."#),
    Fault(
      ["contentState": ["at": ["type": "date", "initial": 0]]],
      #"/types/match/contentState/at/as: "as" is required."#),
    Fault(
      ["contentState": ["list": ["type": "list", "of": ["type": "bool", "inital": 1]]]],
      #"/types/match/contentState/list/of/inital: "inital" is not known here."#,
      #"/types/match/contentState/list/maximum: "maximum" is required."#),
    Fault(
      ["mapper": ["goals": "counts", "phase": ["latest": "plase"], "scorers": ["list": "place"]]],
      "/types/match/mapper/goals: Expected \"count\", \"phase\", {\"latest\": …} or {\"list\": …}, "
        + "found the string \"counts\". Did you mean \"count\"?",
      "/types/match/mapper/phase/latest: Expected \"place\", \"member\", \"occurredAt\" or, of a "
        + "trigger's own fields, \"fields.<name>\", found \"plase\". Did you mean \"place\"?"),
    Fault(
      ["mapper": ["goal": "count"]],
      "/types/match/mapper/goal: The content-state has no field \"goal\". Did you mean \"goals\"?"),
    Fault(
      ["significance": ["milestones": ["goals": ["at": 5]]]],
      "/types/match/significance/milestones/goals/at: Expected an array of whole numbers, found the "
        + "number 5."),
    Fault(
      ["timings": ["staleAfter": 5, "dismissal": 20_000]],
      "/types/match/timings/dismissal: A dismissal 20000 s after the end is over the system's limit "
        + "of 14400 s (4 h)."),
    Fault(
      ["timings": ["staleAfter": 5]],
      "/types/match/timings/staleAfter: Expected 60 to 28800 seconds, found 5."),
    Fault(
      ["storage": "all"],
      #"/types/match/storage: Expected one of "none", "mostRecent", found "all"."#),
    Fault(
      ["envelope": "expo"],
      "/types/match/envelope: Expected \"plain\" or {\"namedProps\": \"<the activity's name>\"}, "
        + "found the string \"expo\"."),
    Fault(
      [
        "alerts": [
          "start": ["title": "x", "body": "x"], "phases": ["finl": ["title": "x", "body": "x"]],
        ]
      ],
      "/types/match/alerts/phases/finl: There is no phase \"finl\". Did you mean \"final\"?"),
  ])
  func `is refused with every problem by its path`(fault: Fault) {
    let refusal = #expect(throws: Refusal.self) { try ActivityTypeFile.read(file(fault.changes)) }
    #expect(refusal?.problems.map { "\($0.path): \($0.message)" } == fault.problems)
  }

  @Test func `is refused as a whole by its own members`() {
    for (text, message) in [
      (#"{"types":[]}"#, "/types: Expected an object, found an array of 0."),
      (#"{"builtIn":[]}"#, "/types: No activity type is left: a service needs one."),
      (
        #"{"builtIn":["field-trips"]}"#,
        #"/builtIn: "field-trips" is not built in. Did you mean "field-trip"?"#
      ),
      (#"{"type":{}}"#, #"/type: "type" is not known here. Did you mean "types"?"#),
    ] {
      let refusal = #expect(throws: Refusal.self) { try read(text) }
      #expect(refusal?.description == message)
    }
    #expect(throws: Refusal.self) { try read(#"{"types":{"a":{},"a":{}}}"#) }
  }
}

@Suite struct `Apps of an older version` {
  private static let old = ActivityType.jobProgress.definition.contentState

  /// A change of the struct, and what an app that has the old one could not do.
  struct Change: Sendable {
    var problem: String?
    var change: @Sendable (inout [FieldSchema]) -> Void

    init(_ problem: String?, _ change: @escaping @Sendable (inout [FieldSchema]) -> Void) {
      self.problem = problem
      self.change = change
    }
  }

  private static func resultMember(
    _ fields: inout [FieldSchema], _ change: (inout [FieldSchema]) -> Void
  ) {
    guard case .oneOf(var members) = fields[3].kind else { return }
    change(&members)
    fields[3].kind = .oneOf(members)
  }

  @Test(arguments: [
    Change(nil) { _ in },
    Change(nil) { $0.append(FieldSchema("eta", .date(.secondsSince2001))) },
    Change(nil) { $0.append(FieldSchema("eta", .integer, isRequired: true, initial: 0)) },
    Change(nil) { $0.remove(at: 2) },
    Change(nil) { $0[2].isWithheld = true },
    Change(nil) { $0[2].kind = .choice(["a", "b"]) },
    Change(nil) { $0[1].kind = .integer },
    Change(nil) { $0[0].kind = .choice(["queued", "finished"]) },
    Change(nil) { resultMember(&$0) { $0.removeLast() } },
    Change("/progress: Apps of version 1.0 require \"progress\", which states would not have.") {
      $0.remove(at: 1)
    },
    Change("/progress: Apps of version 1.0 require \"progress\": it cannot be optional.") {
      $0[1].isRequired = false
    },
    Change("/progress: Apps of version 1.0 expect a number, not a string.") {
      $0[1].kind = .string(maxBytes: 9)
      $0[1].initial = "0"
    },
    Change("/stage: Apps of version 1.0 do not know \"paused\".") {
      $0[0].kind = .choice(["queued", "paused", "running", "finished"])
    },
    Change("/result: Apps of version 1.0 do not know \"postponed\".") {
      resultMember(&$0) { $0.append(FieldSchema("postponed", .object([]))) }
    },
    Change(
      "/result/succeeded/summary: Apps of version 1.0 require \"summary\": it cannot be optional."
    ) {
      resultMember(&$0) {
        $0[0].kind = .object([FieldSchema("summary", .string(maxBytes: 9))])
      }
    },
  ])
  func `are never sent what they could not decode`(change: Change) throws {
    var definition = ActivityType.jobProgress.definition
    definition.mapper = []
    definition.finalPhases = []
    definition.significance = SignificanceRules()
    definition.alerts.updates = [:]
    definition.olderApps = [OlderApp("1.0", contentState: Self.old)]
    change.change(&definition.contentState)
    let refusal: Refusal?
    do throws(Refusal) {
      _ = try ActivityType(definition)
      refusal = nil
    } catch {
      refusal = error
    }
    #expect(
      refusal?.description == change.problem.map { "/olderApps/1.0/contentState" + $0 })
  }

  @Test func `need the attributes that they were built with`() {
    var definition = ActivityType.fieldTrip.definition
    definition.attributes.remove(at: 1)
    definition.olderApps = [
      OlderApp("1.0", attributes: ActivityType.fieldTrip.definition.attributes),
      OlderApp("1.0"),
    ]
    let refusal = #expect(throws: Refusal.self) { try ActivityType(definition) }
    #expect(
      refusal?.problems.map(\.path) == ["/olderApps/1.0/attributes/notebook", "/olderApps/1.0"])
  }

  @Test func `bear no list whose elements changed`() {
    let old = [FieldSchema("places", .list(of: .string(maxBytes: 9), maximum: 3))]
    var definition = ActivityType.fieldTrip.definition
    definition.contentState.append(FieldSchema("places", .list(of: .integer, maximum: 3)))
    definition.olderApps = [OlderApp("1.0", contentState: old)]
    let refusal = #expect(throws: Refusal.self) { try ActivityType(definition) }
    #expect(refusal?.problems.map(\.path) == ["/olderApps/1.0/contentState/places"])
  }
}
