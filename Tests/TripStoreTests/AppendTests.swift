import Clocks
import FieldTrips
import Redis
import Testing

@testable import TripStore

@Suite struct `The log` {
  @Test func `takes each trigger ID of a trip once`() async throws {
    try await withStore { (store, _) async throws in
      let (one, two) = (try await store.liveTrip(), try await store.liveTrip())
      let outcomes = try await store.append(
        [trigger("a", one), trigger("b", one), trigger("a", one), trigger("a", two)],
        to: partition, at: start)
      #expect(outcomes[2] == .duplicate)
      let accepted = outcomes.filter { if case .accepted = $0 { true } else { false } }
      #expect(accepted.count == 3)
      #expect(try await store.append([trigger("b", one)], to: partition, at: start) == [.duplicate])
      let notes = try await store.entries().filter { $0.kind == .note }
      #expect(notes.map(\.id) == ["a", "b", "a"])
      #expect(notes.map(\.trip) == [one, one, two])
      #expect(notes[0].body == bytes(#"{"id":"a"}"#))
      #expect(notes[0].acceptedAt == start)
      #expect(outcomes[0] == .accepted(notes[0].logID))
    }
  }

  @Test func `takes triggers of many trips at once, and answers each in its place`() async throws {
    try await withStore(partitions: 8) { (store, _) async throws in
      var trips: [TripID] = []
      for _ in 0..<20 { trips.append(try await store.liveTrip()) }
      let stranger = randomTrip()
      var triggers: [NewTrigger] = []
      for number in 0..<2_000 {
        triggers.append(try trigger("\(number % 1_000)", trips[number % 20]))
      }
      triggers.insert(try trigger("x", stranger), at: 700)
      var outcomes = try await store.append(triggers, at: start).map { try $0.get() }
      #expect(outcomes.remove(at: 700) == .unknownTrip)
      for (number, outcome) in outcomes.enumerated() {
        guard case .accepted = outcome else {
          #expect(number >= 1_000 && outcome == .duplicate)
          continue
        }
        #expect(number < 1_000)
      }
      #expect(await store.append([], at: start).isEmpty)
      for partition in store.partitions {
        let items = try await store.readLog(partition, after: .start)
        let ids = items.compactMap { item -> Int? in
          guard case .entry(let entry) = item, entry.kind == .note else { return nil }
          return Int(entry.id)
        }
        #expect(ids == ids.sorted())
      }
    }
  }

  @Test func `keeps any bytes`() async throws {
    try await withStore { (store, _) async throws in
      let trip = try await store.liveTrip()
      let body = [UInt8](0...255) + bytes("\r\n$-1\r\n")
      let trigger = NewTrigger(
        trip: trip, kind: .note, id: try TriggerID("ü — 注"), body: body)
      _ = try await store.append([trigger], to: partition, at: start)
      let note = try #require(try await store.entries().last)
      #expect(note.body == body)
      #expect(note.id == "ü — 注")
    }
  }

  @Test func `takes nothing for trips that are not there, or after their end`() async throws {
    try await withStore { (store, _) async throws in
      let trip = try await store.liveTrip()
      let outcomes = try await store.append(
        [
          trigger("1", randomTrip()), trigger("1", trip), trigger("end", trip, .end),
          trigger("2", trip), trigger("1", trip), trigger("end", trip, .end),
        ], to: partition, at: start)
      #expect(outcomes[0] == .unknownTrip)
      #expect(Array(outcomes[3...]) == [.ended, .duplicate, .duplicate])
      #expect(try await store.append([trigger("3", trip)], to: partition, at: start) == [.ended])
      #expect(try await store.trip(trip)?.isClosing == true)
      #expect(try await store.entries().map(\.kind) == [.created, .note, .end])
    }
  }

