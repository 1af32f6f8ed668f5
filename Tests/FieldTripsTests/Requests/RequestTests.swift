import Clocks
import FieldTrips
import JSON
import Testing

@Suite struct `A request to create a trip` {
  func read(_ text: String) throws -> CreateTripRequest {
    try CreateTripRequest.read(
      try JSONValue.parse(text), types: ActivityType.builtIn, trip: try sampleTrip(), now: noon)
  }

  /// A struct may mean something else by the name that tells newer cards from older ones.
  @Test func `leaves a startedAt of another kind to the caller`() throws {
    var definition = ActivityType.fieldTrip.definition
    let index = try #require(definition.attributes.firstIndex { $0.name == "startedAt" })
    definition.attributes[index].kind = .string(maxBytes: 40)
    let type = try ActivityType(definition)
    let request = try CreateTripRequest.read(
      JSONValue.parse(
        #"{"name":"n","notebook":"b","attributes":{"startedAt":"at dawn"}}"#),
      types: [type], trip: TripID("0c9d3a52-6a0e-4d4b-9f3e-0a5b6c7d8e9f"), now: noon)
    let attributes = type.attributes(request.attributes, startingAt: noon + .seconds(60))
    #expect(attributes.value["startedAt"]?.string == "at dawn")
  }

  @Test func `starts a field trip at once, for eight hours`() throws {
    let request = try read(#"{"name":"Birds of Marsh","notebook":"Spring 2026"}"#)
    #expect(request.type.name == "field-trip")
    #expect(
      String(decoding: request.attributes.bytes, as: UTF8.self)
        == #"{"name":"Birds of Marsh","notebook":"Spring 2026","#
        + #""tripID":"0c9d3a52-6a0e-4d4b-9f3e-0a5b6c7d8e9f","startedAt":1777723200}"#)
    #expect(string(request.state) == #"{"notesCaptured":0}"#)
    #expect(request.times.startsAt == noon)
    #expect(request.times.endsAt == noon + .seconds(28_800))
    #expect(request.times.staleAfter == .seconds(900))
    #expect(request.warnings == [])
  }

  @Test func `takes what it is given`() throws {
    let request = try read(
      #"{"name":"n","notebook":"b","type":"field-trip","environment":"development","#
        + #""bundleID":"com.example.trips","startsAt":"2026-05-02T15:00:00+02:00","#
        + #""endsAt":1777800000,"staleAfter":600,"dismissal":"atOnce","#
        + #""contentState":{"notesCaptured":3}}"#)
    #expect(request.environment == .development)
    #expect(request.times.startsAt == noon + .seconds(3_600))
    #expect(request.times.dismissal == .atOnce)
    #expect(string(request.state) == #"{"notesCaptured":3}"#)
    #expect(request.warnings.count == 1)
  }

  @Test(arguments: [
    (
      #""startsAt":"2026-05-01T12:00:00Z""#,
      "/startsAt: 2026-05-01T12:00:00Z was 86400 s ago: leave it out to start at once."
    ),
    (
      #""startsAt":"2027-05-02T12:00:00Z""#,
      "/startsAt: 2027-05-02T12:00:00Z is 31536000 s ahead, over the limit of 2592000."
    ),
    (
      #""startsAt":1777726800,"endsAt":1777726000"#,
      "/endsAt: The end 2026-05-02T12:46:40Z is not after the start 2026-05-02T13:00:00Z."
    ),
    (#""endsAt":"2026-05-02T11:59:00Z""#, "/endsAt: 2026-05-02T11:59:00Z is already over."),
    (
      #""endsAt":"2026-06-01T12:00:00Z""#,
      "/endsAt: The trip would last 2592000 s, over the limit of 259200."
    ),
    (
      #""endsAt":1777726800000"#,
      "/endsAt: 1777726800000 looks like milliseconds: expected seconds since 1970, 1777726800."
    ),
    (
      #""endsAt":"40000-01-01T00:00:00Z""#,
      "/endsAt: \"40000-01-01T00:00:00Z\" is not a date like 2026-05-02T09:30:00Z: the year is 4000: expected 1970 to 2199."
    ),
    (
      #""endsAt":"2026-06-30T23:59:60Z""#,
      "/endsAt: \"2026-06-30T23:59:60Z\" is not a date like 2026-05-02T09:30:00Z: leap seconds are not taken: write second 59."
    ),
    (
      #""dismissal":21600"#,
      "/dismissal: A dismissal 21600 s after the end is over the system's limit of 14400 s (4 h)."
    ),
    (
      #""dismissal":1777726800"#,
      "/dismissal: A dismissal 1000000000 s after the end is over the system's limit of 14400 s (4 h). It looks like a date: give the seconds between the end and the dismissal."
    ),
    (#""staleAfter":5"#, "/staleAfter: Expected a number from 60 to 28800, found 5."),
    (
      #""type":"fieldtrip""#,
      "/type: There is no activity type \"fieldtrip\". Did you mean \"field-trip\"?"
    ),
    (
      #""environment":"sandbox""#,
      "/environment: Expected one of \"development\", \"production\", found \"sandbox\"."
    ),
    (
      #""attributes":{"tripID":"x"}"#,
      "/attributes/tripID: \"tripID\" is filled in from the trip: leave it out."
    ),
    (#""attributes":{"leader":"x"}"#, "/attributes/leader: \"leader\" is not known here."),
    (
      #""contentState":{}"#,
      "/contentState/notesCaptured: \"notesCaptured\" is required: without it the phone keeps its old card."
    ),
    (
      #""contentstate":{}"#,
      "/contentstate: \"contentstate\" is not known here. Did you mean \"contentState\"?"
    ),
  ])
  func `says what is wrong with it`(member: String, message: String) {
    let refusal = #expect(throws: Refusal.self) {
      try read(#"{"name":"n","notebook":"b","# + member + "}")
    }
    #expect(refusal?.description == message)
  }

  @Test func `names everything that is missing at once`() {
    #expect(throws: Refusal.self) { try read("[]") }
    let refusal = #expect(throws: Refusal.self) { try read(#"{"name":"n","x":1}"#) }
    #expect(refusal?.problems.map(\.path) == ["/x", "/notebook"])
  }

  @Test func `a start up to five minutes ago is now`() throws {
    let request = try read(#"{"name":"n","notebook":"b","startsAt":1777723000}"#)
    #expect(request.times.startsAt == noon)
  }
}

@Suite struct `A request to join` {
  func read(_ text: String) throws -> JoinRequest { try JoinRequest.read(JSONValue.parse(text)) }

  @Test func `takes tokens in either case and hides them`() throws {
    let request = try read(
      #"{"member":"anna","osVersion":"17.4.1","activityToken":"AB12CD34","activityID":"x"}"#)
    #expect(request.updateToken?.hex == "ab12cd34")
    #expect(request.updateToken.map { "\($0)" } == "…cd34")
    #expect(request.osVersion == OSVersion(17, 4))
  }

  @Test(arguments: [
    ("{}", "/member: \"member\" is required."),
    (
      #"{"member":"a","activityToken":"abc","activityID":"x"}"#,
      "/activityToken: The token has 3 digits: expected an even number of 2 to 400."
    ),
    (
      #"{"member":"a","deviceToken":"<ab>"}"#,
      "/deviceToken: The token is not hex: send the token's bytes as hex digits."
    ),
    (
      #"{"member":"a","activityToken":"ab"}"#,
      "/activityID: \"activityID\" must say which card the token belongs to."
    ),
    (
      #"{"member":"a","osVersion":"iOS 18"}"#,
      "/osVersion: \"iOS 18\" is not an iOS version such as 18.1."
    ),
    (
      #"{"member":"a","osversion":"18"}"#,
      "/osversion: \"osversion\" is not known here. Did you mean \"osVersion\"?"
    ),
  ])
  func `says what is wrong with it`(text: String, message: String) {
    let refusal = #expect(throws: Refusal.self) { try read(text) }
    #expect(refusal?.description == message)
  }
}

@Suite struct `A registration of a token` {
  @Test func `is for a device, a card, or a remote start`() throws {
    let device = try TokenRegistration.readDevice(JSONValue.parse(#"{"deviceToken":"ab"}"#))
    #expect(device.kind == .device)
    let card = try TokenRegistration.readActivityToken(
      JSONValue.parse(#"{"activityToken":"ab","activityID":"x","environment":"production"}"#))
    #expect(card.kind == .update(activityID: "x") && card.environment == .production)
    let start = try TokenRegistration.readActivityToken(
      JSONValue.parse(#"{"activityToken":"ab","kind":"push-to-start","osVersion":"18.0"}"#))
    #expect(start.kind == .pushToStart && start.osVersion == OSVersion(18))
  }

  @Test(arguments: [
    (#"{"activityToken":"ab"}"#, "/activityID: \"activityID\" is required."),
    (
      #"{"activityToken":"ab","kind":"push-to-start","activityID":"x"}"#,
      "/activityID: A push-to-start token belongs to no card: leave this out."
    ),
    (
      #"{"activityToken":"ab","kind":"start"}"#,
      "/kind: Expected one of \"update\", \"push-to-start\", found \"start\". /activityID: \"activityID\" is required."
    ),
    (
      #"{"deviceToken":"ab"}"#,
      "/activityToken: \"activityToken\" is required. /activityID: \"activityID\" is required. /deviceToken: \"deviceToken\" is not known here."
    ),
  ])
  func `says what is wrong with it`(text: String, message: String) {
    let refusal = #expect(throws: Refusal.self) {
      try TokenRegistration.readActivityToken(JSONValue.parse(text))
    }
    #expect(refusal?.description == message)
  }
}
