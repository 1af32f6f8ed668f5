import APNsSimulator
import Clocks
import FieldTrips
import FieldcastServer
import RedisStage
import Testing
import TripStore

/// A start token that is registered just when its member is noted as one who has none: whoever
/// registers it finds nobody to note it with.
@Suite struct `A start token that comes between two writes` {
  /// Runs `body` with a service whose writes can be held back.
  private static func with(
    _ body: (World, Relay, TestCaller) async throws -> Void
  ) async throws {
    try await World.onServer { world, redis in
      let relay = try await Relay.open(to: redis.configuration.endpoint, on: world.loop)
      let url = await relay.url
      try await world.withService {
        $0.store = .url(url, trustFile: nil)
      } _: { caller in
        try await body(world, relay, caller)
      }
      await relay.close()
    }
  }

  /// Registers the phone's token while a write of its member is held back; and then lets that go.
  private static func register(
    _ phone: TestPhone, while relay: Relay, in world: World
  ) async throws {
    try await world.waitUntil("a member's write is held back") { await relay.isHolding }
    let (token, now) = (try PushToken(try #require(phone.startToken)), world.clock.wall)
    try await TripStore(redis: world.redis).changePerson(.member(try MemberID(phone.member))) {
      $0.register(.pushToStart, token, in: .development, osVersion: OSVersion(18, 1), at: now)
    }
    await relay.mend()
  }

  /// Only a write of a member names this key, as long as nobody has a token.
  private static func write(ofMembersOf trip: TestCaller.Trip) -> String { "\(trip.id):tokens" }

  @Test func `is found by the member's join`() async throws {
    try await Self.with { world, relay, caller in
      let trip = try await caller.createTrip()
      let phone = try await TestPhone.make(SystemVersion(18, 1), of: "anna", in: world)
      await relay.hold(from: Self.write(ofMembersOf: trip))
      async let isJoined: Void = phone.join(trip.id, caller, #""start":"push""#)
      try await Self.register(phone, while: relay, in: world)
      try await isJoined
      _ = try await phone.waitForCard()
    }
  }

  @Test func `is found by who wanted to start a card`() async throws {
    try await Self.with { world, relay, caller in
      let starts = (world.clock.wall + .seconds(120)).wholeSeconds
      let trip = try await caller.createTrip(
        #"{"name":"Walk","notebook":"Birds","startsAt":\#(starts)}"#)
      let phone = try await TestPhone.make(SystemVersion(18, 1), of: "anna", in: world)
      try await phone.join(trip.id, caller, withStartToken: true)
      let tomorrow = Person.day(of: world.clock.wall) + 1
      try await TripStore(redis: world.redis).changePerson(.member(try MemberID("anna"))) {
        $0.removeTokens(unseenSince: tomorrow)
      }
      await relay.hold(from: Self.write(ofMembersOf: trip))
      try await Self.register(phone, while: relay, in: world)
      _ = try await phone.waitForCard()
    }
  }
}
