import Clocks
import FieldTrips
import Redis
import Testing
import Transport

@testable import TripStore

@Suite struct `A commit` {
  @Test func `writes states, memory and cursor, and trims the log`() async throws {
    try await withStore { (store, client) async throws in
      let trip = try await store.liveTrip()
      let (owner, cursor) = try await store.own()
      #expect(cursor == .start)
      for batch in 0..<5 {
        let triggers = try (0..<200).map { try trigger("\(batch)-\($0)", trip) }
        _ = try await store.append(triggers, to: partition, at: start)
      }
      let last = try #require(try await store.entries().last?.logID)
      let state = bytes(#"{ "notesCaptured": 1000 }"#)
      let change = TripChange(
        trip: trip, newState: (Revision(1_001), state), mapperMemory: [0, 255, 10])
      let commit = Commit(from: cursor, to: last, changes: [change])
      #expect(try await store.commit(commit, owner: owner) == .committed)
      let record = try #require(try await store.trip(trip))
      #expect(record.contentState == state)
      #expect(record.mapperMemory == [0, 255, 10])
      #expect(record.revision == Revision(1_001))
      #expect(try await store.cursor(of: partition) == last)
      let length = try await client.call(RedisCommand("XLEN", "fc:{p000}:log")).intValue()
      #expect(length < 150)
      #expect(try await store.readLog(partition, after: last).isEmpty)
    }
  }

  @Test func `is one commit when it is made twice`() async throws {
    try await withStore { (store, _) async throws in
      let trip = try await store.liveTrip()
      let (owner, cursor) = try await store.own()
      let last = try #require(try await store.entries().last?.logID)
      let first = Commit(
        from: cursor, to: last,
        changes: [TripChange(trip: trip, newState: (Revision(2), bytes(#"{"a":2}"#)))])
      #expect(try await store.commit(first, owner: owner) == .committed)
      // Made again with what must not be written any more.
      let again = Commit(
        from: cursor, to: last,
        changes: [TripChange(trip: trip, newState: (Revision(9), bytes(#"{"a":9}"#)))])
      #expect(try await store.commit(again, owner: owner) == .committed)
      #expect(try await store.trip(trip)?.revision == Revision(2))
      let other = Commit(
        from: cursor, to: LogID(milliseconds: last.milliseconds, sequence: last.sequence + 1),
        changes: [])
      #expect(try await store.commit(other, owner: owner) == .cursorConflict(current: last))
    }
  }

  @Test func `of an owner that was replaced writes nothing`() async throws {
    try await withStore { (store, _) async throws in
      let trip = try await store.liveTrip()
      let (old, cursor) = try await store.own(node: "a")
      let (new, _) = try await store.own(node: "a")
      #expect(old.epoch < new.epoch)
      let before = try await store.trip(trip)
      let change = TripChange(trip: trip, newState: (Revision(2), bytes("{}")))
      let commit = Commit(
        from: cursor, to: LogID(milliseconds: 1, sequence: 0), changes: [change])
      expectFenced(try await store.commit(commit, owner: old), current: new.epoch.number)
      #expect(try await store.trip(trip) == before)
      #expect(try await store.cursor(of: partition) == .start)
    }
  }

  @Test func `writes nothing when a life was changed meanwhile`() async throws {
    try await withStore { (store, _) async throws in
      let (one, two) = (try await store.liveTrip(), try await store.liveTrip())
      let (owner, cursor) = try await store.own()
      let life = try #require(try await store.trip(two)?.life)
      var open = life
      _ = open.handle(.channelOpened(try ChannelID("AAAA")), at: start)
      #expect(
        try await store.changeLife(of: two, LifeChange(from: life, to: open), at: start)
          == .changed)
      func commit(from: TripLife) -> (Commit, TripLife) {
        var ending = from
        let actions = ending.handle(.endRequested(dismissal: nil), at: start)
        let change = LifeChange(of: two, from: from, to: ending, actions: actions)
        let changes = [
          TripChange(trip: one, newState: (Revision(2), bytes("{}"))),
          TripChange(trip: two, life: change),
        ]
        return (Commit(from: cursor, to: cursor, changes: changes), ending)
      }
      #expect(
        try await store.commit(commit(from: life).0, owner: owner)
          == .lifeConflict(two, current: open))
      #expect(try await store.trip(one)?.revision == Revision(1))
      let (right, ending) = commit(from: open)
      #expect(try await store.commit(right, owner: owner) == .committed)
      #expect(try await store.commit(right, owner: owner) == .committed)
      #expect(try await store.trip(two)?.life == ending)
      #expect(try await store.trip(one)?.revision == Revision(2))
      let due = try await store.nextDue([partition])[0].get()
      #expect(due != nil)
    }
  }
}

@Suite struct `A reservation` {
  @Test func `has a greater timestamp each time, whatever the clock says`() async throws {
    try await withStore { (store, _) async throws in
      let trip = try await store.liveTrip()
      let (owner, _) = try await store.own()
      var timestamps: [Int64] = []
      for proposal: Int64 in [1_000, 1_000, 1_000, 1_010, 900, 1_011, 2_000] {
        let outcome = try await store.reserve(
          .update, for: trip, timestampSeconds: proposal,
          anchor: UnixTime(nanoseconds: proposal * 1_000_000_007), owner: owner)
        guard case .reserved(let reservation) = outcome else { throw Unexpected("\(outcome)") }
        timestamps.append(reservation.timestampSeconds)
        #expect(reservation.revision == Revision(1))
        #expect(reservation.contentState == bytes(#"{"notesCaptured":0}"#))
      }
      #expect(timestamps == [1_000, 1_001, 1_002, 1_010, 1_011, 1_012, 2_000])
      let record = try #require(try await store.trip(trip))
      #expect(record.lastTimestampSeconds == 2_000)
      #expect(record.anchor == UnixTime(nanoseconds: 2_000 * 1_000_000_007))
      _ = try await store.reserve(
        .update, for: trip, timestampSeconds: 1, anchor: nil, owner: owner)
      #expect(try await store.trip(trip)?.anchor == record.anchor)
    }
  }

  @Test func `is for the end only, once the end was asked for`() async throws {
    try await withStore { (store, _) async throws in
      let trip = try await store.liveTrip()
      let (owner, cursor) = try await store.own()
      func reserve(_ purpose: BroadcastPurpose) async throws -> ReserveOutcome {
        try await store.reserve(
          purpose, for: trip, timestampSeconds: 5, anchor: nil, owner: owner)
      }
      let live = try #require(try await store.trip(trip)?.life)
      #expect(try await reserve(.end) == .wrongPhase(live))
      var ending = live
      _ = ending.handle(.endRequested(dismissal: nil), at: start)
      let end = TripChange(trip: trip, life: LifeChange(from: live, to: ending))
      _ = try await store.commit(Commit(from: cursor, to: cursor, changes: [end]), owner: owner)
      #expect(try await reserve(.update) == .wrongPhase(ending))
      guard case .reserved(let reservation) = try await reserve(.end) else {
        throw Unexpected("the end was refused")
      }
      #expect(reservation.life == ending)
      var ended = ending
      let actions = ended.handle(.endAccepted, at: start)
      let record = AnswerRecord(
        trip: trip, accepted: reservation.revision,
        life: LifeChange(of: trip, from: ending, to: ended, actions: actions))
      // Unpublished until the end is accepted, though the revision was.
      _ = try await store.record(AnswerRecord(trip: trip, accepted: Revision(1)), owner: owner)
      #expect(try await store.unpublishedTrips(of: partition) == [trip])
      #expect(
        try await store.record(record, owner: owner) == .recorded(published: Revision(1)))
      #expect(try await store.unpublishedTrips(of: partition).isEmpty)
      #expect(try await reserve(.end) == .wrongPhase(ended))
      #expect(try await reserve(.update) == .wrongPhase(ended))
      #expect(try await store.append([trigger("late", trip)], to: partition, at: start) == [.ended])
    }
  }

  @Test func `is refused to an owner that was replaced, and for no trip`() async throws {
    try await withStore { (store, _) async throws in
      let trip = try await store.liveTrip()
      let (old, _) = try await store.own()
      let (new, _) = try await store.own()
      let outcome = try await store.reserve(
        .update, for: trip, timestampSeconds: 5, anchor: nil, owner: old)
      #expect(outcome == .fenced(current: new.epoch))
      #expect(try await store.trip(trip)?.lastTimestampSeconds == 0)
      let none = try await store.reserve(
        .update, for: randomTrip(), timestampSeconds: 5, anchor: nil, owner: new)
      #expect(none == .unknownTrip)
    }
  }
}

@Suite struct `An answer` {
  @Test func `never lowers the published revision`() async throws {
    try await withStore { (store, _) async throws in
      let trip = try await store.liveTrip()
      let (owner, cursor) = try await store.own()
      for revision: Int64 in 2...3 {
        let change = TripChange(trip: trip, newState: (Revision(revision), bytes("{}")))
        _ = try await store.commit(
          Commit(from: cursor, to: cursor, changes: [change]), owner: owner)
      }
      func accept(_ revision: Int64) async throws -> RecordOutcome {
        try await store.record(
          AnswerRecord(trip: trip, accepted: Revision(revision)), owner: owner)
      }
      #expect(try await accept(2) == .recorded(published: Revision(2)))
      #expect(try await accept(1) == .recorded(published: Revision(2)))
      #expect(try await store.unpublishedTrips(of: partition) == [trip])
      #expect(try await accept(3) == .recorded(published: Revision(3)))
      #expect(try await accept(2) == .recorded(published: Revision(3)))
      #expect(try await store.unpublishedTrips(of: partition).isEmpty)
      let change = TripChange(trip: trip, newState: (Revision(4), bytes("{}")))
      _ = try await store.commit(
        Commit(from: cursor, to: cursor, changes: [change]), owner: owner)
      #expect(try await store.unpublishedTrips(of: partition) == [trip])
    }
  }

  @Test func `about a revision that Redis lost does not count`() async throws {
    try await withStore { (store, _) async throws in
      let trip = try await store.liveTrip()
      let (owner, cursor) = try await store.own()
      let answer = AnswerRecord(trip: trip, accepted: Revision(3))
      #expect(try await store.record(answer, owner: owner) == .recorded(published: .initial))
      for revision: Int64 in 2...3 {
        let change = TripChange(trip: trip, newState: (Revision(revision), bytes("{}")))
        _ = try await store.commit(
          Commit(from: cursor, to: cursor, changes: [change]), owner: owner)
        #expect(try await store.unpublishedTrips(of: partition) == [trip])
      }
    }
  }

  @Test func `keeps rate and bucket to the last digit`() async throws {
    try await withStore { (store, _) async throws in
      let trip = try await store.liveTrip()
      let (owner, _) = try await store.own()
      let anchor = UnixTime(nanoseconds: 1_716_620_400_123_456_789)
      let record = AnswerRecord(trip: trip, ratePerHour: 60 * 0.7, anchor: anchor)
      #expect(
        try await store.record(record, owner: owner) == .recorded(published: .initial))
      let stored = try #require(try await store.trip(trip))
      #expect(stored.ratePerHour == 60 * 0.7)
      #expect(stored.anchor == anchor)
      #expect(stored.publisherState.anchor == anchor)
    }
  }

  @Test func `is fenced, or in conflict with a life, without effect`() async throws {
    try await withStore { (store, _) async throws in
      let trip = try await store.liveTrip()
      let (old, _) = try await store.own()
      let (new, _) = try await store.own()
      let answer = AnswerRecord(trip: trip, accepted: Revision(1), ratePerHour: 12)
      #expect(try await store.record(answer, owner: old) == .fenced(current: new.epoch))
      let life = try #require(try await store.trip(trip)?.life)
      var other = life
      _ = other.handle(.channelUnavailable, at: start)
      var wrong = answer
      wrong.life = LifeChange(from: other, to: other)
      #expect(try await store.record(wrong, owner: new) == .lifeConflict(current: life))
      let stored = try #require(try await store.trip(trip))
      #expect(stored.publishedRevision == .initial)
      #expect(stored.ratePerHour == nil)
      let none = AnswerRecord(trip: randomTrip())
      #expect(try await store.record(none, owner: new) == .unknownTrip)
    }
  }
}

@Suite struct `What is due` {
  private func claims(
    _ store: TripStore, by now: UnixTime, limit: Int = 100, owner: Ownership
  ) async throws -> [DueClaim] {
    let outcome = try await store.claimDue(
      by: now, claim: .seconds(30), limit: limit, owner: owner)
    guard case .claimed(let claims) = outcome else { throw Unexpected("\(outcome)") }
    return claims
  }

  @Test func `is given out once, the longest due first, and comes back if it is not done`()
    async throws
  {
    try await withStore { (store, _) async throws in
      let (owner, _) = try await store.own()
      let trips = (0..<3).map { _ in randomTrip() }
      let changes = trips.enumerated().map { index, trip in
        DueChange.schedule(.trip(.end, trip), at: start + .seconds(index))
      }
      try await store.changeDue(changes, of: partition)
      #expect(try await store.nextDue([partition])[0].get() == start)
      #expect(try await claims(store, by: start - .milliseconds(1), owner: owner).isEmpty)
      let first = try await claims(store, by: start + .seconds(1), owner: owner)
      #expect(first.map(\.item) == [.trip(.end, trips[0]), .trip(.end, trips[1])])
      #expect(first.map(\.dueAt) == [start, start + .seconds(1)])
      #expect(try await claims(store, by: start + .seconds(1), owner: owner).isEmpty)
      try await store.finish([first[0]], of: partition)
      let later = try await claims(store, by: start + .seconds(31), owner: owner)
      #expect(later.map(\.item) == [.trip(.end, trips[2]), .trip(.end, trips[1])])
      // The first claim of it ran out: who holds that must not end the second one.
      try await store.finish([first[1]], of: partition)
      let last = try await claims(store, by: start + .seconds(90), owner: owner)
      #expect(last.count == 2)
      try await store.finish(last, of: partition)
      #expect(try await store.nextDue([partition])[0].get() == nil)
    }
  }

  @Test func `stays when it was scheduled anew while it was done`() async throws {
    try await withStore { (store, _) async throws in
      let (owner, _) = try await store.own()
      let item = DueItem.trip(.staleRefresh, randomTrip())
      try await store.changeDue([.schedule(item, at: start)], of: partition)
      let claimed = try await claims(store, by: start, owner: owner)
      try await store.changeDue([.schedule(item, at: start + .seconds(500))], of: partition)
      try await store.finish(claimed, of: partition)
      #expect(try await store.nextDue([partition])[0].get() == start + .seconds(500))
      try await store.changeDue([.cancel(item)], of: partition)
      #expect(try await store.nextDue([partition])[0].get() == nil)
    }
  }

  @Test func `is given to the owner only, in bounded batches`() async throws {
    try await withStore { (store, _) async throws in
      let (old, _) = try await store.own()
      let (new, _) = try await store.own()
      let trip = randomTrip()
      let changes = (0..<25).map { DueChange.schedule(.push(trip, id: "p:\($0)"), at: start) }
      try await store.changeDue(changes, of: partition)
      let fenced = try await store.claimDue(by: start, claim: .seconds(1), owner: old)
      #expect(fenced == .fenced(current: new.epoch))
      var items: Set<DueItem> = []
      for count in [10, 10, 5, 0] {
        let batch = try await claims(store, by: start, limit: 10, owner: new)
        #expect(batch.count == count)
        items.formUnion(batch.map(\.item))
      }
      #expect(items.count == 25)
    }
  }

  @Test func `is read as it was written`() {
    let trip = randomTrip()
    for kind in DueKind.allCases {
      #expect(DueItem(text: DueItem.trip(kind, trip).text) == .trip(kind, trip))
    }
    #expect(DueItem(text: DueItem.push(trip, id: "a:b").text) == .push(trip, id: "a:b"))
    #expect(DueItem(text: "end") == nil)
    #expect(DueItem(text: "other:\(trip)") == nil)
  }
}

@Suite struct `A partition's lease` {
  @Test func `is one node's at a time, and each owner has a greater epoch`() async throws {
    try await withStore(partitions: 256) { (store, _) async throws in
      let all = store.partitions
      let taken = await store.takeLeases(all, node: "a", life: .seconds(60))
      var owners: [Ownership] = []
      for (partition, take) in zip(all, taken) {
        guard case .taken(let owner, .start) = try take.get() else {
          throw Unexpected("\(take)")
        }
        #expect(owner.partition == partition)
        owners.append(owner)
      }
      for take in await store.takeLeases(all, node: "b", life: .seconds(60)) {
        guard case .held("a", let left) = try take.get() else { throw Unexpected("\(take)") }
        #expect(left > .zero && left <= .seconds(60))
      }
      for renewal in await store.renewLeases(owners, node: "a", life: .seconds(60)) {
        #expect(try renewal.get() == .renewed)
      }
      // The node comes back under its name, before its leases have expired.
      guard
        case .taken(let again, _) = try await store.takeLeases(
          [all[7]], node: "a", life: .seconds(60))[0].get()
      else { throw Unexpected("a node could not take its own lease") }
      #expect(again.epoch > owners[7].epoch)
      let lost = await store.renewLeases([owners[7]], node: "a", life: .seconds(60))[0]
      #expect(try lost.get() == .lost(current: again.epoch))
      _ = await store.releaseLeases(owners, node: "a")
      let next = await store.takeLeases(all, node: "b", life: .seconds(60))
      for (partition, take) in zip(all, next) {
        if partition == all[7] {
          guard case .held("a", _) = try take.get() else { throw Unexpected("\(take)") }
        } else {
          guard case .taken(let owner, _) = try take.get() else { throw Unexpected("\(take)") }
          #expect(owner.epoch > owners[partition.number].epoch)
        }
      }
    }
  }

  @Test func `gives no epoch twice, even if Redis lost what it gave last`() async throws {
    try await withStore { (store, client) async throws in
      let (first, _) = try await store.own()
      _ = try await client.call(RedisCommand("SET", "fc:{p000}:epoch", first.epoch.number - 1))
      // Redis' clock has gone on meanwhile, as it has by the time anybody takes over.
      let before = MonotonicClock.now()
      while MonotonicClock.now() - before < .milliseconds(2) {}
      let (second, _) = try await store.own()
      #expect(second.epoch > first.epoch)
    }
  }

  @Test func `that expired is renewed if nobody took it, and lost if somebody did`()
    async throws
  {
    try await withStore { (store, client) async throws in
      let (owner, _) = try await store.own(node: "a")
      // What expiry does, without waiting for it.
      _ = try await client.call(RedisCommand("DEL", "fc:{p000}:lease"))
      let renewed = await store.renewLeases([owner], node: "a", life: .seconds(60))[0]
      #expect(try renewed.get() == .renewed)
      _ = try await client.call(RedisCommand("DEL", "fc:{p000}:lease"))
      let (other, _) = try await store.own(node: "b")
      let lost = await store.renewLeases([owner], node: "a", life: .seconds(60))[0]
      #expect(try lost.get() == .lost(current: other.epoch))
      _ = await store.releaseLeases([owner], node: "a")
      guard
        case .held("b", _) = try await store.takeLeases(
          [partition], node: "a", life: .seconds(60))[0].get()
      else { throw Unexpected("a lost lease was given up") }
    }
  }

  @Test func `expires by itself`() async throws {
    try await withStore { (store, client) async throws in
      _ = await store.takeLeases([partition], node: "a", life: .milliseconds(40))
      let left = try await client.call(RedisCommand("PTTL", "fc:{p000}:lease")).integerValue()
      #expect(left <= 40)
      while true {
        let take = await store.takeLeases([partition], node: "b", life: .seconds(1))[0]
        guard case .held(_, let wait) = try take.get() else { break }
        try await loop.sleep(for: wait)
      }
    }
  }
}

@Suite struct `The list of nodes` {
  @Test func `holds who was heard, and strikes off who was not`() async throws {
    try await withStore { (store, client) async throws in
      #expect(try await store.heartbeat(node: "b", window: .seconds(10)) == ["b"])
      #expect(try await store.heartbeat(node: "a", window: .seconds(10)) == ["a", "b"])
      _ = try await client.call(RedisCommand("ZINCRBY", "fc:nodes", -11_000, "b"))
      #expect(try await store.heartbeat(node: "a", window: .seconds(10)) == ["a"])
      try await store.signOff(node: "a")
      #expect(try await store.heartbeat(node: "c", window: .seconds(10)) == ["c"])
    }
  }
}
