import Redis
import Testing

@Suite(.timeLimit(.minutes(2))) struct `The stream of notes` {
  private static let key = "fieldcast:notes:in"

  private func length(_ world: World) async throws -> Int64 {
    try await world.redis.call(RedisCommand("XLEN", Self.key)).integerValue()
  }

  @Test func `is empty once all of its notes are taken in, those included that cannot be`()
    async throws
  {
    try await World.with { world in
      try await world.withService { caller in
        let trip = try await caller.createTrip()
        for number in 1...200 {
          try await caller.add(toStream: #"{"id": "n\#(number)", "trip": "\#(trip.id)"}"#)
        }
        try await caller.add(toStream: "not JSON")
        try await world.waitUntil("the stream is empty") { try await length(world) == 0 }
        #expect(try await caller.deadLetterReasons().count == 1)
        try await world.waitForBroadcast(on: trip.channelID, notes: 200)
      }
    }
  }

  @Test func `does not keep what a node was given that ended for good`() async throws {
    try await World.with { world in
      var tripID = ""
      try await world.withService { caller in tripID = try await caller.createTrip().id }
      let id = try await world.redis.call(
        RedisCommand("XADD", Self.key, "*", "json", #"{"id": "lost", "trip": "\#(tripID)"}"#)
      ).stringValue()
      _ = try await world.redis.call(
        RedisCommand(
          "XREADGROUP", "GROUP", "fieldcast", "gone", "COUNT", "1", "STREAMS", Self.key, ">"))
      // As if it had been given it two minutes ago.
      _ = try await world.redis.call(
        RedisCommand("XCLAIM", Self.key, "fieldcast", "gone", "0", id, "IDLE", "120000"))
      try await world.withService { caller in
        try await world.waitUntil("the note counts") {
          let trip = try await caller.call("GET", "/v1/trips/\(tripID)")
          return trip.body["contentState"]?["notesCaptured"]?.int64 == 1
        }
        try await world.waitUntil("the stream is empty") { try await length(world) == 0 }
      }
    }
  }
}
