import FieldTrips
import JSON
import Redis
import Testing

@testable import FieldcastServer
@testable import TripStore

@Suite struct `What a node reads of trips for those who watch` {
  /// As many as are read at most each time: of the list, of those that move, of those on screens.
  private let most = 3 * 250
  private let tripCount = 1_200

  /// How often Redis ran a command.
  private func count(_ command: String, in world: World) async throws -> Int {
    let text = try await world.redis.call(RedisCommand("INFO", "commandstats")).stringValue()
    let line = text.split(whereSeparator: \.isNewline).first {
      $0.hasPrefix("cmdstat_\(command):calls=")
    }
    let number = line?.split(separator: "=").dropFirst().first?.prefix { $0.isNumber }
    return number.flatMap { Int($0) } ?? 0
  }

  /// Trips that are as one that is there, and wait for a broadcast, without an owner's knowledge.
  private func add(_ count: Int, like trip: TripID, in world: World) async throws {
    let partitionCount = Partition.defaultCount
    func keys(of id: TripID) -> PartitionKeys {
      PartitionKeys(Partition(of: id, count: partitionCount))
    }
    var batch = RedisBatch()
    for _ in 0..<count {
      let id = TripID.random()
      batch.append("COPY", keys(of: trip).trip(trip), keys(of: id).trip(id))
      batch.append("ZADD", keys(of: id).trips, 0, id.text)
      batch.append("SADD", keys(of: id).unpublished, id.text)
    }
    let redis = try #require(world.redis as? RedisClient)
    for reply in await redis.callAll(batch) { _ = try reply.get() }
  }

  @Test func `is bounded each time, however many trips there are`() async throws {
    try await World.with(speed: 1) { world in
      try await world.withService { caller in
        let trip = try await caller.createTrip()
        try await world.waitForBroadcast(on: trip.channelID, notes: 0)
        try await add(tripCount, like: try TripID(trip.id), in: world)
        let query = "show=trips&limit=200"
        try await EventListener.listen(to: caller, query, on: world.loop) { listener in
          try await listener.event("trips", "all were seen once") {
            $0["complete"]?.bool == true && $0["known"]?.int64 == Int64(tripCount + 1)
          }
          _ = try await world.redis.call(RedisCommand("CONFIG", "RESETSTAT"))
          for number in 0..<200 where try await looks(world) < 4 {
            let search = ["spring", "walk", ""][number % 3]
            try await EventListener.listen(
              to: caller, query + "&search=\(search)", on: world.loop
            ) { try await $0.event("trips") }
          }
          let read = try await count("hmget", in: world)
          let looks = try await looks(world)
          // One may have been on its way when the counting began.
          #expect(looks >= 4 && read > 0 && read <= (looks + 1) * most, "\(read) in \(looks)")
        }
      }
    }
  }

  /// Each asks every partition once for what moves, before it reads any trip.
  private func looks(_ world: World) async throws -> Int {
    let each = min(250, Partition.defaultCount)
    return (try await count("srandmember", in: world) + each - 1) / each
  }
}
