import APNsSimulator
import Clocks
import FieldTrips
import FieldcastServer
import Testing

/// What an activity type asks for beyond numbers, as APNs and the phones see it.
@Suite struct `A card in the whole service` {
  /// A field trip whose third note is a milestone with an alert, and whose cards turn stale soon.
  private static func milestoneWalk() throws -> ActivityType {
    var definition = ActivityType.fieldTrip.definition
    definition.name = "milestone-walk"
    definition.significance = SignificanceRules(
      firstNote: false, milestones: [Milestone("notesCaptured", at: [3])])
    definition.alerts.updates = [
      .milestone: try AlertText(title: "{name}", body: "{notesCaptured} notes captured.")
    ]
    definition.timings.staleAfter = .seconds(480)
    return try ActivityType(definition)
  }

  /// A service that has the type, and a trip of it whose first state is out.
  private static func with(
    _ type: ActivityType, in world: World,
    _ body: (TestCaller, TestCaller.Trip) async throws -> Void
  ) async throws {
    try await world.withService {
      $0.activityTypes.append(type)
    } _: { caller in
      let trip = try await caller.createTrip(
        #"{"name":"Walk","notebook":"Birds","type":"\#(type.name)"}"#)
      try await world.waitForBroadcast(on: trip.channelID, notes: 0)
      try await body(caller, trip)
    }
  }

  @Test func `alerts at a milestone at once, and is refreshed before it turns stale`() async throws
  {
    let walk = try Self.milestoneWalk()
    try await World.with { world in
      func withWalk(_ configuration: inout ServiceConfiguration) {
        configuration.activityTypes.append(walk)
        // After the first broadcasts there is no token for hours but the milestone's overdraft.
        configuration.policy.budgetPerHour = 1
        configuration.policy.burst = 2
      }
      try await world.withService(withWalk) { caller in
        let trip = try await caller.createTrip(
          #"{"name":"Walk","notebook":"Birds","type":"milestone-walk"}"#)
        try await world.addPhones(2, to: trip.channelID, showing: trip.contentState)
        try await world.waitForBroadcast(on: trip.channelID, notes: 0)
        let path = "/v1/trips/\(trip.id)/notes"
        for number in 1...3 {
          _ = try await caller.call("POST", path, #"{"id":"n\#(number)"}"#)
          try await world.waitForBroadcast(on: trip.channelID, notes: Int64(number))
        }
        let milestone = try #require(
          await world.ledger(of: trip.channelID)?.recent.first { $0.payload.alert != .none })
        #expect(milestone.payload.alert == .complete)
        #expect(milestone.priority == 10)
        #expect(milestone.payload.contentState?.text.contains(#""notesCaptured":3"#) == true)

        let refresh = try #require(await push(after: milestone, on: trip.channelID, of: world))
        #expect(refresh.priority == 5)
        #expect(refresh.payload.alert == .none)
        #expect(refresh.payload.contentState == milestone.payload.contentState)
        let staleDate = try #require(milestone.payload.staleDateSeconds)
        #expect(refresh.acceptedAt < UnixTime(wholeSeconds: staleDate))
        #expect(try #require(refresh.payload.staleDateSeconds) > staleDate)
        try await waitForCards(on: trip.channelID, of: world, toShow: refresh)
        // Nothing else had an alert.
        let alerts = await world.ledger(of: trip.channelID)?.recent.filter {
          $0.payload.alert != .none
        }
        #expect(alerts?.count == 1)
      }
    }
  }

  /// The channel is refused the milestone for a while; who has a token is not.
  @Test func `alerts who has a token once, though the channel is throttled`() async throws {
    let walk = try Self.milestoneWalk()
    let tight: (inout SimulatorConfiguration) -> Void = {
      $0.channels.storingBudget = BucketRate(capacity: 3, interval: .seconds(1_200))
    }
    try await World.with(configure: tight) { world in
      try await Self.with(walk, in: world) { caller, trip in
        let phone = try await TestPhone.make(SystemVersion(17, 4), of: "anna", in: world)
        try await phone.join(trip.id, caller)
        _ = try await phone.startCard(of: trip, caller)
        for number in 1...3 {
          _ = try await caller.call(
            "POST", "/v1/trips/\(trip.id)/notes", #"{"id":"n\#(number)"}"#)
          if number < 3 {
            try await world.waitForBroadcast(on: trip.channelID, notes: Int64(number))
          }
        }
        try await phone.waitUntilItShows(3)
        try await world.waitForBroadcast(on: trip.channelID, notes: 3)
        #expect(try #require(await world.ledger(of: trip.channelID)).throttled > 0)
        // What was on its way to the phone with the channel's has come when a later one shows.
        try await caller.note("n4", on: trip.id)
        try await phone.waitUntilItShows(4)
        let number = phone.phone
        let alerts = await world.simulator.run { apns, _ in
          (try? apns.phone(number))?.history.count { $0.note == "with an alert" }
        }
        #expect(alerts == 1)
      }
    }
  }

  /// A push starts the card, and the first note is broadcast before it listens.
  @Test func `started on a channel that keeps nothing shows the newest state soon`() async throws {
    var definition = ActivityType.fieldTrip.definition
    definition.name = "unstored-walk"
    definition.storage = .noStorage
    let walk = try ActivityType(definition)
    let slow: (inout SimulatorConfiguration) -> Void = {
      $0.delivery = .constant(.seconds(15))
    }
    try await World.with(speed: 20, configure: slow) { world in
      try await Self.with(walk, in: world) { caller, trip in
        let phone = try await TestPhone.make(SystemVersion(18, 1), of: "anna", in: world)
        try await phone.join(trip.id, caller, withStartToken: true, #""start":"push""#)
        let isStarted = await world.simulator.wait(upTo: .seconds(30)) { apns, _ in
          apns.statistics.requests[.devicePush] == 1
        }
        #expect(isStarted)
        try await caller.note("n1", on: trip.id)
        try await phone.waitUntilItShows(1)
      }
    }
  }

  private func push(
    after milestone: ActivityPush, on channelID: String, of world: World
  ) async -> ActivityPush? {
    let bundleID = world.bundleID
    _ = await world.simulator.wait(upTo: .seconds(60)) { apns, _ in
      apns.channel(bundleID, channelID)?.ledger.last?.number ?? 0 > milestone.number
    }
    return await world.ledger(of: channelID)?.recent.first { $0.number > milestone.number }
  }

  private func waitForCards(
    on channelID: String, of world: World, toShow push: ActivityPush
  ) async throws {
    let bundleID = world.bundleID
    let timestamp = try #require(push.payload.timestampSeconds)
    let isMet = await world.simulator.wait(upTo: .seconds(60)) { apns, now in
      let cards = try? apns.convergence(bundleID, channelID, now: now)
      return cards?.byShownTimestamp.keys.allSatisfy { $0 >= timestamp } == true
    }
    #expect(isMet, "a card does not show the refresh")
  }
}
