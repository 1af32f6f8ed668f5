import FieldTrips
import JSON
import Testing

@Suite struct `An activity type` {
  @Test func `three are built in`() {
    #expect(
      ActivityType.builtIn.map(\.name) == ["field-trip", "conversation-turn", "job-progress"])
    #expect(ActivityType.fieldTrip.attributesType == "FieldTripAttributes")
    #expect(ActivityType.fieldTrip.storage == .mostRecent)
    #expect(string(ActivityType.jobProgress.initialState) == #"{"stage":"queued","progress":0}"#)
  }

  /// What spoils the definition of the field trip, and the path and part of the message.
  struct Fault: Sendable {
    var path: String
    var message: String
    var spoil: @Sendable (inout ActivityTypeDefinition) -> Void
  }

  @Test(arguments: [
    Fault(path: "/name", message: "small letters") { $0.name = "Field Trip" },
    Fault(path: "/attributesType", message: "Swift struct") { $0.attributesType = "A.B" },
    Fault(path: "/contentState/notesCaptured", message: "initial value") {
      $0.contentState[0].initial = nil
    },
    Fault(path: "/contentState/notesCaptured/initial", message: "a whole number") {
      $0.contentState[0].initial = "0"
    },
    Fault(path: "/contentState/notesCaptured", message: "withheld") {
      $0.contentState[0].isWithheld = true
    },
    Fault(path: "/contentState/lastPlaceName", message: "twice") {
      $0.contentState.append($0.contentState[1])
    },
    Fault(path: "/contentState/lastPlaceName", message: "1 to 4096") {
      $0.contentState[1].kind = .string(maxBytes: 0)
    },
    Fault(path: "/mapper/lastPlace", message: "Did you mean \"lastPlaceName\"?") {
      $0.mapper[1].field = "lastPlace"
    },
    Fault(path: "/mapper/lastPlaceName", message: "A count needs a whole number, not a string.") {
      $0.mapper[1].operation = .count
    },
    Fault(path: "/significance/milestones/lastPlaceName", message: "not counted") {
      $0.significance.milestones = [Milestone("lastPlaceName", at: [1])]
    },
    Fault(path: "/significance/milestones/notesCaptured", message: "1 or more") {
      $0.significance.milestones = [Milestone("notesCaptured", every: 0)]
    },
    Fault(path: "/finalPhases/done", message: "no phase") { $0.finalPhases = ["done"] },
    Fault(path: "/timings/activeLife", message: "found 32400") {
      $0.timings.activeLife = .seconds(9 * 3_600)
    },
    Fault(path: "/timings/staleAfter", message: "60 to 28800") {
      $0.timings.staleAfter = .seconds(1)
    },
    Fault(path: "/contentState", message: "4096") {
      $0.contentState.append(
        FieldSchema(
          "text", .string(maxBytes: 4_000),
          initial: .string(String(repeating: "x", count: 3_000))))
    },
  ])
  func `refuses a wrong definition by its part`(fault: Fault) {
    var definition = ActivityType.fieldTrip.definition
    fault.spoil(&definition)
    let refusal = #expect(throws: Refusal.self) { try ActivityType(definition) }
    #expect(refusal?.problems.map(\.path) == [fault.path])
    #expect(refusal?.description.contains(fault.message) == true, "\(refusal?.description ?? "")")
  }

  @Test(
    arguments: [
      (#"799416000"#, DateUnit.secondsSince2001, nil),
      (#"1777723200"#, .secondsSince2001, "looks like seconds since 1970"),
      (#"1777723200"#, .secondsSince1970, nil),
      (#"799416000"#, .secondsSince1970, "looks like seconds since 2001"),
      (#"1777723200000"#, .secondsSince1970, "looks like milliseconds"),
      (#""2026-05-02T12:00:00Z""#, .text, nil),
      (#""yesterday""#, .text, "is not a date"),
      (#"1777723200"#, .text, "Expected a date as RFC 3339 text"),
    ] as [(String, DateUnit, String?)])
  func `finds dates that are 31 years off`(value: String, unit: DateUnit, message: String?) throws {
    var definition = ActivityType.fieldTrip.definition
    definition.contentState.append(FieldSchema("at", .date(unit)))
    let type = try ActivityType(definition)
    let state = try json(#"{"notesCaptured":1,"at":\#(value)}"#)
    do throws(Refusal) {
      _ = try type.contentState(validating: state, attributes: JSONText([:]))
      #expect(message == nil)
    } catch {
      #expect(message.map { error.description.contains($0) } == true, "\(error)")
    }
  }

  @Test func `keeps the bytes of a whole state`() throws {
    let text = try json(#"{ "lastPlaceName" : "\u00c4", "notesCaptured" : 1 }"#)
    let state = try ActivityType.fieldTrip.contentState(
      validating: text, attributes: try json("{}"))
    #expect(state.bytes == text.bytes)
  }

  @Test func `leaves members out that are null`() throws {
    let text = try json(#"{"notesCaptured":1,"lastPlaceName":null}"#)
    let state = try ActivityType.fieldTrip.contentState(validating: text, attributes: JSONText([:]))
    #expect(string(state) == #"{"notesCaptured":1}"#)
  }

  @Test func `changes only as running cards can bear`() {
    let old = ActivityType.jobProgress.definition
    var new = old
    new.contentState.append(FieldSchema("note", .string(maxBytes: 10)))
    new.contentState.remove(at: 2)
    #expect(old.problemsOfChange(to: new).isEmpty)
    new.contentState[0].kind = .choice(["queued", "running", "finished", "paused"])
    new.contentState[1].kind = .string(maxBytes: 5)
    new.attributesType = "JobAttributes"
    #expect(
      old.problemsOfChange(to: new).map(\.message) == [
        "Cards that run do not know \"paused\".",
        "Cards that run expect a number, not a string.",
        "Cards of JobProgressAttributes cannot go on as JobAttributes.",
      ])
    new = old
    new.contentState.remove(at: 0)
    #expect(old.problemsOfChange(to: new).map(\.path) == ["/contentState/stage"])
    new = old
    new.contentState.append(FieldSchema("note", .integer, isRequired: true, initial: 0))
    new.attributes.append(FieldSchema("owner", .string(maxBytes: 9), isRequired: true))
    #expect(
      old.problemsOfChange(to: new).map(\.message) == [
        "Members who join trips that run require \"note\", which states would not have.",
        "Members who join trips that run require \"owner\", which states would not have.",
      ])
  }
}
