import FieldTrips
import Redis
import Testing
import Transport
import TripStore

@Suite struct `The model of Redis` {
  private static let loop: EventLoop = {
    do { return try EventLoop(name: "conformance") } catch { fatalError("no event loop: \(error)") }
  }()

  @Test(arguments: [1, 2] as [UInt64])
  func `answers as a real server does`(seed: UInt64) async throws {
    try await PrivateRedisServer.withTemporary(on: Self.loop, arguments: []) { server in
      var configuration = server.configuration
      // Simulations keep the processors busy meanwhile.
      configuration.commandDeadline = .seconds(120)
      let client = RedisClient(configuration: configuration, loop: Self.loop)
      let twin = Twin(client)
      let app = try AppID(bundleID: "com.example.trips", environment: .production)
      var run = ConformanceRun(
        store: TripStore(redis: twin, partitionCount: 1), app: app, seed: seed)
      for _ in 0..<450 { try await run.step() }
      try await run.look()
      let counts = twin.counts
      for script in Self.scripts {
        #expect(counts[script, default: 0] > 1, "\(script) was hardly tried")
      }
      await client.close(atOnce: true)
    }
  }

  /// Those that a run of the simulation meets.
  private static let scripts = [
    "createTrip", "changeLife", "forget", "append", "commit", "reserve", "record", "claimDue",
    "finishDue", "changeDue", "takeLease", "renewLease", "releaseLease", "heartbeat",
    "takeChannel", "intendChannel", "channelCreated", "retireChannel", "channelDeleted",
    "retireWarm", "intendWarm",
  ]
}
