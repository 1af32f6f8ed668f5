import APNsSimulator
import Clocks
import FieldTrips
import FieldcastServer
import JSON
import Redis
import Testing
import TripStore

@Suite struct `The owner of partitions` {
  @Test func `lets no partition wait for one that is stuck`() async throws {
    try await World.with { world in
      try await world.withService { caller, service in
        let stuck = try await caller.createTrip()
        let other = try await caller.createTrip()
        // Another program has put something else where the partition's unpublished trips should be.
        let store = TripStore(redis: world.redis)
        let number = store.partition(of: try TripID(stuck.id)).number
        #expect(number != store.partition(of: try TripID(other.id)).number)
        let digits = String(number)
        let key =
          "fc:{p\(String(repeating: "0", count: 3 - digits.count))\(digits)}:unpublished"
        _ = try await world.redis.call(RedisCommand("DEL", key))
        _ = try await world.redis.call(RedisCommand("SET", key, "something else"))
        for trip in [stuck, other] {
          _ = try await caller.call("POST", "/v1/trips/\(trip.id)/notes", #"{"id":"a"}"#)
        }
        try await world.waitForBroadcast(on: other.channelID, notes: 1)
        #expect(await service.counts().triggersApplied == 1)
        _ = try await world.redis.call(RedisCommand("DEL", key))
        try await world.waitForBroadcast(on: stuck.channelID, notes: 1)
      }
    }
  }

  @Test func `shares trips with another node, hears what came in there, and takes over`()
    async throws
  {
    func node(_ name: String) -> (inout ServiceConfiguration) -> Void {
      {
        $0.node = name
        $0.leaseLife = .seconds(1)
      }
    }
    try await World.with { world in
      var trips: [TestCaller.Trip] = []
      var notes: Int64 = 0
      try await world.withService(node("one")) { first, _ in
        for _ in 0..<8 { trips.append(try await first.createTrip()) }
        try await world.withService(node("two")) { second, other in
          // All notes come in at one node; the other's owner is told of its own.
          try await world.waitUntil("both nodes have trips") {
            notes += 1
            for trip in trips {
              _ = try await first.call(
                "POST", "/v1/trips/\(trip.id)/notes", #"{"id":"a\#(notes)"}"#)
            }
            return await other.counts().tripsInMemory > 0
          }
          for trip in trips { try await world.waitForBroadcast(on: trip.channelID, notes: notes) }
          notes += 1
          for trip in trips {
            _ = try await second.call("POST", "/v1/trips/\(trip.id)/notes", #"{"id":"b"}"#)
          }
          for trip in trips { try await world.waitForBroadcast(on: trip.channelID, notes: notes) }
        }
        // The second node has stopped, and the first owns all again.
        for trip in trips {
          _ = try await first.call("POST", "/v1/trips/\(trip.id)/notes", #"{"id":"c"}"#)
        }
        notes += 1
        for trip in trips { try await world.waitForBroadcast(on: trip.channelID, notes: notes) }
      }
    }
  }

  @Test func `keeps no trip in memory that has yet to start or has ended`() async throws {
    try await World.with { world in
      try await world.withService { caller, service in
        let start = DateText.format(world.clock.wall + .seconds(86_400))
        let later = try await caller.createTrip(
          #"{"name":"Later","notebook":"Birds","dismissal":60,"startsAt":"\#(start)"}"#)
        let now = try await caller.createTrip()
        for trip in [later, now] {
          _ = try await caller.call("POST", "/v1/trips/\(trip.id)/notes", #"{"id":"a"}"#)
        }
        try await world.waitForBroadcast(on: now.channelID, notes: 1)
        try await world.waitUntil("only the live trip is in memory") {
          let read = try await caller.call("GET", "/v1/trips/\(later.id)")
          let inMemory = await service.counts().tripsInMemory
          return read.body["revision"]?.int64 == 2 && inMemory == 1
        }
        for trip in [later, now] { _ = try await caller.call("POST", "/v1/trips/\(trip.id)/end") }
        await world.waitUntilNoChannelIsLeft()
        try await world.waitUntil("no trip is in memory") {
          await service.counts().tripsInMemory == 0
        }
      }
    }
  }

  @Test func `stores what APNs accepts while the service stops`() async throws {
    try await World.with { world in
      var trip: TestCaller.Trip?
      try await world.withService { caller, service in
        let created = try await caller.createTrip()
        trip = created
        // The first broadcast, of what members join with.
        try await world.waitUntil("the first state is published") {
          let read = try await caller.call("GET", "/v1/trips/\(created.id)")
          return read.body["publishedRevision"]?.int64 == 1
        }
        var slow = SimulatorFaults()
        (slow.latencyLow, slow.latencyHigh) = (.milliseconds(700), .milliseconds(701))
        try await world.simulator.setFaults(slow)
        _ = try await caller.call("POST", "/v1/trips/\(created.id)/notes", #"{"id":"a"}"#)
        // Committed, and so on its way to APNs: the first note does not wait.
        try await world.waitUntil("the note is committed") {
          await service.counts().triggersApplied == 1
        }
      }
      let id = try TripID(try #require(trip).id)
      let record = try #require(try await TripStore(redis: world.redis).trip(id))
      #expect(record.publishedRevision == Revision(2))
    }
  }
}
