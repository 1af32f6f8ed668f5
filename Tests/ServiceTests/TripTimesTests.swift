import APNsSimulator
import Clocks
import FieldTrips
import FieldcastServer
import JSON
import Randomness
import Synchronization
import Testing
import Transport

/// The machine's clocks, whose wall clock somebody sets.
private final class SteppedClock: SimulatedClocks {
  private let lead = Mutex(Duration.zero)

  var monotonic: Moment { MonotonicClock.now() }
  var wall: UnixTime { WallClock.now() + lead.withLock { $0 } }

  func step(by span: Duration) { lead.withLock { $0 += span } }
}

/// What a trip's times mean on the Lock Screen.
@Suite struct `The life of a trip` {
  private func create(_ more: String, _ caller: TestCaller) async throws -> TestCaller.Trip {
    try await caller.createTrip(#"{"name":"Walk","notebook":"Birds"\#(more)}"#)
  }

  /// The end that APNs accepted.
  private func end(of trip: TestCaller.Trip, _ world: World) async throws -> ActivityPush {
    let (bundleID, channelID) = (world.bundleID, trip.channelID)
    let isThere = await world.simulator.wait(upTo: .seconds(40)) { apns, _ in
      apns.channel(bundleID, channelID)?.ledger.end != nil
    }
    #expect(isThere, "the trip does not end")
    return try #require(await world.ledger(of: channelID)?.end)
  }

  @Test func `begins when its time has come because the machine's clock was set ahead`()
    async throws
  {
    try await World.with(speed: 1) { world in
      let machine = SteppedClock()
      try await world.withService({
        $0.clock = ServiceClock(simulation: machine)
      }) { caller in
        let startsAt = machine.wall + .seconds(1_800)
        let trip = try await create(#","startsAt":\#(startsAt.wholeSeconds)"#, caller)
        func phase() async throws -> String? {
          try await caller.call("GET", "/v1/trips/\(trip.id)").body["phase"]?.string
        }
        #expect(try await phase() == "scheduled")
        machine.step(by: .seconds(1_810))
        try await world.waitUntil("the trip has begun") { try await phase() == "live" }
      }
    }
  }

  @Test func `leaves cards as long as its dismissal says, and its channel a little longer`()
    async throws
  {
    try await World.with(speed: 600) { world in
      try await world.withService { caller in
        var trips: [TestCaller.Trip] = []
        for dismissal in [#""default""#, #""atOnce""#, "1200"] {
          let trip = try await create(#","dismissal":\#(dismissal)"#, caller)
          try await world.addPhones(1, to: trip.channelID, showing: trip.contentState)
          _ = try await caller.call("POST", "/v1/trips/\(trip.id)/end")
          trips.append(trip)
        }
        let ends = try await [
          end(of: trips[0], world), end(of: trips[1], world), end(of: trips[2], world),
        ]
        // By default the system decides; a date that has passed removes the card at once.
        #expect(ends[0].payload.dismissalDateSeconds == nil)
        let passed = try #require(ends[1].payload.dismissalDateSeconds)
        #expect(passed < ends[1].acceptedAt.wholeSeconds)
        let later = try #require(ends[2].payload.dismissalDateSeconds)
        let sent = try #require(ends[2].payload.timestampSeconds)
        #expect((1_195...1_260).contains(later - sent))
        // Channels go in the order in which cards do: none before its card is gone.
        let (bundleID, channels) = (world.bundleID, trips.map(\.channelID))
        var gone: [String: UnixTime] = [:]
        for channel in [channels[1], channels[2]] {
          let isGone = await world.simulator.wait(upTo: .seconds(30)) { apns, _ in
            apns.channel(bundleID, channel)?.deletedAt != nil
          }
          #expect(isGone)
          gone[channel] = await world.simulator.run { apns, _ in
            apns.channel(bundleID, channel)?.deletedAt
          }
        }
        #expect(try #require(gone[channels[1]]) >= ends[1].acceptedAt + .seconds(50))
        #expect(try #require(gone[channels[2]]) >= UnixTime(wholeSeconds: later))
        // The system may show the first for four hours.
        #expect(
          await world.simulator.run { apns, _ in
            apns.channel(bundleID, channels[0])?.deletedAt == nil
          })
      }
    }
  }

  @Test func `is over when its first card would die, if nobody ends it`() async throws {
    try await World.with(speed: 1_200) { world in
      try await world.withService { caller in
        let created = world.clock.wall
        let trip = try await create(#","dismissal":"atOnce""#, caller)
        _ = try await caller.call("POST", "/v1/trips/\(trip.id)/notes", #"{"id":"a"}"#)
        let end = try await end(of: trip, world)
        let length = end.acceptedAt - created
        #expect(length >= .seconds(8 * 3_600 - 1) && length < .seconds(10 * 3_600), "\(length)")
        #expect(end.payload.contentState?.text == #"{"notesCaptured":1}"#)
        await world.waitUntilNoChannelIsLeft()
      }
    }
  }

  @Test func `is over on a card whose token comes after the end`() async throws {
    try await World.with { world in
      try await world.withService { caller in
        let trip = try await create("", caller)
        let anna = try await TestPhone.make(SystemVersion(17, 4), of: "anna", in: world)
        try await anna.join(trip.id, caller, withStartToken: true, #""start":"push""#)
        let card = try await anna.waitForCard(withToken: true)
        try await caller.note("a", on: trip.id)
        _ = try await caller.call(
          "POST", "/v1/trips/\(trip.id)/end", #"{"id":"end","dismissal":600}"#)
        try await world.waitUntil("the trip has ended") {
          try await caller.call("GET", "/v1/trips/\(trip.id)").body["phase"]?.string == "ended"
        }
        // The person allowed the card only now, or the app was not running before.
        try await anna.register(card, of: trip.id, caller)
        try await anna.waitForEnd()
        try await anna.waitUntilItShows(1)
      }
    }
  }

  @Test func `goes on for who stays and for who comes back`() async throws {
    try await World.with { world in
      try await world.withService { caller in
        let trip = try await create("", caller)
        let anna = try await TestPhone.make(SystemVersion(17, 0), of: "anna", in: world)
        let bela = try await TestPhone.make(SystemVersion(17, 0), of: "bela", in: world)
        for phone in [anna, bela] {
          try await phone.join(trip.id, caller)
          _ = try await phone.startCard(of: trip, caller)
        }
        try await caller.note("a", on: trip.id)
        for phone in [anna, bela] { try await phone.waitUntilItShows(1) }

        let path = "/v1/trips/\(trip.id)/members/"
        #expect(try await caller.call("DELETE", path + "anna").status == 204)
        try await anna.waitForEnd()
        try await caller.note("b", on: trip.id)
        try await bela.waitUntilItShows(2)
        #expect(try await anna.cards().last?.contentState == #"{"notesCaptured":1}"#)

        // Back again, with a card of her own making.
        try await anna.join(trip.id, caller)
        _ = try await anna.startCard(of: trip, caller)
        try await anna.waitUntilItShows(2)

        // The last one leaves: the trip is still there, and whoever listens on the channel.
        for member in ["anna", "bela", "bela"] {
          #expect(try await caller.call("DELETE", path + member).status == 204)
        }
        let read = try await caller.call("GET", "/v1/trips/\(trip.id)")
        #expect(read.body["phase"]?.string == "live")
        #expect(read.body["members"]?["updateToken"]?.int64 == 0)
        try await caller.note("c", on: trip.id)
        try await world.waitForBroadcast(on: trip.channelID, notes: 3)
        _ = try await caller.call(
          "POST", "/v1/trips/\(trip.id)/end", #"{"id":"end","dismissal":"atOnce"}"#)
        await world.waitUntilNoChannelIsLeft()
        #expect(try await bela.cards().last?.contentState == #"{"notesCaptured":2}"#)
      }
    }
  }
}

/// Events that overtake each other on their way through the doors.
@Suite struct `Events out of order in the service` {
  @Test func `leave every trip with what its newest say`() async throws {
    func keep(_ configuration: inout SimulatorConfiguration) {
      configuration.keepsAcceptedPushes = true
      configuration.schemas = [.fieldTrip, .conversationTurn, .jobProgress]
    }
    try await World.with(configure: keep) { world in
      try await world.withService { caller in
        var generator = SplitMix64(seed: 7)
        var trips: [TestCaller.Trip] = []
        for type in ["field-trip", "conversation-turn", "job-progress"] {
          let notebook = type == "field-trip" ? #","notebook":"Birds""# : ""
          trips.append(
            try await caller.createTrip(#"{"type":"\#(type)","name":"N"\#(notebook)}"#))
        }
        var events: [String] = []
        for number in 1...20 {
          events.append(
            #"{"id":"w\#(number)","trip":"\#(trips[0].id)","place":"P\#(number)","#
              + #""sequence":\#(number)}"#)
        }
        for (number, phase) in ["sending", "thinking", "answered"].enumerated() {
          events.append(
            #"{"kind":"phase","id":"c\#(number)","trip":"\#(trips[1].id)","phase":"\#(phase)","#
              + #""sequence":\#(number)}"#)
        }
        for number in 1...12 {
          let phase = number == 12 ? "finished" : "running"
          events.append(
            #"{"kind":"phase","id":"j\#(number)","trip":"\#(trips[2].id)","phase":"\#(phase)","#
              + #""fields":{"progress":\#(number)},"sequence":\#(number)}"#)
        }
        for event in events.shuffled(using: &generator) {
          if Bool.random(using: &generator) {
            try await caller.add(toStream: event)
          } else {
            try await caller.publish(event)
          }
        }
        let expected = [
          #"{"notesCaptured":20,"lastPlaceName":"P20"}"#, #"{"phase":"answered"}"#,
          #"{"stage":"finished","progress":12}"#,
        ]
        for (trip, state) in zip(trips, expected) {
          try await world.waitUntil("\(state) is the state") {
            let read = try await caller.call("GET", "/v1/trips/\(trip.id)")
            return read.body["contentState"] == (try JSONValue.parse(state))
          }
        }
        #expect(try await caller.deadLetterReasons().isEmpty)
        try await expectProgress(of: trips[2].channelID, world)
      }
    }
  }

  /// On the wire too, a newer timestamp never shows less.
  private func expectProgress(of channelID: String, _ world: World) async throws {
    let pushes = await world.ledger(of: channelID)?.recent ?? []
    let steps = try pushes.sorted {
      ($0.payload.timestampSeconds ?? 0) < ($1.payload.timestampSeconds ?? 0)
    }.compactMap { push in
      try push.payload.contentState.map { try JSONValue.parse($0.bytes)["progress"]?.double ?? 0 }
    }
    #expect(!steps.isEmpty)
    #expect(zip(steps, steps.dropFirst()).allSatisfy { $0 <= $1 }, "\(steps)")
  }
}

extension BroadcastLedger {
  /// An update that was under way may be accepted after it, with an older timestamp.
  fileprivate var end: ActivityPush? { recent.last { $0.payload.event == .end } }
}
