import APNsSimulator
import Clocks
import FieldcastServer
import HTTP
import JSON
import Testing

/// One phone whose app had two users: its tokens are registered under both names.
@Suite struct `A phone of two members` {
  private static func make(
    _ world: World
  ) async throws -> (anna: TestPhone, bela: TestPhone) {
    let anna = try await TestPhone.make(SystemVersion(18, 1), of: "anna", in: world)
    let bela = TestPhone(
      phone: anna.phone, member: "bela", system: anna.system, startToken: anna.startToken,
      world: world, simulator: anna.simulator)
    return (anna, bela)
  }

  @Test func `shows a trip of both once`() async throws {
    try await World.with { world in
      try await world.withService { caller in
        let phones = try await Self.make(world)
        let starts = (world.clock.wall + .seconds(300)).wholeSeconds
        let trip = try await caller.createTrip(
          #"{"name":"Walk","notebook":"Birds","startsAt":\#(starts)}"#)
        for phone in [phones.anna, phones.bela] {
          try await phone.join(trip.id, caller, withStartToken: true)
        }
        _ = try await phones.anna.waitForCard()
        try await caller.note("n1", on: trip.id)
        try await phones.anna.waitUntilItShows(1)
        var states: Set<String> = []
        for name in ["anna", "bela"] {
          let member = try await caller.call("GET", "/v1/trips/\(trip.id)/members/\(name)")
          states.insert(member.body["card"]?["notStarted"]?.string ?? "?")
        }
        #expect(states == ["hasCard", "sharedDevice"])
        #expect(try await phones.anna.cards().count == 1)
      }
    }
  }

  @Test func `has one budget of starts`() async throws {
    try await World.with { world in
      try await world.withService { caller in
        let phones = try await Self.make(world)
        let starts = (world.clock.wall + .seconds(480)).wholeSeconds
        for number in 0..<6 {
          let trip = try await caller.createTrip(
            #"{"name":"Walk \#(number)","notebook":"Birds","startsAt":\#(starts)}"#)
          let phone = number.isMultiple(of: 2) ? phones.anna : phones.bela
          try await phone.join(trip.id, caller, withStartToken: true)
        }
        try await world.waitUntil("three are withheld") {
          try await caller.call("GET", "/metrics").text
            .contains("fieldcast_card_starts_withheld_total 3")
        }
        let sent = await world.simulator.run { apns, _ in apns.statistics.requests[.devicePush] }
        #expect(sent == 3, "three starts an hour, under whatever names")
      }
    }
  }

  @Test func `is sent to once when its token is dead, under whatever name`() async throws {
    try await World.with { world in
      try await world.withService { caller in
        let phone = try await AlertPhone.add("ada", caller, world)
        try await phone.register("bela", caller)
        await world.simulator.run { apns, now in
          apns.setState(.unregistered(since: now + .seconds(600)), ofToken: phone.token)
        }
        for member in ["ada", "bela", "ada"] {
          _ = try await caller.outcome(
            of: try await caller.notify(#"{"to":{"member":"\#(member)"},"badge":1}"#), world)
        }
        let answers = await world.simulator.run { apns, _ in apns.statistics.answers }
        #expect(answers[410] == 1, "\(answers)")
      }
    }
  }
}

@Suite struct `Tokens that APNs gave up` {
  /// An app names a token that was dead before, as one that was kept over a new installation.
  @Test func `are sent to once, though their app has named them since`() async throws {
    try await World.with { world in
      try await world.withService { caller in
        let phone = try await AlertPhone.add("ada", caller, world)
        await world.simulator.run { apns, now in
          apns.setState(.unregistered(since: now - .seconds(7_200)), ofToken: phone.token)
        }
        let id = try await caller.notify(#"{"to":{"member":"ada"},"alert":{"body":"Lunch"}}"#)
        let outcome = try await caller.outcome(of: id, world)
        #expect(outcome["devices"]?["dead"]?.int64 == 1, "\(outcome)")
        _ = try await caller.outcome(
          of: try await caller.notify(#"{"to":{"member":"ada"},"badge":1}"#), world)
        let answers = await world.simulator.run { apns, _ in apns.statistics.answers }
        #expect(answers[410] == 1, "\(answers)")
        // Named again it is tried again.
        await world.simulator.run { apns, _ in apns.setState(.active, ofToken: phone.token) }
        try await phone.register("ada", caller)
        _ = try await caller.outcome(
          of: try await caller.notify(#"{"to":{"member":"ada"},"badge":1}"#), world)
        #expect(try await phone.arrived(world) == 1)
      }
    }
  }

  @Test func `give way to a good one, however many they are`() async throws {
    try await World.with { world in
      try await world.withService { caller in
        let starts = (world.clock.wall + .seconds(480)).wholeSeconds
        let trip = try await caller.createTrip(
          #"{"name":"Walk","notebook":"Birds","startsAt":\#(starts)}"#)
        let dora = try await TestPhone.make(SystemVersion(18, 1), of: "dora", in: world)
        try await dora.join(trip.id, caller, withStartToken: true)
        for _ in 0..<6 {
          let old = try await TestPhone.make(SystemVersion(18, 1), of: "dora", in: world)
          let token = try #require(old.startToken)
          await world.simulator.run { apns, now in
            apns.setState(.expired(since: now + .seconds(3_600)), ofToken: token)
          }
          _ = try await caller.call(
            "POST", "/v1/activity-tokens",
            #"{"activityToken":"\#(token)","kind":"push-to-start","member":"dora"}"#)
        }
        _ = try await dora.waitForCard()
        let answers = await world.simulator.run { apns, _ in apns.statistics.answers }
        #expect(answers[410] == 6, "\(answers)")
      }
    }
  }
}
