import Clocks
import FieldcastServer
import JSON
import Redis
import RedisStage
import Testing
import Transport

@Suite(.timeLimit(.minutes(5))) struct `A service on a Redis that Sentinels watch` {
  /// Replication is asynchronous: a primary that dies takes with it what it had answered and not
  /// passed on. Phones may have seen it.
  @Test func `shows what is left when a failover has lost the last, and counts on from there`()
    async throws
  {
    try await World.onSentinels { world, stage in
      try await world.withService { caller in
        let trip = try await world.createTrips(1, by: caller)[0]
        func add(_ id: String) async throws {
          let answer = try await caller.call(
            "POST", "/v1/trips/\(trip.id)/notes", #"{"id":"\#(id)"}"#)
          try #require(answer.status == 202, "\(answer.text)")
        }
        for id in ["a", "b", "c"] { try await add(id) }
        try await world.waitForPhones(on: trip.channelID) { $0["notesCaptured"]?.int64 == 3 }
        try await stage.waitUntilReplicated()
        try await stage.cutReplication()
        for id in ["d", "e"] { try await add(id) }
        try await world.waitForPhones(on: trip.channelID) { $0["notesCaptured"]?.int64 == 5 }
        try await stage.failOver()
        // The store's word is the last, though the phones have seen more.
        try await world.waitForPhones(on: trip.channelID) { $0["notesCaptured"]?.int64 == 3 }
        // Sent again, what was lost counts, and what was not does not.
        for id in ["c", "d", "e"] { try await add(id) }
        try await world.waitForPhones(on: trip.channelID) { $0["notesCaptured"]?.int64 == 5 }
        let ledger = try #require(await world.ledger(of: trip.channelID))
        let timestamps = ledger.recent.compactMap(\.payload.timestampSeconds)
        #expect(timestamps == timestamps.sorted() && Set(timestamps).count == timestamps.count)
        #expect(ledger.complaints == 0)
      }
    }
  }

  @Test func `answers nothing that no replica has, if it is told to wait for one`() async throws {
    try await World.onSentinels { world, stage in
      try await world.withService({ $0.redisReplicas = 1 }) { caller in
        let trip = try await world.createTrips(1, by: caller)[0]
        func add(_ id: String) async throws -> Int {
          try await caller.call("POST", "/v1/trips/\(trip.id)/notes", #"{"id":"\#(id)"}"#).status
        }
        #expect(try await add("a") == 202)
        try await stage.cutReplication()
        #expect(try await add("b") == 503)
        #expect(try await caller.call("GET", "/readyz").status == 503)
        try await stage.restoreReplication()
        try await world.waitUntil("notes are taken in again") { try await add("b") == 202 }
        try await world.waitForPhones(on: trip.channelID) { $0["notesCaptured"]?.int64 == 2 }
      }
    }
  }
}
