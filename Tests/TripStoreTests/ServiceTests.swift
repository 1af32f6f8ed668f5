import Clocks
import FieldTrips
import Redis
import Testing
import Transport

@testable import TripStore

@Suite struct `An idempotency key` {
  @Test func `lets one request proceed and answers the others the same`() async throws {
    try await withStore { (store, _) async throws in
      let (one, two) = (randomTrip(), randomTrip())
      func claim(_ trip: TripID, print: String = "p") async throws -> IdempotencyClaim {
        try await store.claimRequest("key", fingerprint: print, trip: trip)
      }
      #expect(try await claim(one) == .proceed(trip: one, isRepeat: false))
      // The same attempt again, as after a lost answer.
      #expect(try await claim(one) == .proceed(trip: one, isRepeat: false))
      guard case .inProgress(let left) = try await claim(two) else {
        throw Unexpected("two requests of one key proceed")
      }
      #expect(left > .seconds(20) && left <= .seconds(30))
      #expect(try await claim(two, print: "q") == .differentBody)
      try await store.completeRequest("key", reply: bytes("201"))
      #expect(try await claim(two) == .completed(trip: one, reply: bytes("201")))
      #expect(try await claim(one) == .completed(trip: one, reply: bytes("201")))
      #expect(try await claim(two, print: "q") == .differentBody)
    }
  }

  @Test func `lets another attempt go on with the same trip when one fails or dies`()
    async throws
  {
    try await withStore { (store, client) async throws in
      let trips = (0..<4).map { _ in randomTrip() }
      func claim(_ index: Int) async throws -> IdempotencyClaim {
        try await store.claimRequest(
          "key", fingerprint: "p", trip: trips[index], patience: .milliseconds(30_000))
      }
      _ = try await claim(0)
      try await store.abandonRequest("key")
      #expect(try await claim(1) == .proceed(trip: trips[0], isRepeat: true))
      #expect(try await claim(1) == .proceed(trip: trips[0], isRepeat: true))
      // Its patience is over: it is taken for dead.
      _ = try await client.call(RedisCommand("HSET", "fc:idem:{key}", "until", 1))
      #expect(try await claim(2) == .proceed(trip: trips[0], isRepeat: true))
      guard case .inProgress = try await claim(3) else { throw Unexpected("not in progress") }
    }
  }

  @Test func `is forgotten after a day, and then its reply is not kept`() async throws {
    try await withStore { (store, client) async throws in
      _ = try await store.claimRequest("key", fingerprint: "p", trip: randomTrip())
      let left = try await client.call(RedisCommand("PTTL", "fc:idem:{key}")).integerValue()
      #expect(left > 86_000_000 && left <= 86_400_000)
      _ = try await client.call(RedisCommand("DEL", "fc:idem:{key}"))
      try await store.completeRequest("key", reply: bytes("201"))
      try await store.abandonRequest("key")
      #expect(try await client.call(RedisCommand("EXISTS", "fc:idem:{key}")).intValue() == 0)
    }
  }
}

@Suite struct `Dead letters` {
  @Test func `are kept with their reason, the newest ten thousand or so`() async throws {
    try await withStore { (store, client) async throws in
      let letter = DeadLetter(
        reason: "invalid_json", message: "Expected a value at byte 3.", door: "pubsub",
        excerpt: [UInt8](repeating: 0xFF, count: 5_000), at: start)
      #expect(letter.excerpt.count == 1_024)
      try await store.bury([])
      try await store.bury([letter])
      var last = letter
      last.reason = "unknown_trip"
      try await store.bury([last])
      #expect(try await store.deadLetters(limit: 10) == [last, letter])
      for _ in 0..<12 { try await store.bury(Array(repeating: letter, count: 1_000)) }
      let count = try await client.call(RedisCommand("XLEN", TripStore.deadLetterKey)).intValue()
      #expect(count >= 10_000 && count < 10_200)
    }
  }
}

