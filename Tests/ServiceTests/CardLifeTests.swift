import APNsSimulator
import Clocks
import FieldcastServer
import HTTP
import JSON
import Testing

@Suite struct `A member's card on a live trip` {
  /// Twelve hours on one phone with a token and on one on the channel.
  @Test func `is followed by a new one before the system ends it`() async throws {
    try await World.with(speed: 1_200) { world in
      try await world.withService { caller in
        let trip = try await caller.createTrip(Self.long(from: world.clock.wall))
        let anna = try await TestPhone.make(SystemVersion(17, 4), of: "anna", in: world)
        let bela = try await TestPhone.make(SystemVersion(18, 1), of: "bela", in: world)
        for phone in [anna, bela] {
          try await phone.join(trip.id, caller, withStartToken: true)
        }
        let first = try await anna.waitForCard(withToken: true)
        try await anna.register(first, of: trip.id, caller)
        try await caller.note("n1", on: trip.id)
        for phone in [anna, bela] { try await phone.waitUntilItShows(1) }

        let second = try await anna.waitForCard(2, withToken: true, upTo: .seconds(60))
        try await anna.register(second, of: trip.id, caller)
        _ = try await bela.waitForCard(2, upTo: .seconds(60))
        try await world.waitUntil("the first card is gone") {
          try await anna.cards().first?.phase == .dismissed
        }
        try await caller.note("n2", on: trip.id)
        for phone in [anna, bela] { try await phone.waitUntilItShows(2) }
        #expect(try await bela.startedAt().gaps.allSatisfy { $0 > 24_000 })
        #expect(try await anna.cards().map(\.startedAt).gaps.allSatisfy { $0 > .seconds(24_000) })
        _ = try await caller.call("POST", "/v1/trips/\(trip.id)/end")
        for phone in [anna, bela] { try await phone.waitForEnd() }
        for phone in [anna, bela] { #expect(try await phone.cards().count == 2) }
        #expect(await world.simulator.run { apns, _ in apns.complaints.count } == 0)
      }
    }
  }

  /// The app was not running when the person swiped it away, so APNs' 410 is all that is heard.
  @Test func `does not come back when its token dies before its time`() async throws {
    try await World.with { world in
      try await world.withService { caller in
        let trip = try await caller.createTrip()
        let anna = try await TestPhone.make(SystemVersion(17, 4), of: "anna", in: world)
        try await anna.join(trip.id, caller, withStartToken: true)
        let card = try await anna.startCard(of: trip, caller)
        try await caller.note("n1", on: trip.id)
        try await anna.waitUntilItShows(1)
        let (token, phone) = (try await anna.token(of: card), anna.phone)
        try await world.simulator.run { apns, now throws(PhoneError) in
          try apns.dismiss(card.activityID, on: phone, now: now)
          apns.setState(.unregistered(since: now), ofToken: token)
        }
        for number in 2...4 {
          try await caller.note("n\(number)", on: trip.id)
          try await world.waitForBroadcast(on: trip.channelID, notes: Int64(number))
        }
        try await world.waitUntil("the service knows") {
          try await member("anna", of: trip.id, caller)["card"]?["state"]?.string == "closed"
        }
        let document = try await member("anna", of: trip.id, caller)
        #expect(document["card"]?["notStarted"]?.string == "dismissed", "\(document)")
        #expect(await pushes(world) >= 2)
        #expect(await world.simulator.run { apns, _ in apns.statistics.answers[410] } == 1)
        #expect(try await anna.cards().count == 1)
        // In the app it comes back.
        try await anna.join(trip.id, caller)
        _ = try await anna.startCard(of: trip, caller)
        try await anna.waitUntilItShows(4)
      }
    }
  }

  @Test func `does not come back once the person swiped it away`() async throws {
    try await World.with { world in
      try await world.withService { caller in
        let trip = try await caller.createTrip()
        let anna = try await TestPhone.make(SystemVersion(17, 4), of: "anna", in: world)
        let bela = try await TestPhone.make(SystemVersion(18, 0), of: "bela", in: world)
        for phone in [anna, bela] {
          try await phone.join(trip.id, caller, withStartToken: true)
        }
        let card = try await anna.startCard(of: trip, caller)
        _ = try await bela.startCard(of: trip, on: trip.channelID, caller)
        try await world.waitUntil("the new card has the state") { await pushes(world) == 1 }
        let unnamed = "any?reason=dismissed&trip=\(trip.id)&member=bela"
        for path in ["\(card.name)?reason=dismissed", unnamed] {
          let answer = try await caller.call("DELETE", "/v1/activity-tokens/\(path)")
          #expect(answer.status == 204, "\(answer.text)")
        }
        for number in 1...3 {
          try await caller.note("n\(number)", on: trip.id)
          try await world.waitForBroadcast(on: trip.channelID, notes: Int64(number))
        }
        for name in ["anna", "bela"] {
          let document = try await member(name, of: trip.id, caller)
          #expect(document["card"]?["state"]?.string == "dismissed", "\(document)")
          #expect(document["card"]?["notStarted"]?.string == "dismissed")
        }
        let count = await pushes(world)
        #expect(count == 1, "nothing more is sent to a card that was swiped away")
        let unknown = try await caller.call("DELETE", "/v1/activity-tokens/unknown")
        #expect(unknown.status == 404 && unknown.problem == "unknown-activity", "\(unknown.text)")
      }
    }
  }

  /// Somebody else adds them, or their app comes up with a start token later.
  @Test func `is started by push for who does not join in the app`() async throws {
    try await World.with { world in
      try await world.withService { caller in
        let trip = try await caller.createTrip()
        let anna = try await TestPhone.make(SystemVersion(18, 0), of: "anna", in: world)
        try await anna.join(trip.id, caller, withStartToken: true, #""start":"push""#)
        let bela = try await TestPhone.make(SystemVersion(17, 2), of: "bela", in: world)
        try await bela.join(trip.id, caller, #""start":"push""#)
        _ = try await anna.waitForCard()
        let before = try await member("bela", of: trip.id, caller)
        #expect(before["reach"]?.string == "none" && before["card"]?["state"]?.string == "none")
        let token = try #require(bela.startToken)
        let answer = try await caller.call(
          "POST", "/v1/activity-tokens",
          #"{"activityToken":"\#(token)","kind":"push-to-start","member":"bela"}"#)
        #expect(answer.status == 200, "\(answer.text)")
        _ = try await bela.waitForCard()
        try await caller.note("n1", on: trip.id)
        try await anna.waitUntilItShows(1)
        for phone in [anna, bela] { #expect(try await phone.cards().count == 1) }
      }
    }
  }

  @Test func `is not sent to again because its app names its token again`() async throws {
    // Slowly, so that the card does not have to be refreshed meanwhile.
    try await World.with(speed: 10) { world in
      try await world.withService { caller in
        let trip = try await caller.createTrip()
        let anna = try await TestPhone.make(SystemVersion(17, 4), of: "anna", in: world)
        try await anna.join(trip.id, caller)
        let card = try await anna.startCard(of: trip, caller)
        try await world.waitUntil("the new card has the state") { await pushes(world) == 1 }
        try await caller.note("n1", on: trip.id)
        try await anna.waitUntilItShows(1)
        let before = await pushes(world)
        for _ in 0..<5 { try await anna.register(card, of: trip.id, caller) }
        let again = try await caller.call(
          "POST", "/v1/trips/\(trip.id)/members", #"{"member":"anna","osVersion":"17.4"}"#)
        #expect(again.body["activityID"]?.string == card.name, "\(again.text)")
        try await caller.note("n2", on: trip.id)
        try await anna.waitUntilItShows(2)
        #expect(await pushes(world) == before + 1)
      }
    }
  }

  /// Who does not allow frequent updates gets the rest when it suits the phone.
  @Test func `has a smaller budget where frequent updates are off`() async throws {
    try await World.with(speed: 20) { world in
      let frugal = { (configuration: inout ServiceConfiguration) in
        configuration.policy.frugalPerHour = 4
        configuration.policy.overdraft = 20
      }
      try await world.withService(frugal) { caller in
        let trip = try await caller.createTrip()
        for (name, mayBeFrequent) in [("anna", true), ("bela", false)] {
          let phone = try await TestPhone.make(SystemVersion(17, 4), of: name, in: world) {
            $0.allowsFrequentUpdates = mayBeFrequent
          }
          try await phone.join(trip.id, caller, #""frequentUpdates":\#(mayBeFrequent)"#)
          _ = try await phone.startCard(of: trip, caller)
        }
        try await world.waitUntil("both have the first state") { await pushes(world) == 2 }
        for number in 1...6 {
          try await caller.note("n\(number)", on: trip.id)
          try await world.waitForBroadcast(on: trip.channelID, notes: Int64(number))
          // A newer state would replace one that waits.
          try await world.waitUntil("both were sent it") { await pushes(world) >= 2 + 2 * number }
        }
        let considerate = await world.simulator.run { apns, _ in
          apns.statistics.devicePushesByPriority[5] ?? 0
        }
        #expect((3...4).contains(considerate), "\(considerate) of bela's six")
      }
    }
  }

  private func member(
    _ name: String, of trip: String, _ caller: TestCaller
  ) async throws -> JSONValue {
    let answer = try await caller.call("GET", "/v1/trips/\(trip)/members/\(name)")
    #expect(answer.status == 200, "\(answer.text)")
    return answer.body
  }

  private func pushes(_ world: World) async -> Int {
    await world.simulator.run { apns, _ in apns.statistics.requests[.devicePush] ?? 0 }
  }

  private static func long(from now: UnixTime) -> String {
    let starts = (now + .seconds(3_600)).wholeSeconds
    return #"{"name":"Walk","notebook":"Birds","dismissal":60,"startsAt":\#(starts),"#
      + #""staleAfter":28800,"endsAt":\#(starts + 13 * 3_600)}"#
  }
}

extension [UnixTime] {
  fileprivate var gaps: [Duration] { zip(dropFirst(), self).map { $0 - $1 } }
}

extension [Int64] {
  fileprivate var gaps: [Int64] { zip(dropFirst(), self).map { $0 - $1 } }
}

extension TestPhone {
  /// What the app reads from its cards, to tell the newer from the older.
  fileprivate func startedAt() async throws -> [Int64] {
    let phone = phone
    let all = await simulator.run { apns, _ in
      (try? apns.phone(phone))?.activities.map(\.attributes) ?? []
    }
    return try all.map { try #require(JSONValue.parse($0)["startedAt"]?.int64) }
  }
}
