import APNsSimulator
import Clocks
import Testing

@Suite struct `A channel's budget in the whole service` {
  /// The times at which APNs accepted broadcasts of priority 10.
  private func urgent(_ ledger: BroadcastLedger) -> [UnixTime] {
    ledger.recent.filter { $0.priority == 10 }.map(\.acceptedAt)
  }

  @Test func `is full when a trip begins, and its first state costs none of it`() async throws {
    try await World.with(speed: 30) { world in
      try await world.withService { caller in
        let trip = try await caller.createTrip()
        try await world.waitForBroadcast(on: trip.channelID, notes: 0)
        let first = try #require(await world.ledger(of: trip.channelID)?.recent.first)
        #expect(first.priority == 5)
        // Ten tokens and an overdraft of five: each of these goes out at once, a second apart.
        for number in 1...13 {
          _ = try await caller.call(
            "POST", "/v1/trips/\(trip.id)/notes", #"{"id":"n\#(number)","significant":true}"#)
          try await world.waitForBroadcast(on: trip.channelID, notes: Int64(number))
        }
        let times = urgent(try #require(await world.ledger(of: trip.channelID)))
        #expect(times.count == 13)
        // With less in the bucket, some of them would have waited for a token: a minute each.
        if let first = times.first, let last = times.last {
          #expect((last - first) < .seconds(13 * 60 - 60 * 8))
        }
      }
    }
  }
}
