import APNsSimulator
import Clocks
import FieldTrips
import FieldcastServer
import JSON
import Redis
import Synchronization
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

  @Test func `starts trips that get notes while their start comes due`() async throws {
    try await World.with { world in
      try await world.withService { caller in
        let start = world.clock.wall + .seconds(90)
        let text = DateText.format(start)
        var trips: [TestCaller.Trip] = []
        for _ in 0..<8 {
          trips.append(
            try await caller.createTrip(
              #"{"name":"Later","notebook":"Birds","dismissal":60,"startsAt":"\#(text)"}"#))
        }
        // Redis holds all writes back, so that the notes and the starts come to it at one time.
        _ = try await world.redis.call(RedisCommand("CLIENT", "PAUSE", "10000", "WRITE"))
        try await withThrowingTaskGroup(of: Int.self) { group in
          for trip in trips {
            group.addTask {
              try await caller.call("POST", "/v1/trips/\(trip.id)/notes", #"{"id":"a"}"#).status
            }
          }
          let isDue = world.clock.real(start + .seconds(6) - world.clock.wall)
          try await world.loop.sleep(for: max(isDue, .zero))
          _ = try await world.redis.call(RedisCommand("CLIENT", "UNPAUSE"))
          for try await status in group { #expect(status == 202) }
        }
        for trip in trips { try await world.waitForBroadcast(on: trip.channelID, notes: 1) }
      }
    }
  }

  @Test func `keeps the notes of a trip whose activity type only other nodes know`() async throws {
    try await World.with { world in
      var created: [TestCaller.Trip] = []
      try await world.withService { caller in created.append(try await caller.createTrip()) }
      let trip = created[0]
      let lines = Mutex<[String]>([])
      let log = ServiceLog(minimum: .error) { _, message, facts in
        lines.withLock { $0.append("\(message): \(facts)") }
      }
      try await world.withService(
        { $0.activityTypes.removeAll { $0.name == "field-trip" } }, log: log
      ) { caller, service in
        for id in ["a", "b"] {
          try await caller.add(toStream: #"{"id":"\#(id)","trip":"\#(trip.id)"}"#)
        }
        try await world.waitUntil("the log stands still") {
          lines.withLock { lines in
            lines.contains { $0.contains("stands still") && $0.contains("field-trip") }
          }
        }
        #expect(await service.counts().triggersApplied == 0)
        #expect(try await caller.deadLetterReasons().isEmpty)
      }
      try await world.withService { caller in
        try await world.waitForBroadcast(on: trip.channelID, notes: 2)
        #expect(try await caller.deadLetterReasons().isEmpty)
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
