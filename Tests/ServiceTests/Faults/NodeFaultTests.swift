import Clocks
import FieldcastServer
import Glibc
import Redis
import RedisStage
import Testing
import Transport

/// Nodes that stand still or are cut off, while others take their trips over.
extension `A service under faults` {
  @Test func `shows nothing of a node that went on after its leases were over`() async throws {
    try await World.onServer { world, _ in
      let options = [
        "--lease", "1", "--budget", "\(Int(World.budgetPerHour))", "--burst", "\(World.burst)",
      ]
      let steady = KilledService(world: world, node: "steady", options: options)
      let stopped = KilledService(world: world, node: "stopped", options: options)
      try await steady.start()
      try await stopped.start()
      let trips = try await world.createTrips(5, by: steady.caller)
      try await world.expectConvergence(
        of: trips, by: steady.caller, through: "a node is stopped for longer than its leases",
        times: 2
      ) { flow in
        for _ in 0..<2 {
          stopped.signal(SIGSTOP)
          // The other node has all trips before it goes on.
          try await world.loop.sleep(for: .milliseconds(2_500))
          try await flow.pass(3, of: trips)
          stopped.signal(SIGCONT)
          try await world.loop.sleep(for: .milliseconds(700))
        }
      }
      try await stopped.stop()
      try await steady.stop()
    }
  }

  @Test mutating func `goes on after its connections to Redis are cut`() async throws {
    let pauses = (0..<4).map { _ in Duration.milliseconds(20 + random.below(500)) }
    try await World.onServer { world, redis in
      let relay = try await Relay.open(to: redis.configuration.endpoint, on: world.loop)
      let url = await relay.url
      try await world.withService({
        World.underFaults(&$0)
        $0.store = .url(url, trustFile: nil)
      }) { caller in
        let trips = try await world.createTrips(2, by: caller)
        try await world.expectConvergence(
          of: trips, by: caller, through: "the connections between a node and Redis are cut",
          times: pauses.count
        ) { flow in
          for pause in pauses {
            await relay.cut()
            try await world.loop.sleep(for: pause)
            await relay.mend()
            try await flow.pass(2, of: trips)
          }
        }
      }
      await relay.close()
    }
  }

  /// What the first node had sent arrives when the second owns its trips.
  @Test func `shows nothing of what reached Redis too late`() async throws {
    func node(_ name: String, _ url: String) -> (inout ServiceConfiguration) -> Void {
      {
        World.underFaults(&$0)
        $0.node = name
        $0.leaseLife = .seconds(1)
        $0.store = .url(url, trustFile: nil)
      }
    }
    try await World.onServer { world, redis in
      let relay = try await Relay.open(to: redis.configuration.endpoint, on: world.loop)
      let url = await relay.url
      try await world.withService(node("held", url)) { _ in
        try await world.withService(node("free", world.storeURL)) { caller in
          let trips = try await world.createTrips(5, by: caller)
          try await world.expectConvergence(
            of: trips, by: caller, through: "what a node sends is held back, and arrives late",
            times: 2
          ) { flow in
            for _ in 0..<2 {
              // From a commit on, or from what is noted of APNs' answer: only they have this key.
              await relay.hold(from: ":unpublished")
              try await world.waitUntil("a write is held back") { await relay.isHolding }
              try await world.loop.sleep(for: .milliseconds(2_500))
              try await flow.pass(3, of: trips)
              await relay.mend()
              try await world.loop.sleep(for: .milliseconds(700))
            }
          }
        }
      }
      await relay.close()
    }
  }
}
