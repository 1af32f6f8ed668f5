import FieldTripKit
import FieldTrips
import Foundation
import JSON
import Testing

/// The structs of the cards, against the types that the service has built in.
@Suite struct `The kit's cards` {
  private let fullTrip = FieldTripAttributes.ContentState(notesCaptured: 7, lastPlaceName: "Au")
  private let turn = ConversationTurnAttributes.ContentState(phase: .thinking)
  private let fullJob = JobProgressAttributes.ContentState(
    stage: .running, progress: 0.5, sender: "mill", result: .cancelled(by: "anna"))

  /// Checks that a struct has the service's fields, no more and no less, and takes its first state.
  private func compare<Attributes: CardAttributes>(
    _ type: ActivityType, _ attributes: Attributes, _ state: Attributes.ContentState
  ) throws {
    #expect(type.name == Attributes.activityType)
    #expect(type.attributesType == Attributes.attributesType)
    #expect(try keys(of: attributes) == Set(type.definition.attributes.map(\.name)))
    #expect(try keys(of: state) == Set(type.definition.contentState.map(\.name)))
    _ = try JSONDecoder().decode(
      Attributes.ContentState.self, from: Data(type.initialState.bytes))
    // What the struct writes the service takes, and the struct reads.
    let written = try JSONText(validating: [UInt8](JSONEncoder().encode(state)))
    let text = try JSONText(validating: [UInt8](JSONEncoder().encode(attributes)))
    let taken = try type.contentState(validating: written, attributes: text)
    let read = try JSONDecoder().decode(Attributes.ContentState.self, from: Data(taken.bytes))
    #expect(read == state)
  }

  private func keys(of value: some Encodable) throws -> Set<String> {
    let object = try JSONValue.parse([UInt8](JSONEncoder().encode(value))).object
    return Set(try #require(object).keys)
  }

  @Test func `have the fields of the service's types`() throws {
    try compare(
      .fieldTrip,
      FieldTripAttributes(name: "n", notebook: "b", tripID: "t", startedAt: 1_777_723_200),
      fullTrip)
    try compare(
      .conversationTurn,
      ConversationTurnAttributes(name: "n", tripID: "t", startedAt: 1_777_723_200), turn)
    try compare(
      .jobProgress, JobProgressAttributes(name: "n", tripID: "t", startedAt: 1_777_723_200),
      fullJob)
  }

  @Test func `take what a newer service may send, and lose none of it on the way to the screen`()
    throws
  {
    func state<State: Codable & Equatable>(_ text: String, as _: State.Type) throws -> State {
      let read = try JSONDecoder().decode(State.self, from: Data(text.utf8))
      let again = try JSONDecoder().decode(State.self, from: JSONEncoder().encode(read))
      #expect(again == read)
      return read
    }
    let trip = try state(
      #"{"notesCaptured":1,"weather":{"rain":true}}"#, as: FieldTripAttributes.ContentState.self)
    #expect(trip == .init(notesCaptured: 1))
    let turn = try state(
      #"{"phase":"searching"}"#, as: ConversationTurnAttributes.ContentState.self)
    #expect(turn.phase.rawValue == "searching")
    let job = try state(
      #"{"stage":"paused","progress":1,"result":{"postponed":{"until":7}}}"#,
      as: JobProgressAttributes.ContentState.self)
    #expect(job.stage.rawValue == "paused" && job.result == .other("postponed"))
    #expect(throws: DecodingError.self) {
      try state(
        #"{"stage":"finished","progress":1,"result":{}}"#,
        as: JobProgressAttributes.ContentState.self)
    }
  }

  @Test func `say in words what they show, and whether it may be old`() {
    let trip = FieldTripAttributes(name: "Heron mudflats", notebook: "Rock pools", tripID: "t")
    let face = trip.face(showing: fullTrip, isStale: true)
    #expect(
      face.spoken == "Heron mudflats. Rock pools. 7 notes captured. last at Au. May be out of date")
    #expect(face.short == "7")
    let one = trip.face(showing: .init(notesCaptured: 1), isStale: false)
    #expect(one.headline == "1 note captured" && !one.spoken.contains("date"))
    #expect(trip.face(showing: .init(notesCaptured: 12_345), isStale: false).short == "12k")

    let job = JobProgressAttributes(name: "Export", tripID: "t")
    let running = job.face(showing: .init(stage: .running, progress: 0.999), isStale: false)
    #expect(running.headline == "99 % done" && running.progress == 0.999)
    #expect(
      job.face(showing: .init(stage: .running, progress: 7), isStale: false).progress == 1)
    let failed = job.face(
      showing: .init(stage: .finished, result: .failed(message: "no space", code: 7)),
      isStale: false)
    #expect(failed.headline == "Failed" && failed.detail == "no space")
    let turn = ConversationTurnAttributes(name: "Anna", tripID: "t")
    let unknown = turn.face(showing: .init(phase: .init(rawValue: "searching")), isStale: false)
    #expect(unknown.headline == "Searching")
  }
}