  @Test func `takes a conditional trigger only for the revision it names`() async throws {
    try await withStore { (store, _) async throws in
      let trip = try await store.liveTrip()
      let (owner, cursor) = try await store.own()
      let wrong = AppendOutcome.revisionMismatch(current: Revision(1))
      func append(_ id: String, ifRevision: Int64) async throws -> AppendOutcome {
        try await store.append(
          [trigger(id, trip, .state, ifRevision: ifRevision)], to: partition, at: start)[0]
      }
      #expect(try await append("a", ifRevision: 0) == wrong)
      #expect(try await append("a", ifRevision: 2) == wrong)
      guard case .accepted(let place) = try await append("a", ifRevision: 1) else {
        throw Unexpected("the right revision was refused")
      }
      // It waits in the log: the trip is on its way to another revision.
      #expect(try await append("b", ifRevision: 1) == wrong)
      #expect(try await append("a", ifRevision: 1) == .duplicate)
      let change = TripChange(trip: trip, newState: (Revision(2), bytes("{}")))
      let commit = Commit(from: cursor, to: place, changes: [change])
      #expect(try await store.commit(commit, owner: owner) == .committed)
      #expect(
        try await append("b", ifRevision: 1) == .revisionMismatch(current: Revision(2)))
      if case .accepted = try await append("b", ifRevision: 2) {
      } else {
        Issue.record("the new revision was refused")
      }
    }
  }

  @Test func `says when it is full, and still knows duplicates`() async throws {
    try await withStore { (store, _) async throws in
      let trip = try await store.liveTrip()  // one entry
      let triggers = try (1...4).map { try trigger("\($0)", trip) }
      let outcomes = try await store.append(triggers, to: partition, at: start, logLimit: 3)
      #expect(Array(outcomes[2...]) == [.logFull, .logFull])
      let again = try await store.append(triggers, to: partition, at: start, logLimit: 3)
      #expect(again == [.duplicate, .duplicate, .logFull, .logFull])
      let later = try await store.append(triggers, to: partition, at: start, logLimit: 5)
      #expect(Array(later[..<2]) == [.duplicate, .duplicate])
      #expect(!later[2...].contains(.logFull))
    }
  }

  @Test func `is read on behind a cursor, in batches`() async throws {
    try await withStore { (store, _) async throws in
      let trip = try await store.liveTrip()
      let triggers = try (0..<250).map { try trigger("\($0)", trip) }
      _ = try await store.append(triggers, to: partition, at: start)
      var cursor = LogID.start
      var ids: [String] = []
      while true {
        let batch = try await store.entries(after: cursor, limit: 100)
        guard let last = batch.last else { break }
        #expect(batch.count <= 100)
        ids += batch.filter(\.kind.isTrigger).map(\.id)
        cursor = last.logID
      }
      #expect(ids == triggers.map(\.id.text))
      let many = await store.readLogs([(partition, .start), (partition, cursor)], limit: 10)
      #expect(try many.map { try $0.get().count } == [10, 0])
    }
  }

  @Test func `lets pass what it cannot read`() async throws {
    try await withStore { (store, client) async throws in
      _ = try await client.call(RedisCommand("XADD", "fc:{p000}:log", "*", "x", "y"))
      let trip = try await store.liveTrip()
      let items = try await store.readLog(partition, after: .start)
      #expect(items.count == 2)
      guard case .unreadable(let id, let text) = items[0] else {
        throw Unexpected("\(items[0])")
      }
      #expect(id == items[0].logID)
      #expect(text == "The entry has no valid trip ID.")
      guard case .entry(let entry) = items[1] else { throw Unexpected("\(items[1])") }
      #expect(entry.trip == trip)
    }
  }

  @Test func `rings a bell, by which its owner hears of new entries`() async throws {
    try await PrivateRedisServer.withTemporary(on: loop) { server in
      let client = RedisClient(configuration: server.configuration, loop: loop)
      let store = TripStore(redis: client, partitionCount: 8)
      let bell = LogBell(
        subscriber: RedisSubscriber(configuration: server.configuration, loop: loop), store: store)
      await bell.listen(to: Partition(number: 3))
      #expect(await bell.next() == [.missed])
      await store.ring([Partition(number: 4), Partition(number: 3)])
      #expect(await bell.next() == [.rang(Partition(number: 3))])
      await bell.forget(Partition(number: 3))
      await bell.close()
      #expect(await bell.next() == nil)
      await client.close(atOnce: true)
    }
  }

  @Test func `tells what stands before new entries, so that who has read so far need not read`()
    async throws
  {
    try await withStore { (store, _) async throws in
      let trip = try await store.liveTrip()
      let created = try #require(try await store.entries().last?.logID)
      var found: [AppendedEntries] = []
      let triggers = try [trigger("1", trip), trigger("1", trip), trigger("2", trip)]
      _ = await store.append(triggers, at: start) { found.append($0) }
      _ = await store.append([try trigger("2", trip)], at: start) { found.append($0) }
      _ = await store.append([try trigger("3", trip)], at: start) { found.append($0) }
      let read = try await store.entries()
      #expect(found.map(\.previous) == [created, try #require(read.dropLast().last?.logID)])
      #expect(found.flatMap(\.entries) == Array(read.dropFirst()))
    }
  }

  @Test func `forgets the trigger IDs of trips that nobody touches, after a week`() async throws {
    try await withStore { (store, client) async throws in
      let trip = try await store.liveTrip()
      _ = try await store.append([trigger("1", trip)], to: partition, at: start)
      let key = PartitionKeys(partition).seen(trip)
      let left = try await client.call(RedisCommand("PTTL", key)).integerValue()
      #expect(left > 6 * 86_400_000)
      #expect(left <= 7 * 86_400_000)
    }
  }

  @Test func `remembers the trigger IDs of trips that go on, looking at that once an hour`()
    async throws
  {
    try await withStore { (store, client) async throws in
      let trip = try await store.liveTrip()
      _ = try await store.append([trigger("1", trip)], to: partition, at: start)
      let key = PartitionKeys(partition).seen(trip)
      let week: Int64 = 7 * 86_400_000
      func lifeAfterTrigger(_ id: String, left: Int64) async throws -> Int64 {
        _ = try await client.call(RedisCommand("PEXPIRE", key, left))
        _ = try await store.append([trigger(id, trip)], to: partition, at: start)
        return try await client.call(RedisCommand("PTTL", key)).integerValue()
      }
      #expect(try await lifeAfterTrigger("2", left: week - 3_700_000) > week - 60_000)
      #expect(try await lifeAfterTrigger("3", left: week - 1_800_000) <= week - 1_800_000)
    }
  }

  @Test func `names partitions in its keys`() {
    let keys = PartitionKeys(Partition(number: 42))
    #expect(keys.log == "fc:{p042}:log")
    #expect(LogBell.partition(ofBell: keys.bell) == Partition(number: 42))
    #expect(LogBell.partition(ofBell: keys.cursor) == nil)
  }
}