@Suite struct `A timeline` {
  @Test func `keeps the newest broadcasts of a trip`() async throws {
    try await withStore { (store, client) async throws in
      let trip = try await store.liveTrip()
      let (owner, _) = try await store.own()
      let entries = (0..<300).map { bytes("{\"n\":\($0)}") }
      for outcome in await store.record(
        entries.map { (AnswerRecord(trip: trip, timeline: $0), owner) })
      {
        #expect(try outcome.get() == .recorded(published: Revision(0)))
      }
      #expect(try await store.timeline(of: trip) == Array(entries.suffix(64)))
      let key = PartitionKeys(partition).timeline(trip)
      #expect(try await client.call(RedisCommand("XLEN", key)).intValue() < 170)
      let unknown = AnswerRecord(trip: randomTrip(), timeline: [1])
      #expect(try await store.record(unknown, owner: owner) == .unknownTrip)
    }
  }

  @Test func `keeps what waited when an owner stopped, until a broadcast is accepted`() async throws
  {
    try await withStore { (store, _) async throws in
      let trip = try await store.liveTrip()
      let (owner, _) = try await store.own()
      _ = try await store.record(AnswerRecord(trip: trip, waiting: bytes("{}")), owner: owner)
      _ = try await store.record(AnswerRecord(trip: trip, timeline: [1]), owner: owner)
      #expect(try await store.trip(trip)?.waiting == bytes("{}"))
      _ = try await store.record(AnswerRecord(trip: trip, accepted: Revision(1)), owner: owner)
      #expect(try await store.trip(trip)?.waiting == [])
    }
  }
}

