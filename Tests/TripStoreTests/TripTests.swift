import Clocks
import FieldTrips
import Redis
import Testing

@testable import TripStore

@Suite struct `A trip in the store` {
  @Test func `comes back as it was created`() async throws {
    try await withStore { (store, _) async throws in
      let trip = newTrip(state: "{\"name\" : \"Ü\\u00e4\", \"n\": 1.00}")
      #expect(try await store.createTrip(trip, at: start))
      let record = try #require(try await store.trip(trip.id))
      #expect(record.definition == trip.definition)
      #expect(record.contentState == trip.contentState)
      #expect(record.revision == Revision(1))
      #expect(record.publishedRevision == .initial)
      #expect(record.lastTimestampSeconds == 0)
      #expect(record.anchor == nil)
      #expect(record.ratePerHour == nil)
      #expect(record.life == trip.life)
      #expect(!record.isClosing)
      #expect(record.memberCounts.isEmpty)
      #expect(try await store.unpublishedTrips(of: partition) == [trip.id])
      #expect(try await store.tripCount() == 1)
    }
  }

  @Test func `is created once, however often it is asked for`() async throws {
    try await withStore { (store, _) async throws in
      let id = randomTrip()
      #expect(try await store.createTrip(newTrip(id, state: #"{"a":1}"#), at: start))
      #expect(!(try await store.createTrip(newTrip(id, state: #"{"a":2}"#), at: start)))
      #expect(try await store.trip(id)?.contentState == bytes(#"{"a":1}"#))
      #expect(try await store.entries().map(\.kind) == [.created])
    }
  }

  @Test func `is not there before, nor after it is forgotten`() async throws {
    try await withStore { (store, client) async throws in
      let id = randomTrip()
      #expect(try await store.trip(id) == nil)
      let (owner, _) = try await store.own()
      var life = TripLife(times: TripTimes(createdAt: start))
      _ = life.created(at: start)
      _ = try await store.liveTrip(id)
      #expect(try await store.forget(id, owner: owner) == .notEnded)
      let live = life
      _ = life.handle(.channelUnavailable, at: start)
      _ = life.handle(.endRequested(dismissal: nil), at: start)
      let actions = life.handle(.endAccepted, at: start)
      let change = LifeChange(of: id, from: live, to: life, actions: actions)
      #expect(try await store.changeLife(of: id, change, at: start) == .changed)
      _ = try await store.append([trigger("1", id)], to: partition, at: start)
      _ = try await store.record(AnswerRecord(trip: id, timeline: bytes("{}")), owner: owner)
      #expect(try await store.forget(id, owner: owner) == .forgotten)
      #expect(try await store.forget(id, owner: owner) == .forgotten)
      let keys = try await client.call(RedisCommand("KEYS", "fc:*")).stringsValue()
      #expect(keys.sorted() == ["fc:{p000}:epoch", "fc:{p000}:lease", "fc:{p000}:log"])
    }
  }

  @Test func `is listed once, page by page, with others that come and go`() async throws {
    try await withStore(partitions: 40) { (store, _) async throws in
      var steady: Set<TripID> = []
      for _ in 0..<90 { steady.insert(try await store.liveTrip()) }
      for limit in [1, 7, 90, 1_000] {
        var listed: [TripID] = []
        var cursor: TripCursor?
        repeat {
          let page = try await store.listTrips(after: cursor, limit: limit)
          #expect(page.next == nil || page.trips.count == limit)
          listed += page.trips
          // As a client gives it back.
          cursor = try page.next.map { try #require(TripCursor($0.description)) }
          _ = try await store.liveTrip()
        } while cursor != nil
        #expect(listed.count == Set(listed).count)
        #expect(steady.isSubset(of: listed))
      }
    }
  }

  @Test func `has a cursor that strangers cannot break`() {
    #expect(TripCursor("") == nil)
    #expect(TripCursor("-1") == nil)
    #expect(TripCursor("3.nonsense") == nil)
    #expect(TripCursor("3") == TripCursor(partition: 3, after: nil))
  }

  @Test func `changes its life only from the life that it has`() async throws {
    try await withStore { (store, _) async throws in
      let id = try await store.liveTrip()
      let record = try #require(try await store.trip(id))
      let channel = try ChannelID("dGhlY2hhbm5lbA==")
      var open = record.life
      let actions = open.handle(.channelOpened(channel), at: start)
      let change = LifeChange(of: id, from: record.life, to: open, actions: actions)
      #expect(try await store.changeLife(of: id, change, at: start) == .changed)
      // The same once more, as after a lost answer.
      #expect(try await store.changeLife(of: id, change, at: start) == .changed)
      var lost = record.life
      _ = lost.handle(.channelUnavailable, at: start)
      let late = LifeChange(from: record.life, to: lost)
      #expect(
        try await store.changeLife(of: id, late, at: start) == .conflict(current: open))
      #expect(try await store.trip(id)?.life == open)
      #expect(try await store.entries().map(\.kind) == [.created, .life])
      #expect(try await store.changeLife(of: randomTrip(), late, at: start) == .unknownTrip)
      #expect(try await store.lives(of: [id, randomTrip()]).map { try $0.get() } == [open, nil])
    }
  }

  @Test func `is not changed by news of one that is forgotten`() async throws {
    try await withStore { (store, client) async throws in
      let (owner, cursor) = try await store.own()
      let change = TripChange(
        trip: randomTrip(), newState: (Revision(2), bytes("{}")), mapperMemory: bytes("m"))
      let commit = Commit(from: cursor, to: cursor, changes: [change])
      #expect(try await store.commit(commit, owner: owner) == .committed)
      let keys = try await client.call(RedisCommand("KEYS", "fc:*:trip:*")).stringsValue()
      #expect(keys.isEmpty)
    }
  }
}

@Suite struct `A trip's life as text` {
  @Test func `is read as it was written, in every phase`() throws {
    let channel = try ChannelID("AbC+/=_-")
    let times = [
      TripTimes(createdAt: start),
      TripTimes(
        createdAt: start, startsAt: start + .seconds(60), endsAt: start + .seconds(600),
        staleAfter: .milliseconds(1_500), dismissal: .after(.seconds(90))),
      TripTimes(createdAt: UnixTime(milliseconds: -5), dismissal: .atOnce),
    ]
    let phases: [TripPhase] = [.scheduled, .live, .ending(since: start), .ended(at: start)]
    let channels: [TripChannel] = [
      .opening, .open(channel), .deletionDue(channel, at: start), .gone, .unavailable,
    ]
    for times in times {
      for phase in phases {
        for channel in channels {
          let life = TripLife(phase: phase, channel: channel, times: times)
          #expect(TripLife(text: life.text) == life)
          #expect(life.text.split(separator: " ").first.map(String.init) == phase.name)
        }
      }
    }
  }

  @Test(arguments: ["", "live", "live - open", "dead - gone - - 1 1 1 - default", "live x"])
  func `is refused when it is something else`(text: String) {
    #expect(TripLife(text: text) == nil)
  }
}
