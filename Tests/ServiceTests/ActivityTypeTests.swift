import APNsSimulator
import Clocks
import FieldTrips
import FieldcastServer
import JSON
import Redis
import Synchronization
import Testing
import Transport

/// Activity types of one's own, and their changes, as running trips bear them.
@Suite struct `A service's activity types` {
  /// The built-in field trip after a change.
  private static func walk(
    _ change: (inout ActivityTypeDefinition) -> Void
  ) throws -> [ActivityType] {
    var definition = ActivityType.fieldTrip.definition
    change(&definition)
    return [try ActivityType(definition)]
  }

  @Test func `keep a place off every wire`() async throws {
    let types = try Self.walk { $0.contentState[1].isWithheld = true }
    func keep(_ configuration: inout SimulatorConfiguration) {
      configuration.keepsAcceptedPushes = true
    }
    try await World.with(configure: keep) { world in
      try await world.withService {
        $0.activityTypes = types
      } _: { caller in
        let trip = try await caller.createTrip()
        let path = "/v1/trips/\(trip.id)"
        _ = try await caller.call(
          "POST", path + "/notes", #"{"id":"a","place":"Nest site 4","significant":true}"#)
        try await world.waitForBroadcast(on: trip.channelID, notes: 1)
        _ = try await caller.call(
          "PUT", path + "/content-state",
          #"{"id":"b","contentState":{"notesCaptured":9,"lastPlaceName":"Nest site 4"}}"#)
        try await world.waitForBroadcast(on: trip.channelID, notes: 9)
        let joined = try await caller.call("POST", path + "/members", #"{"member":"anna"}"#)
        let read = try await caller.call("GET", path)
        #expect(read.body["contentState"]?["notesCaptured"]?.int64 == 9)
        let pushes = await world.simulator.run { apns, _ in apns.acceptedPushes }
        #expect(pushes.count >= 2)
        for text in pushes.map({ String(decoding: $0.body, as: UTF8.self) })
          + [joined.text, read.text]
        {
          #expect(!text.contains("Nest"), "\(text)")
        }
      }
    }
  }

  /// What was stored before the change is filtered like what comes after it.
  @Test func `keep a place that was shown before off every wire`() async throws {
    let types = try Self.walk { $0.contentState[1].isWithheld = true }
    func keep(_ configuration: inout SimulatorConfiguration) {
      configuration.keepsAcceptedPushes = true
    }
    try await World.with(configure: keep) { world in
      var created: [TestCaller.Trip] = []
      try await world.withService { caller in
        let trip = try await caller.createTrip()
        created.append(trip)
        _ = try await caller.call(
          "POST", "/v1/trips/\(trip.id)/notes",
          #"{"id":"a","place":"Nest site 4","significant":true}"#)
        try await world.waitForBroadcast(on: trip.channelID, notes: 1)
      }
      let trip = created[0]
      let path = "/v1/trips/\(trip.id)"
      let before = await world.simulator.run { apns, _ in apns.acceptedPushes.count }
      try await world.withService({ $0.activityTypes = types }) { caller in
        var replies = [try await caller.call("POST", path + "/members", #"{"member":"anna"}"#)]
        let started = try await TestPhone.make(SystemVersion(18, 0), of: "bela", in: world)
        try await started.join(trip.id, caller, withStartToken: true, #""start":"push""#)
        _ = try await started.waitForCard()
        let single = try await TestPhone.make(SystemVersion(17, 4), of: "cleo", in: world)
        try await single.join(trip.id, caller)
        _ = try await single.startCard(of: trip, caller)
        try await single.waitUntilItShows(1)
        // Cards on the channel are told without waiting for the next note.
        try await world.waitUntil("the channel has the state anew") {
          await world.ledger(of: trip.channelID)?.recent.count ?? 0 > 1
        }
        for path in [path, "/v1/trips", path + "/timeline"] {
          replies.append(try await caller.call("GET", path))
        }
        replies.append(try await caller.call("POST", path + "/end"))
        try await single.waitForEnd()
        try await started.waitForEnd()
        let pushes = await world.simulator.run { apns, _ in
          apns.acceptedPushes.dropFirst(before).map { String(decoding: $0.body, as: UTF8.self) }
        }
        #expect(pushes.count >= 5)
        for text in pushes + replies.map(\.text) {
          #expect(!text.contains("Nest"), "\(text)")
        }
        #expect(replies[0].body["contentState"]?["notesCaptured"]?.int64 == 1)
      }
    }
  }

  /// The largest state that is taken goes by every way there is.
  @Test func `take no state that is too large for a start, an update or an end`() async throws {
    let types = try Self.walk {
      $0.contentState[1] = FieldSchema("lastPlaceName", .string(maxBytes: 4_096))
      $0.alerts.updates[.firstNote] = try? AlertText(title: "{name}", body: "At {lastPlaceName}")
    }
    try await World.with { world in
      try await world.withService({ $0.activityTypes = types }) { caller in
        func create(_ length: Int) async throws -> TestCaller.Answer {
          let place = String(repeating: "\\\"", count: length / 2)
          return try await caller.call(
            "POST", "/v1/trips",
            #"{"name":"W","notebook":"B","dismissal":60,"contentState":{"notesCaptured":0,"#
              + "\"lastPlaceName\":\"\(place)\"}}")
        }
        var (fits, tooLarge) = (100, 4_096)
        while tooLarge - fits > 2 {
          let length = (fits + tooLarge) / 2
          let answer = try await create(length)
          try #require(
            answer.status == 201 || answer.problem == "state-too-large", "\(answer.text)")
          if answer.status == 201 { fits = length } else { tooLarge = length }
        }
        let answer = try await create(fits)
        let trip = TestCaller.Trip(
          id: try #require(answer.body["trip"]?.string),
          channelID: try #require(answer.body["channel"]?["id"]?.string),
          contentState: #"{"notesCaptured":0}"#)
        print("the largest place has \(fits) bytes")
        var phones: [TestPhone] = []
        for (name, system) in [("anna", SystemVersion(18, 0)), ("bela", SystemVersion(17, 4))] {
          let phone = try await TestPhone.make(system, of: name, in: world)
          try await phone.join(trip.id, caller, withStartToken: true, #""start":"push""#)
          let card = try await phone.waitForCard(withToken: name == "bela")
          if name == "bela" { try await phone.register(card, of: trip.id, caller) }
          phones.append(phone)
        }
        try await caller.note("a", on: trip.id)
        for phone in phones { try await phone.waitUntilItShows(1) }
        _ = try await caller.call("POST", "/v1/trips/\(trip.id)/end")
        for phone in phones { try await phone.waitForEnd() }
        let (answers, complaints) = await world.simulator.run { apns, _ in
          (apns.statistics.answers, apns.complaints.count)
        }
        #expect(answers[413] == nil && complaints == 0)
      }
    }
  }

  @Test func `do not change so that running trips break`() async throws {
    try await World.with { world in
      var known: TestCaller.Trip?
      try await world.withService { caller in
        let trip = try await caller.createTrip()
        _ = try await caller.call(
          "POST", "/v1/trips/\(trip.id)/notes", #"{"id":"a","place":"Pond"}"#)
        try await world.waitForBroadcast(on: trip.channelID, notes: 1)
        known = trip
      }
      let trip = try #require(known)
      let types = try Self.walk {
        $0.contentState.append(FieldSchema("species", .integer, isRequired: true, initial: 0))
        $0.contentState.remove(at: 1)
        $0.mapper = [MapperRule("notesCaptured", .count)]
      }
      let failure = await #expect(throws: StartFailure.self) {
        try await world.withService {
          $0.activityTypes = types
        } _: { _ in
        }
      }
      let text = failure?.description ?? ""
      #expect(
        text.contains(
          "field-trip/contentState/species: Members who join trips that run require \"species\""),
        "\(text)")
      #expect(text.contains("--accept-type-changes"))
      func accept(_ configuration: inout ServiceConfiguration) {
        configuration.activityTypes = types
        configuration.acceptsTypeChanges = true
      }
      try await world.withService(accept) { caller in
        _ = try await caller.call(
          "POST", "/v1/trips/\(trip.id)/notes", #"{"id":"b","significant":true}"#)
        try await world.waitForBroadcast(on: trip.channelID, notes: 2)
        let state = await world.ledger(of: trip.channelID)?.newestState?.payload.contentState
        #expect(state?.text == #"{"notesCaptured":2,"species":0}"#)
      }
      // Accepted once, it is what trips have.
      try await world.withService {
        $0.activityTypes = types
      } _: { _ in
      }
    }
  }

  @Test func `that only other nodes know hold the log rather than lose notes`() async throws {
    try await World.with { world in
      var created: [TestCaller.Trip] = []
      try await world.withService { caller in created.append(try await caller.createTrip()) }
      let trip = created[0]
      let lines = Mutex<[String]>([])
      let log = ServiceLog(minimum: .error) { _, message, facts in
        lines.withLock { $0.append("\(message): \(facts)") }
      }
      try await world.withService(
        { $0.activityTypes.removeAll { $0.name == "field-trip" } }, log: log
      ) { caller, service in
        for id in ["a", "b"] {
          try await caller.add(toStream: #"{"id":"\#(id)","trip":"\#(trip.id)"}"#)
        }
        try await world.waitUntil("the log stands still") {
          lines.withLock { lines in
            lines.contains { $0.contains("stands still") && $0.contains("field-trip") }
          }
        }
        #expect(await service.counts().triggersApplied == 0)
        #expect(try await caller.deadLetterReasons().isEmpty)
      }
      try await world.withService { caller in
        try await world.waitForBroadcast(on: trip.channelID, notes: 2)
        #expect(try await caller.deadLetterReasons().isEmpty)
      }
    }
  }
}
