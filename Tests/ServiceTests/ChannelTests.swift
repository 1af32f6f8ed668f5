import APNs
import APNsSimulator
import Clocks
import Crypto
import FieldTrips
import FieldcastServer
import HTTP
import JSON
import Redis
import Testing
import Transport

@Suite struct `The channels of an app` {
  /// Asks the simulated APNs for a channel behind the service's back.
  private func makeChannel(_ world: World) async throws -> String {
    let configuration = try world.serviceConfiguration()
    let app = configuration.apps[0]
    let client = try APNsClient(
      app: APNsApp(bundleID: try BundleID(app.bundleID), environment: .development),
      hosts: app.hosts,
      credentials: .token(ProviderCredentials(key: app.key, clock: world.clock)),
      clock: world.clock,
      loop: world.loop)
    let channel = try await client.createChannel(storage: .mostRecent).get()
    await client.close()
    return channel.text
  }

  @Test func `are reported when nobody knows them, and deleted only when a person names them`()
    async throws
  {
    try await World.with { world in
      try await world.withService { caller in
        let stranger = try await makeChannel(world)
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
}
