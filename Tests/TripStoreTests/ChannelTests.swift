import Clocks
import FieldTrips
import Redis
import Testing

@testable import TripStore

@Suite struct `The channel registry` {
  private func intent(
    _ request: String, for trip: TripID?, _ storage: StoragePolicy = .mostRecent
  ) -> ChannelIntent {
    ChannelIntent(requestID: request, storage: storage, trip: trip, askedAt: start)
  }

  private func channel(_ number: Int) throws -> ChannelID { try ChannelID("channel\(number)==") }

  /// Records an intent and its answer.
  @discardableResult
  private func create(
    _ number: Int, for trip: TripID?, in store: TripStore, _ storage: StoragePolicy = .mostRecent
  ) async throws -> ChannelRecord {
    let intent = intent("r\(number)", for: trip, storage)
    #expect(try await store.intend(intent, of: app) == .recorded)
    return try await finish(intent, number, in: store)
  }

  private func finish(
    _ intent: ChannelIntent, _ number: Int, in store: TripStore
  ) async throws -> ChannelRecord {
    try await store.channelCreated(channel(number), for: intent, of: app, at: start)
  }

  @Test func `knows of a creation before it is asked for, until its outcome is known`()
    async throws
  {
    try await withStore { (store, _) async throws in
      let trip = randomTrip()
      let (one, two) = (intent("r1", for: trip), intent("r2", for: nil, .noStorage))
      for each in [one, two, one] {
        #expect(try await store.intend(each, of: app) == .recorded)
      }
      #expect(Set(try await store.channelIntents(of: app)) == [one, two])
      #expect(try await store.channelUsage(of: app).used == 2)
      let record = try await finish(one, 1, in: store)
      #expect(record.use == .trip(trip))
      #expect(record.channel.createdAt == start)
      // Again, as after a lost answer.
      #expect(try await finish(one, 1, in: store) == record)
      try await store.creationRefused("r2", of: app)
      #expect(try await store.channelIntents(of: app).isEmpty)
      #expect(try await store.channels(of: app) == [record])
      #expect(
        try await store.intend(intent("r3", for: trip), of: app) == .hasChannel(channel(1)))
    }
  }

  @Test func `gives a trip the oldest warm channel of its policy, and the same one again`()
    async throws
  {
    try await withStore { (store, _) async throws in
      for number in 1...3 { try await create(number, for: nil, in: store) }
      try await create(4, for: nil, in: store, .noStorage)
      let (one, two) = (randomTrip(), randomTrip())
      func take(_ trip: TripID, _ policy: StoragePolicy) async throws -> ChannelID? {
        try await store.takeChannel(for: trip, of: app, storage: policy)
      }
      let first = try #require(try await take(one, .mostRecent))
      #expect(try await take(one, .mostRecent) == first)
      #expect(try await take(two, .noStorage) == channel(4))
      #expect(try await take(randomTrip(), .noStorage) == nil)
      let channels = try await store.channels(of: app)
      #expect(channels.first { $0.id == first }?.use == .trip(one))
      #expect(channels.allSatisfy { $0.channel.createdAt == start })
      let unstored = channels.filter { $0.storage == .noStorage }
      #expect(try unstored.map(\.id) == [channel(4)])
      let usage = try await store.channelUsage(of: app)
      #expect(usage.warm == [.mostRecent: 2, .noStorage: 0])
      #expect(usage.recorded == 4)
    }
  }

  @Test func `keeps a second channel of a trip for another one`() async throws {
    try await withStore { (store, _) async throws in
      let (one, two) = (randomTrip(), randomTrip())
      let (a, b) = (intent("a", for: one), intent("b", for: one))
      for each in [a, b] {
        #expect(try await store.intend(each, of: app) == .recorded)
      }
      #expect(try await finish(a, 1, in: store).use == .trip(one))
      #expect(try await finish(b, 2, in: store).use == .warm)
      #expect(
        try await store.takeChannel(for: two, of: app, storage: .mostRecent) == channel(2))
    }
  }

  @Test func `counts all that APNs counts against the quota`() async throws {
    try await withStore { (store, _) async throws in
      try await create(1, for: randomTrip(), in: store)
      try await create(2, for: nil, in: store)
      try await store.setForeignChannels([try channel(8), try channel(9)], of: app)
      func intend(_ request: String, limit: Int = 5) async throws -> IntentOutcome {
        try await store.intend(
          intent(request, for: nil), of: app, quota: ChannelQuota(limit: limit))
      }
      #expect(try await intend("under way") == .recorded)
      #expect(try await intend("more") == .quotaUsedUp(used: 5))
      // What was recorded before is not refused when it is recorded again.
      #expect(try await intend("under way") == .recorded)
      try await store.channelDeleted(channel(2), of: app)
      #expect(try await intend("more") == .recorded)
      #expect(try await store.channelUsage(of: app).used == 5)
    }
  }

  @Test func `lets no channel out of sight until it is deleted`() async throws {
    try await withStore { (store, _) async throws in
      let trip = randomTrip()
      try await create(1, for: trip, in: store)
      try await create(2, for: nil, in: store)
      let due = start + .seconds(60)
      for number in 1...2 {
        try await store.retireChannel(channel(number), of: app, deleteAt: due)
      }
      #expect(try await store.takeChannel(for: trip, of: app, storage: .mostRecent) == nil)
      // The earliest time counts.
      try await store.retireChannel(channel(1), of: app, deleteAt: due + .seconds(900))
      let records = try await store.channels(of: app)
      #expect(records.allSatisfy { $0.use == .deletion && $0.channel.createdAt == start })
      #expect(try await store.channelUsage(of: app).awaitingDeletion == 2)
      func claim(by now: UnixTime) async throws -> [DeletionClaim] {
        try await store.claimDeletions(of: app, by: now, claim: .seconds(30))
      }
      #expect(try await claim(by: due - .milliseconds(1)).isEmpty)
      let claims = try await claim(by: due)
      #expect(Set(claims.map(\.channel)) == [try channel(1), try channel(2)])
      #expect(try await claim(by: due).isEmpty)
      try await store.channelDeleted(channel(1), of: app)
      try await store.channelDeleted(channel(1), of: app)
      #expect(try await claim(by: due + .seconds(30)).map(\.channel) == [try channel(2)])
      try await store.channelDeleted(channel(2), of: app)
      #expect(
        try await store.channelUsage(of: app)
          == ChannelUsage(
            warm: [.noStorage: 0, .mostRecent: 0]))
    }
  }

  @Test func `lets a trip have another channel when its own is lost`() async throws {
    try await withStore { (store, _) async throws in
      let trip = randomTrip()
      try await create(1, for: trip, in: store)
      try await store.channelDeleted(channel(1), of: app)
      #expect(try await create(2, for: trip, in: store).use == .trip(trip))
      // A late deletion of the lost one leaves the new one alone.
      try await store.channelDeleted(channel(1), of: app)
      #expect(
        try await store.takeChannel(for: trip, of: app, storage: .mostRecent) == channel(2))
    }
  }

  @Test func `tells ours from others'`() async throws {
    try await withStore { (store, _) async throws in
      try await store.setForeignChannels([try channel(1), try channel(2)], of: app)
      #expect(try await store.channelUsage(of: app).foreign == 2)
      // It turns out that one is of a creation that nobody had heard the end of.
      try await create(1, for: nil, in: store)
      #expect(try await store.channelUsage(of: app).foreign == 1)
      try await store.setForeignChannels([], of: app)
      #expect(try await store.channelUsage(of: app).foreign == 0)
    }
  }

  @Test func `has a bucket of requests that all nodes share`() async throws {
    try await withStore { (store, _) async throws in
      let first = try await store.takeRequests(30, of: app, ratePerSecond: 0.01, burst: 50)
      #expect(first == RateGrant(granted: 30, wait: .zero))
      let second = try await store.takeRequests(30, of: app, ratePerSecond: 0.01, burst: 50)
      #expect(second.granted == 20)
      #expect(second.wait > .seconds(90) && second.wait <= .seconds(100))
      let third = try await store.takeRequests(1, of: app, ratePerSecond: 0.01, burst: 50)
      #expect(third.granted == 0)
      let other = try AppID(bundleID: "com.example.other", environment: .development)
      let free = try await store.takeRequests(1, of: other, ratePerSecond: 0.01, burst: 50)
      #expect(free.granted == 1)
    }
  }

  @Test func `has one provider token for all nodes`() async throws {
    try await withStore { (store, _) async throws in
      let (one, two, three) = (
        SharedProviderToken(jwt: "one", mintedAt: start),
        SharedProviderToken(jwt: "two", mintedAt: start + .seconds(1)),
        SharedProviderToken(jwt: "three", mintedAt: start + .seconds(3_000))
      )
      func share(
        _ token: SharedProviderToken, usableSince: UnixTime
      ) async throws -> SharedProviderToken {
        try await store.shareProviderToken(
          teamID: "TEAM", keyID: "KEY", candidate: token, usableSince: usableSince)
      }
      #expect(try await store.providerToken(teamID: "TEAM", keyID: "KEY") == nil)
      #expect(try await share(one, usableSince: start - .seconds(3_000)) == one)
      #expect(try await share(two, usableSince: start - .seconds(2_999)) == one)
      #expect(try await share(three, usableSince: start + .milliseconds(1)) == three)
      #expect(try await share(one, usableSince: start - .seconds(3_000)) == three)
      #expect(try await store.providerToken(teamID: "TEAM", keyID: "KEY") == three)
      #expect(!"\(three)".contains("three"))
    }
  }
}
