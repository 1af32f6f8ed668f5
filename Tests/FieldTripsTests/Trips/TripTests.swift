import Clocks
import FieldTrips
import JSON
import Testing

@Suite struct `A trip` {
  func live(_ type: ActivityType) throws -> (Trip, Mapper) {
    let attributes = try json(#"{"name":"n"}"#)
    var life = TripLife(times: TripTimes(createdAt: noon))
    _ = life.created(at: noon)
    _ = life.handle(.channelOpened(try ChannelID("Y2g=")), at: noon)
    let trip = Trip(
      id: try sampleTrip(),
      app: try AppID(bundleID: "com.example.trips", environment: .production),
      typeName: type.name, name: "n", attributes: attributes, life: life,
      card: Card(state: type.initialState))
    return (trip, Mapper(type: type, attributes: attributes))
  }

  @Test func `counts its revisions by changes, not by triggers`() throws {
    var (trip, mapper) = try live(.conversationTurn)
    _ = trip.take(try phase("sending"), acceptedAt: noon, mapper: mapper)
    #expect(trip.revision == .initial)
    _ = trip.take(try phase("thinking"), acceptedAt: noon, mapper: mapper)
    #expect(trip.revision == Revision(1))
  }

  @Test func `ends with a last state, and takes nothing more`() throws {
    var (trip, mapper) = try live(.fieldTrip)
    let end = Trigger(
      id: try TriggerID("end"), trip: trip.id,
      effect: .end(
        Trigger.EndOfTrip(
          finalState: try json(#"{"notesCaptured":9}"#), dismissal: .atOnce)))
    let verdict = trip.take(end, acceptedAt: noon, mapper: mapper)
    #expect(verdict.card.change?.isSignificant == true)
    #expect(verdict.actions.contains(.publishEnd(on: try ChannelID("Y2g="))))
    let late = trip.take(try note("late"), acceptedAt: noon, mapper: mapper)
    #expect(late.card.refusal?.code == .endedTrip)
    #expect(late.card.refusal?.description == "The trip is ending: it takes nothing more.")
    #expect(string(trip.card.state) == #"{"notesCaptured":9}"#)
  }

  @Test func `does not end with a state that no phone decodes`() throws {
    var (trip, mapper) = try live(.fieldTrip)
    let end = Trigger(
      id: try TriggerID("end"), trip: trip.id,
      effect: .end(Trigger.EndOfTrip(finalState: try json(#"{"notes":9}"#))))
    #expect(trip.take(end, acceptedAt: noon, mapper: mapper).card.refusal != nil)
    #expect(trip.life.phase == .live)
  }

  @Test func `ends by itself after a final phase`() throws {
    var (trip, mapper) = try live(.conversationTurn)
    let verdict = trip.take(try phase("answered"), acceptedAt: noon, mapper: mapper)
    #expect(verdict.actions == [.schedule(.end, at: noon + .seconds(60))])
    // A correction meanwhile does not put the end off.
    _ = trip.take(try phase("thinking"), acceptedAt: noon + .seconds(30), mapper: mapper)
    let again = trip.take(
      try phase("answered"), acceptedAt: noon + .seconds(40), mapper: mapper)
    #expect(again.actions == [])
    #expect(trip.life.times.endsAt == noon + .seconds(60))
  }

  @Test func `an app is named by bundle and environment`() throws {
    let app = try AppID(bundleID: "com.example.trips", environment: .development)
    #expect("\(app)" == "app:com.example.trips:development")
    for text in ["", "a b", "com.example/trips", "{x}", String(repeating: "a", count: 156)] {
      #expect(throws: IdentifierError.self) {
        try AppID(bundleID: text, environment: .production)
      }
    }
  }
}
