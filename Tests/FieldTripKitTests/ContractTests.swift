import Clocks
import FieldTripKit
import FieldTrips
import Foundation
import JSON
import Testing

/// The app's models and the server's reading of them, held against each other.
@Suite struct `The kit and the server` {
  let trip: TripID
  let now = UnixTime(wholeSeconds: 1_777_723_200)

  init() throws { trip = try TripID("0c9d3a52-6a0e-4d4b-9f3e-0a5b6c7d8e9f") }

  func value(_ request: some Encodable) throws -> JSONValue {
    try JSONValue.parse([UInt8](FieldcastCoding.encode(request)))
  }

  @Test func `agree on a new trip`() throws {
    let date = Date(timeIntervalSince1970: 1_777_726_800)
    let request = NewTrip<FieldTripAttributes>(
      name: "Birds", notebook: "Spring", startsAt: date, endsAt: date + 3_600, staleAfter: 300,
      dismissal: .after(seconds: 60), contentState: .init(notesCaptured: 2, lastPlaceName: "Au"))
    let read = try CreateTripRequest.read(
      value(request), types: ActivityType.builtIn, trip: trip, now: now)
    #expect(read.times.startsAt == now + .seconds(3_600))
    #expect(read.times.dismissal == .after(.seconds(60)))
    let bytes = Data(read.state.bytes)
    let state = try JSONDecoder().decode(FieldTripAttributes.ContentState.self, from: bytes)
    #expect(state == request.contentState)
    let attributes = try JSONDecoder().decode(
      FieldTripAttributes.self, from: Data(read.attributes.bytes))
    let wanted = FieldTripAttributes(
      name: "Birds", notebook: "Spring", tripID: trip.text, startedAt: 1_777_726_800)
    #expect(attributes == wanted)
    #expect(ActivityType.fieldTrip.attributesType == "\(FieldTripAttributes.self)")
  }

  @Test func `agree on joins and tokens`() throws {
    let token = FieldTripKit.PushToken(Data([0, 0xAB, 0x10]))
    let join = try JoinRequest.read(
      value(
        Join(
          member: "anna", osVersion: "18.1", deviceToken: token, pushToStartToken: token,
          activityToken: token, activityID: "x", frequentUpdates: true, start: .push)))
    #expect(join.updateToken?.hex == "00ab10" && join.allowsFrequentUpdates == true)
    #expect(!join.startsInApp)
    let device = try TokenRegistration.readDevice(
      value(
        DeviceRegistration(
          deviceToken: token, member: "anna", environment: .production, osVersion: "18.1")))
    #expect(device.kind == .device && device.environment == .production)
    let update = try TokenRegistration.readActivityToken(
      value(ActivityTokenRegistration.update(token, activityID: "x", trip: trip.text)))
    #expect(update.kind == .update(activityID: "x") && update.trip == trip)
    let start = try TokenRegistration.readActivityToken(
      value(ActivityTokenRegistration.pushToStart(token, member: "anna")))
    #expect(start.kind == .pushToStart)
  }

  @Test func `agree on notes and ends`() throws {
    let note = CapturedNote(
      id: "n", member: "anna", place: "Au", capturedAt: Date(timeIntervalSince1970: 1_777_723_200),
      significant: true, sequence: 3)
    let trigger = try Trigger.read(
      [UInt8](FieldcastCoding.encode(note)), kind: .note, trip: trip)
    #expect(trigger.occurredAt == now && trigger.sequence == 3 && trigger.isSignificant)
    for dismissal in [FieldTripKit.Dismissal.systemDefault, .atOnce, .after(seconds: 9)] {
      let end = TripEnd<FieldTripAttributes>(
        contentState: .init(notesCaptured: 1), dismissal: dismissal)
      let trigger = try Trigger.read(
        [UInt8](FieldcastCoding.encode(end)), kind: .end, trip: trip)
      #expect(trigger.kind == .end && trigger.id.text == end.id)
    }
  }

  @Test func `a reply's dates may be text, with or without fraction, or seconds`() throws {
    let reply = #"""
      {"trip":"t","member":"m","reach":"channel","channelID":"Y2g=","revision":1,
       "attributes":{"name":"n","notebook":"b","tripID":"t"},"contentState":{"notesCaptured":0},
       "staleDate":1777723200,"endsAt":"2026-05-02T12:00:00.500Z","attributesType":"x"}
      """#
    let join = try FieldcastCoding.decode(
      JoinReply<FieldTripAttributes>.self, from: Data(reply.utf8))
    #expect(join.staleDate == Date(timeIntervalSince1970: 1_777_723_200))
    #expect(join.endsAt.timeIntervalSince1970 == 1_777_723_200.5)
    let whole = reply.replacing(".500Z", with: "Z")
    let other = try FieldcastCoding.decode(
      JoinReply<FieldTripAttributes>.self, from: Data(whole.utf8))
    #expect(other.endsAt == join.staleDate)
    #expect(throws: DecodingError.self) {
      try FieldcastCoding.decode(
        JoinReply<FieldTripAttributes>.self,
        from: Data(reply.replacing("2026-", with: "soon-").utf8))
    }
  }

  @Test func `a problem says which part was wrong`() throws {
    let text = #"""
      {"type":"urn:fieldcast:problem:bad-date","title":"t","status":400,"detail":"d",
       "errors":[{"code":"badDate","pointer":"/endsAt","message":"m"}]}
      """#
    let problem = try FieldcastCoding.decode(ProblemReply.self, from: Data(text.utf8))
    #expect(problem.errors?.first?.pointer == "/endsAt")
  }
}

@Suite struct `Running cards` {
  func cards(_ ids: String...) -> [(id: String, attributes: FieldTripAttributes)] {
    ids.map {
      ($0, FieldTripAttributes(name: "", notebook: "", tripID: $0.hasPrefix("x") ? "x" : "t"))
    }
  }

  @Test func `of one trip are reduced to one, always the same`() {
    let running = RunningCards(of: "t", among: cards("b", "x1", "a", "c"))
    #expect(running.kept == "a" && running.surplus == ["b", "c"])
  }

  @Test func `keep the newer one`() {
    let attributes = [100, 900, 500].map {
      FieldTripAttributes(name: "", notebook: "", tripID: "t", startedAt: $0)
    }
    let running = RunningCards(
      of: "t", among: zip(["a", "b", "c"], attributes).map { ($0, $1) }, known: "a")
    #expect(running.kept == "b" && running.surplus == ["a", "c"])
  }

  @Test func `keep the one that the server knows`() {
    let running = RunningCards(of: "t", among: cards("b", "a"), known: "b")
    #expect(running.kept == "b" && running.surplus == ["a"])
    #expect(RunningCards(of: "t", among: cards("a"), known: "gone").kept == "a")
    #expect(RunningCards(of: "t", among: cards("x1")).kept == nil)
  }
}
