import APNsSimulator
import Clocks
import FieldTrips
import FieldcastServer
import Synchronization
import Testing
import Transport
import TripStore

/// What a service does once a day or so, though it may never run for that long.
@Suite struct `A service's chores` {
  @Test func `begin soon after its start`() async throws {
    try await World.with { world in
      let store = TripStore(redis: world.redis)
      let person = PersonID.member(try MemberID("ada"))
      let token = try PushToken("abcdef01")
      let longAgo = world.clock.wall - .seconds(100 * 86_400)
      try await store.changePerson(person) {
        $0.register(.device, token, in: .development, osVersion: nil, at: longAgo)
      }
      #expect(try await store.lastRun(of: "forget-people") == nil)
      try await world.withService { _ in
        try await world.waitUntil("ada is forgotten") {
          try await store.people([person])[0].get() == Person()
        }
        try await world.waitUntil("that is noted") {
          try await store.lastRun(of: "forget-people") != nil
        }
      }
    }
  }

  /// After a kill the first partition is the dead node's until its lease runs out.
  @Test func `begin when the first partition is its own`() async throws {
    try await World.with { world in
      let store = TripStore(redis: world.redis)
      let life = Duration.milliseconds(1_500)
      _ = try await store.heartbeat(node: "dead", window: life)
      _ = await store.takeLeases([store.partitions[0]], node: "dead", life: life)
      let stranger = try await world.makeStrayChannel()
      let lines = Mutex<[String]>([])
      let log = ServiceLog(minimum: .info) { _, message, _ in
        lines.withLock { $0.append(message) }
      }
      try await world.withService(
        {
          $0.channels.reconcileEvery = .seconds(86_400)
          $0.leaseLife = .milliseconds(1_500)
        }, log: log
      ) { _, _ in
        try await world.waitUntil("\(stranger) is found") {
          lines.withLock { lines in lines.contains { $0.contains("in nobody's books") } }
        }
      }
    }
  }
}
