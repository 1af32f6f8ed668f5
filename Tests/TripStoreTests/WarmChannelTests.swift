import Clocks
import FieldTrips
import Testing

@testable import TripStore

@Suite struct `The warm channels` {
  private func intent(
    _ request: String, _ storage: StoragePolicy = .mostRecent
  ) -> ChannelIntent {
    ChannelIntent(requestID: request, storage: storage, trip: nil, askedAt: start)
  }

  private func channel(_ number: Int) throws -> ChannelID { try ChannelID("channel\(number)==") }

  @Test func `are asked for by all nodes together no more than the pool takes`() async throws {
    try await withStore { (store, _) async throws in
      let quota = ChannelQuota()
      // Another policy's, and a trip's: neither counts for this pool.
      _ = try await store.intendWarm(
        intent("other", .noStorage), of: app, poolSize: 3, quota: quota)
      _ = try await store.intend(
        ChannelIntent(requestID: "t", storage: .mostRecent, trip: randomTrip(), askedAt: start),
        of: app)
      let outcomes = try await withThrowingTaskGroup(of: WarmIntentOutcome.self) { group in
        for number in 0..<20 {
          let wish = intent("r\(number)")
          group.addTask {
            try await store.intendWarm(wish, of: app, poolSize: 3, quota: quota)
          }
        }
        return try await group.reduce(into: [WarmIntentOutcome]()) { $0.append($1) }
      }
      #expect(outcomes.filter { $0 == .recorded }.count == 3)
      #expect(outcomes.filter { $0 == .poolFull }.count == 17)
      // One that is recorded stays so, and one that came is counted once.
      let coming = try await store.channelIntents(of: app)
        .filter { $0.trip == nil && $0.storage == .mostRecent }
      let first = try #require(coming.first)
      #expect(
        try await store.intendWarm(first, of: app, poolSize: 3, quota: quota) == .recorded)
      _ = try await store.channelCreated(try channel(1), for: first, of: app, at: start)
      #expect(
        try await store.intendWarm(intent("late"), of: app, poolSize: 3, quota: quota)
          == .poolFull)
      #expect(
        try await store.intendWarm(intent("late"), of: app, poolSize: 4, quota: quota)
          == .recorded)
    }
  }

  @Test func `are not made where channels are scarce`() async throws {
    try await withStore { (store, _) async throws in
      let quota = ChannelQuota(limit: 10)
      try await store.setForeignChannels(Set((10..<15).map { try channel($0) }), of: app)
      for number in 0..<2 {
        #expect(
          try await store.intendWarm(
            intent("r\(number)"), of: app, poolSize: 9, quota: quota) == .recorded)
      }
      #expect(
        try await store.intendWarm(intent("r2"), of: app, poolSize: 9, quota: quota)
          == .scarce(used: 7))
      #expect(quota.level(used: try await store.channelUsage(of: app).used) == .ample)
    }
  }

  @Test func `go when they are too old or too many, the oldest first`() async throws {
    try await withStore { (store, _) async throws in
      for number in 0..<6 {
        let wish = intent("r\(number)")
        _ = try await store.intendWarm(wish, of: app, poolSize: 9, quota: ChannelQuota())
        _ = try await store.channelCreated(
          try channel(number), for: wish, of: app, at: start + .seconds(number))
      }
      func retire(before: Duration, keeping size: Int) async throws -> Int {
        try await store.retireWarm(
          of: app, storage: .mostRecent, createdBefore: start + before, keeping: size,
          at: start + .seconds(100))
      }
      #expect(try await retire(before: .zero, keeping: 6) == 0)
      #expect(try await retire(before: .seconds(2), keeping: 6) == 2)
      #expect(try await retire(before: .zero, keeping: 3) == 1)
      let usage = try await store.channelUsage(of: app)
      #expect(usage.warm[.mostRecent] == 3)
      #expect(usage.awaitingDeletion == 3)
      let due = try await store.claimDeletions(
        of: app, by: start + .seconds(100), claim: .seconds(60))
      #expect(Set(due.map(\.channel)) == Set(try (0..<3).map { try channel($0) }))
      #expect(
        try await store.takeChannel(for: randomTrip(), of: app, storage: .mostRecent)
          == channel(3))
    }
  }
}
