import APNs
import APNsSimulator
import Clocks
import Crypto
import FieldTrips
import FieldcastServer
import Foundation
import HTTP
import JSON
import Redis
import Testing
import Transport
import TripStore

@Suite struct `The channels of an app` {
  @Test func `are reported when nobody knows them, and deleted only when a person names them`()
    async throws
  {
    try await World.with { world in
      try await world.withService { caller in
        let stranger = try await world.makeStrayChannel()
        let trip = try await caller.createTrip()
        let seen = try await caller.call("POST", "/v1/channels/reconcile")
        #expect(seen.status == 200, "\(seen.text)")
        let app = try #require(seen.body["apps"]?.array?.first)
        #expect(app["orphans"]?.array?.compactMap(\.string) == [stranger])
        #expect(app["deleted"]?.array?.isEmpty == true)

        let asked = try await caller.call(
          "POST", "/v1/channels/reconcile",
          #"{"delete":["\#(stranger)","\#(trip.channelID)"]}"#)
        let after = try #require(asked.body["apps"]?.array?.first)
        #expect(after["deleted"]?.array?.compactMap(\.string) == [stranger])
        #expect(after["orphans"]?.array?.isEmpty == true)
        // A trip's own channel is not deleted by its name.
        #expect(await world.ledger(of: trip.channelID) != nil)
        let usage = try await caller.call("GET", "/v1/channels")
        #expect(usage.body["apps"]?.array?.first?["used"]?.int64 == 1)
      }
    }
  }

  @Test func `whose trip no longer exists are deleted by the service itself`() async throws {
    try await World.with { world in
      try await world.withService { caller in
        let channel = try await world.makeStrayChannel()
        let store = TripStore(redis: world.redis)
        let app = try AppID(bundleID: world.bundleID, environment: .development)
        // A trip that was forgotten, and whose channel the books still have.
        let before = world.clock.wall - .seconds(3_600)
        let intent = ChannelIntent(
          requestID: "lost", storage: .mostRecent, trip: try TripID("\(UUID())".lowercased()),
          askedAt: before)
        _ = try await store.channelCreated(
          try FieldTrips.ChannelID(channel), for: intent, of: app, at: before)
        _ = try await caller.call("POST", "/v1/channels/reconcile")
        await world.waitUntilNoChannelIsLeft()
        try await world.waitUntil("the books have forgotten it") {
          try await store.channels(of: app).isEmpty
        }
      }
    }
  }

  @Test func `come later when APNs does not answer, and the trip is there at once`() async throws {
    try await World.with { world in
      try await world.withService { caller in
        var silent = SimulatorFaults()
        silent.refusedShare = 1
        try await world.simulator.setFaults(silent)
        let answer = try await caller.call(
          "POST", "/v1/trips", #"{"name":"Walk","notebook":"Birds"}"#)
        #expect(answer.status == 201, "\(answer.text)")
        #expect(answer.body["channel"]?["status"]?.string == "opening")
        #expect(answer.body["warnings"]?.array?.isEmpty == false)
        let trip = try #require(answer.body["trip"]?.string)
        try await world.simulator.setFaults(SimulatorFaults())
        var channel: String?
        try await world.waitUntil("the trip has a channel") {
          let read = try await caller.call("GET", "/v1/trips/\(trip)")
          channel = read.body["channel"]?["id"]?.string
          return channel != nil
        }
        _ = try await caller.call("POST", "/v1/trips/\(trip)/notes", #"{"id":"a"}"#)
        try await world.waitForBroadcast(on: try #require(channel), notes: 1)
        #expect(await world.simulator.run { apns, _ in apns.channelCount } == 1)
      }
    }
  }

  @Test func `run out, and then trips are reached by token instead of failing`() async throws {
    func smallQuota(_ configuration: inout SimulatorConfiguration) {
      configuration.channels.limitPerApp = 2
    }
    try await World.with(configure: smallQuota) { world in
      try await world.withService { caller in
        _ = try await caller.createTrip()
        _ = try await caller.createTrip()
        let third = try await caller.call(
          "POST", "/v1/trips", #"{"name":"Third","notebook":"Birds"}"#)
        #expect(third.status == 201, "\(third.text)")
        #expect(third.body["reach"]?.string == "token")
        #expect(third.body["warnings"]?.array?.isEmpty == false)
      }
    }
  }

  @Test func `cannot be made without the broadcast capability, and the answer says where it is`()
    async throws
  {
    try await World.with { world in
      let bundleID = world.bundleID
      await world.simulator.run { apns, _ in apns.setBroadcastCapability(bundleID, false) }
      try await world.withService { caller in
        let answer = try await caller.call(
          "POST", "/v1/trips", #"{"name":"Walk","notebook":"Birds"}"#)
        #expect(answer.status == 201)
        #expect(answer.text.contains("Broadcast Capability"))
      }
    }
  }

  @Test func `take the cards of those along whom a push can start, when APNs loses one`()
    async throws
  {
    try await World.with { world in
      try await world.withService { caller in
        let starts = (world.clock.wall + .seconds(480)).wholeSeconds
        let trip = try await caller.createTrip(
          #"{"name":"Walk","notebook":"Birds","startsAt":\#(starts)}"#)
        let anna = try await TestPhone.make(SystemVersion(18, 1), of: "anna", in: world)
        let bela = try await TestPhone.make(SystemVersion(18, 1), of: "bela", in: world)
        try await anna.join(trip.id, caller, withStartToken: true)
        try await bela.join(trip.id, caller)
        _ = try await anna.waitForCard()
        _ = try await bela.startCard(of: trip, on: trip.channelID, caller)
        try await caller.note("a", on: trip.id)
        for phone in [anna, bela] { try await phone.waitUntilItShows(1) }

        await world.loseChannels()
        try await caller.note("b", on: trip.id)
        _ = try await anna.waitForCard(2)
        try await anna.waitUntilItShows(2)
        let read = try await caller.call("GET", "/v1/trips/\(trip.id)")
        let channel = try #require(read.body["channel"]?["id"]?.string)
        #expect(channel != trip.channelID)
        #expect(try await anna.cards().last?.channelID == channel)
        // Nobody can start bela's: the answer to a join has the new channel.
        #expect(try await bela.cards().count == 1)
        let again = try await caller.call(
          "POST", "/v1/trips/\(trip.id)/members", #"{"member":"bela","osVersion":"18.1"}"#)
        #expect(again.body["channelID"]?.string == channel)
        #expect(again.body["contentState"]?["notesCaptured"]?.int64 == 2)
        // One card each, and no more.
        try await caller.note("c", on: trip.id)
        try await anna.waitUntilItShows(3)
        #expect(try await anna.cards().count == 2)
      }
    }
  }
}

@Suite struct `A lost channel` {
  /// A push has started its card, and the token is not in yet: the card never heard the channel.
  @Test func `takes no card of a phone that listens to none`() async throws {
    try await World.with { world in
      try await world.withService { caller in
        let starts = (world.clock.wall + .seconds(480)).wholeSeconds
        let trip = try await caller.createTrip(
          #"{"name":"Walk","notebook":"Birds","startsAt":\#(starts)}"#)
        let anna = try await TestPhone.make(SystemVersion(17, 2), of: "anna", in: world)
        let bela = try await TestPhone.make(SystemVersion(18, 1), of: "bela", in: world)
        for phone in [anna, bela] { try await phone.join(trip.id, caller, withStartToken: true) }
        let card = try await anna.waitForCard(withToken: true)
        _ = try await bela.waitForCard()
        await world.loseChannels()
        try await caller.note("a", on: trip.id)
        _ = try await bela.waitForCard(2)
        try await bela.waitUntilItShows(1)
        #expect(try await anna.cards().count == 1)
        try await anna.register(card, of: trip.id, caller)
        try await anna.waitUntilItShows(1)
        #expect(try await anna.cards().count == 1)
      }
    }
  }
}

extension World {
  /// APNs loses all channels of the app, as when its capability is switched off for a moment.
  func loseChannels() async {
    let bundleID = bundleID
    await simulator.run { apns, _ in
      apns.setBroadcastCapability(bundleID, false)
      apns.setBroadcastCapability(bundleID, true)
    }
  }

  /// Asks the simulated APNs for a channel behind the service's back.
  func makeStrayChannel() async throws -> String {
    let configuration = try serviceConfiguration()
    let app = configuration.apps[0]
    let client = try APNsClient(
      app: APNsApp(bundleID: try BundleID(app.bundleID), environment: .development),
      hosts: app.hosts,
      credentials: .token(ProviderCredentials(key: app.key, clock: clock)),
      clock: clock,
      loop: loop)
    let channel = try await client.createChannel(storage: .mostRecent).get()
    await client.close()
    return channel.text
  }
}
