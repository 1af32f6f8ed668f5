import APNsSimulator
import Clocks
import FieldTrips
import HTTP
import JSON
import Testing
import TripStore

@testable import FieldcastServer

/// APNs puts off what is sent to a card after its first two pushes, for five minutes.
@Suite struct `A card whose end APNs puts off` {
  private static func with(
    _ body: (World) async throws -> Void
  ) async throws {
    let slow: (inout SimulatorConfiguration) -> Void = {
      $0.devices.tokenBudget = BucketRate(capacity: 2, interval: .seconds(300))
    }
    try await World.with(configure: slow, body)
  }

  /// A phone whose card has had its two pushes.
  private static func make(
    _ world: World, _ caller: TestCaller
  ) async throws -> (trip: TestCaller.Trip, phone: TestPhone) {
    let trip = try await caller.createTrip()
    let phone = try await TestPhone.make(SystemVersion(17, 4), of: "anna", in: world)
    try await phone.join(trip.id, caller)
    _ = try await phone.startCard(of: trip, caller)
    let isSent = await world.simulator.wait(upTo: .seconds(30)) { apns, _ in
      apns.statistics.requests[.devicePush] == 1
    }
    #expect(isSent)
    try await caller.note("n1", on: trip.id)
    try await phone.waitUntilItShows(1)
    return (trip, phone)
  }

  private static func waitUntilPutOff(_ world: World) async {
    let isPutOff = await world.simulator.wait(upTo: .seconds(30)) { apns, _ in
      apns.statistics.answers[429] ?? 0 > 0
    }
    #expect(isPutOff)
  }

  @Test func `gets it later, from whoever owns the trip then`() async throws {
    try await Self.with { world in
      var phone: TestPhone?
      try await world.withService { caller in
        let made = try await Self.make(world, caller)
        phone = made.phone
        _ = try await caller.call("POST", "/v1/trips/\(made.trip.id)/end")
        await Self.waitUntilPutOff(world)
        try await world.waitUntil("the trip has ended") {
          try await caller.call("GET", "/v1/trips/\(made.trip.id)").body["phase"]?.string == "ended"
        }
      }
      try await world.withService { _ in try await phone?.waitForEnd() }
      let requests = await world.simulator.run { apns, _ in
        apns.statistics.requests[.devicePush] ?? 0
      }
      #expect(requests < 20, "with pauses that grow: \(requests) pushes")
    }
  }

  @Test func `gets it later when its member has left`() async throws {
    try await Self.with { world in
      try await world.withService { caller in
        let made = try await Self.make(world, caller)
        let left = try await caller.call("DELETE", "/v1/trips/\(made.trip.id)/members/anna")
        #expect(left.status == 204)
        await Self.waitUntilPutOff(world)
        try await made.phone.waitForEnd()
      }
    }
  }
}

@Suite struct `A member with two cards` {
  /// Of a phone each; APNs takes the end for one of them and puts off the other.
  @Test func `awaits the end until both have it`() async throws {
    try await World.with { world in
      var trip = ""
      try await world.withService { caller in
        let made = try await caller.createTrip()
        for _ in 0..<2 {
          let phone = try await TestPhone.make(SystemVersion(17, 4), of: "anna", in: world)
          try await phone.join(made.id, caller)
          let card = try await phone.startCard(of: made, on: nil)
          try await phone.register(
            TestCard(activityID: card.activityID, name: "card-\(phone.phone)"), of: made.id, caller)
        }
        trip = made.id
      }
      let app = TokenApp(world.bundleID, first: world.bundleID)
      let book = MemberBook(
        trip: try TripID(trip), channelIsOpen: true, app: app, ways: [:],
        store: TripStore(redis: world.redis), clock: world.clock)
      let anna = try MemberID("anna")
      try await book.change(anna) { $0.awaitsEnd = true }
      #expect(try await Self.awaitsEnd(anna, book, after: .later(retryAfter: nil)))
      #expect(try await !Self.awaitsEnd(anna, book, after: .said(.accepted)))
    }
  }

  /// One card has the end, and this is said of the other.
  private static func awaitsEnd(
    _ member: MemberID, _ book: MemberBook, after answer: TokenPushAnswer
  ) async throws -> Bool {
    let record = try #require(try await book.store.member(member, of: book.trip))
    let letters = TokenRound.letters(to: [(member, record)], at: book.clock.wall)
    try #require(letters.count == 2)
    _ = try await TokenRound(book: book, type: .fieldTrip).settle(
      Array(zip(letters, [.said(.accepted), answer])), raging: [])
    let after = try #require(try await book.store.member(member, of: book.trip))
    return try #require(TripMember(stored: after.body)).awaitsEnd
  }
}