@Suite struct `What phones show` {
  private func card(_ revision: Int64, isQuiet: Bool = false) -> ShownCard {
    ShownCard(
      revision: Revision(revision), isQuiet: isQuiet, acceptedAt: start + .seconds(revision),
      staleAt: isQuiet ? nil : start + .seconds(900), contentState: bytes(#"{"a b": "c d"}"#))
  }

  @Test func `is kept as APNs accepted it, the newest revision last`() async throws {
    try await withStore { (store, _) async throws in
      let trip = try await store.liveTrip()
      let (owner, cursor) = try await store.own()
      let change = TripChange(
        trip: trip, newState: (Revision(4), bytes(#"{"notesCaptured":3}"#)), mapperMemory: nil)
      let commit = Commit(from: cursor, to: cursor, changes: [change], at: start + .seconds(9))
      #expect(try await store.commit(commit, owner: owner) == .committed)
      #expect(try await store.trip(trip)?.changedAt == start + .seconds(9))
      #expect(try await store.trip(trip)?.shown == nil)

      func answer(_ revision: Int64, isQuiet: Bool = false) async throws {
        let record = AnswerRecord(
          trip: trip, accepted: isQuiet ? nil : Revision(revision),
          shown: card(revision, isQuiet: isQuiet))
        _ = try await store.record(record, owner: owner)
      }
      try await answer(3)
      try await answer(4, isQuiet: true)
      #expect(try await store.trip(trip)?.shown == card(3))
      #expect(try await store.trip(trip)?.quiet == card(4, isQuiet: true))
      // An answer that comes late changes nothing of what is newer.
      try await answer(2)
      #expect(try await store.trip(trip)?.shown == card(3))
      #expect(try await store.trip(trip)?.quiet == card(4, isQuiet: true))
      try await answer(4)
      #expect(try await store.trip(trip)?.shown == card(4))
      #expect(try await store.trip(trip)?.quiet == nil)
      // A revision that the store does not have was lost, and is not shown.
      try await answer(9)
      #expect(try await store.trip(trip)?.shown == card(4))
    }
  }

  @Test func `is seen at a glance`() async throws {
    try await withStore(partitions: 8) { (store, _) async throws in
      var life = TripLife(times: TripTimes(createdAt: start))
      _ = life.created(at: start)
      let trips = [randomTrip(), randomTrip(), randomTrip()]
      for trip in trips.dropLast() {
        _ = try await store.createTrip(newTrip(trip), at: start)
      }
      let glances = await store.glances(at: trips)
      let first = try #require(try glances[0].get())
      #expect(first.name == "Meadow" && first.notebook == "Birds" && first.typeName == "fieldTrip")
      #expect(first.revision == Revision(1) && first.waitingChanges == 0)
      #expect(first.life.phase == .live && first.changedAt == nil)
      #expect(try glances[2].get() == nil)
      let moving = try await store.someUnpublishedTrips(from: 3, limit: 100)
      #expect(Set(moving) == Set(trips.dropLast()))
    }
  }

  @Test func `is looked for among those that move no further than is said`() async throws {
    try await withStore(partitions: 4) { (store, _) async throws in
      let trips = (0..<40).map { _ in randomTrip() }
      for trip in trips { _ = try await store.createTrip(newTrip(trip), at: start) }
      #expect(try await store.someUnpublishedTrips(from: 0, limit: 8).count <= 8)
      // Of one partition after the other, and of each other ones in time.
      var found: Set<TripID> = []
      var looks = 0
      while found.count < trips.count, looks < 2_000 {
        let some = try await store.someUnpublishedTrips(from: looks, limit: 1)
        #expect(some.allSatisfy { store.partition(of: $0).number == looks % 4 })
        #expect(some.count <= 1)
        found.formUnion(some)
        looks += 1
      }
      #expect(found == Set(trips))
    }
  }
}

@Suite struct `What nodes say of themselves` {
  @Test func `is there with the partitions that each owns`() async throws {
    try await withStore(partitions: 3) { (store, client) async throws in
      let nobody = Tenure(node: nil, epoch: .none)
      #expect(try await store.tenures() == [nobody, nobody, nobody])
      let (owner, _) = try await store.own(Partition(number: 1), node: "b")
      let tenures = try await store.tenures()
      #expect(tenures[1] == Tenure(node: "b", epoch: owner.epoch))
      #expect(tenures[0].node == nil && tenures[2].node == nil)
      for node in ["b", "a"] { _ = try await store.heartbeat(node: node, window: .seconds(60)) }
      try await store.report(bytes("{}"), of: "b", life: .seconds(60))
      let reports = try await store.nodeReports()
      #expect(reports.map(\.node) == ["a", "b"])
      #expect(reports.map(\.report) == [nil, bytes("{}")])
      let left = try await client.call(RedisCommand("PTTL", "fc:node:b")).intValue()
      #expect((1...60_000).contains(left))
    }
  }
}

@Suite struct `Opening the store` {
  @Test func `is refused for data of another version or another number of partitions`()
    async throws
  {
    try await withStore(partitions: 16) { (store, client) async throws in
      try await store.open()
      try await store.open()
      let other = TripStore(redis: client, partitionCount: 32)
      let partitions = await storeError { try await other.open() }
      #expect("\(try #require(partitions))".contains("spread over 16 partitions"))
      _ = try await client.call(RedisCommand("HSET", "fc:version", "version", "2"))
      let version = await storeError { try await store.open() }
      #expect(version == .wrongVersion(found: "2", supported: 1))
      #expect("\(try #require(version))".contains("data of version 2"))
    }
  }
}

@Suite struct `Trouble with Redis` {
  @Test func `stops what takes in and not what works off, at the memory limit`() async throws {
    try await withStore { (store, client) async throws in
      let trip = try await store.liveTrip()
      let (owner, cursor) = try await store.own()
      _ = try await store.append([trigger("1", trip)], to: partition, at: start)
      let last = try #require(try await store.entries().last?.logID)
      _ = try await client.call(RedisCommand("CONFIG", "SET", "maxmemory", "1"))
      for _ in 0..<2 {
        let append = await storeError {
          _ = try await store.append([trigger("2", trip)], to: partition, at: start)
        }
        guard case .outOfMemory(let text)? = append else { throw Unexpected("\(append as Any)") }
        #expect(text.contains("maxmemory"))
      }
      let create = await storeError { _ = try await store.createTrip(newTrip(), at: start) }
      guard case .outOfMemory? = create else { throw Unexpected("\(create as Any)") }
      let change = TripChange(trip: trip, newState: (Revision(2), bytes("{}")))
      #expect(
        try await store.commit(Commit(from: cursor, to: last, changes: [change]), owner: owner)
          == .committed)
      let reserved = try await store.reserve(
        .update, for: trip, timestampSeconds: 9, anchor: nil, owner: owner)
      guard case .reserved = reserved else { throw Unexpected("\(reserved)") }
      #expect(
        try await store.record(AnswerRecord(trip: trip, accepted: Revision(2)), owner: owner)
          == .recorded(published: Revision(2)))
      let renewal = await store.renewLeases([owner], node: "a", life: .seconds(60))[0]
      #expect(try renewal.get() == .renewed)
      // What the log cannot be rid of otherwise.
      try await store.bury([
        DeadLetter(reason: "endedTrip", message: "", door: "log", excerpt: [], at: start)
      ])
      _ = try await client.call(RedisCommand("CONFIG", "SET", "maxmemory", "0"))
      #expect(try await store.deadLetters(limit: 10).count == 1)
      // Nothing was half written.
      let again = try await store.append([trigger("2", trip)], to: partition, at: start)
      if case .accepted = again[0] {} else { Issue.record("\(again)") }
    }
  }

  @Test func `by forgotten scripts is not seen`() async throws {
    try await withStore { (store, client) async throws in
      let trip = try await store.liveTrip()
      for number in 0..<20 {
        _ = try await client.call(RedisCommand("SCRIPT", "FLUSH"))
        let outcome = try await store.append(
          [trigger("\(number)", trip)], to: partition, at: start)
        if case .accepted = outcome[0] {} else { Issue.record("\(outcome)") }
        _ = try await client.call(RedisCommand("SCRIPT", "FLUSH"))
        let takes = await store.takeLeases([partition], node: "a", life: .seconds(60))
        _ = try takes[0].get()
      }
      #expect(try await store.entries().filter(\.kind.isTrigger).count == 20)
    }
  }

  @Test func `is told apart: a replica, no permission, no server`() async throws {
    try await withStore { (store, client) async throws in
      let trip = try await store.liveTrip()
      _ = try await client.call(
        RedisCommand("ACL", "SETUSER", "default", "-evalsha", "-eval", "-script"))
      let denied = await storeError {
        _ = try await store.append([trigger("1", trip)], to: partition, at: start)
      }
      guard case .notPermitted? = denied else { throw Unexpected("\(denied as Any)") }
      _ = try await client.call(RedisCommand("ACL", "SETUSER", "default", "+@all"))
      _ = try await client.call(RedisCommand("REPLICAOF", "127.0.0.1", "1"))
      let readOnly = await storeError {
        _ = try await store.append([trigger("1", trip)], to: partition, at: start)
      }
      guard case .readOnly? = readOnly else { throw Unexpected("\(readOnly as Any)") }
      #expect(readOnly?.isTransient == true)
    }
    var configuration = RedisConfiguration(endpoint: .unix(path: "/nowhere/redis.sock"))
    configuration.commandDeadline = .milliseconds(200)
    let client = RedisClient(configuration: configuration, loop: loop)
    let error = await storeError { try await TripStore(redis: client).open() }
    guard case .unreachable? = error else { throw Unexpected("\(error as Any)") }
    await client.close(atOnce: true)
  }

  @Test func `with what a key holds is reported with what was expected`() async throws {
    try await withStore { (store, client) async throws in
      let trip = randomTrip()
      let key = PartitionKeys(partition).trip(trip)
      _ = try await client.call(RedisCommand("HSET", key, "v", "1", "app", "nonsense"))
      let broken = await storeError { _ = try await store.trip(trip) }
      #expect("\(try #require(broken))".contains("\(trip)"))
      _ = try await client.call(RedisCommand("SET", "fc:{p000}:cursor", "nonsense"))
      let cursor = await storeError { _ = try await store.cursor(of: partition) }
      guard case .unexpectedReply? = cursor else { throw Unexpected("\(cursor as Any)") }
    }
  }
}
