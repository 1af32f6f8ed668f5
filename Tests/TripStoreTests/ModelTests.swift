import Clocks
import FieldTrips
import Randomness
import Redis
import Testing

@testable import TripStore

/// What a partition must hold, worked out without Redis and without scripts.
struct PartitionModel {
  struct Entry: Equatable {
    let trip: TripID
    let kind: LogEntry.Kind
    let id: String
  }

  struct ModelTrip {
    var life: TripLife
    var taken: Set<String> = []
    var isClosing = false
    /// Distinct notes that were worked off.
    var count = 0
    var revision: Int64 = 1
    var published: Int64 = 0
    var timestamp: Int64 = 0

    /// By definition: APNs has yet to accept something.
    var isUnpublished: Bool {
      switch life.phase {
      case .scheduled, .live: revision > published
      case .ending: true
      case .ended: false
      }
    }
  }

  var trips: [TripID: ModelTrip] = [:]
  /// Entries that are not worked off.
  var log: [Entry] = []
  var epoch: Int64 = 0

  mutating func append(
    _ trip: TripID, _ kind: LogEntry.Kind, _ id: String, ifRevision: Int64?
  ) -> String {
    guard var known = trips[trip] else { return "unknown" }
    if known.taken.contains(id) { return "duplicate" }
    if known.isClosing || !known.life.acceptsTriggers { return "ended" }
    if let ifRevision {
      let isWaiting = log.contains { $0.trip == trip && $0.kind.isTrigger }
      if ifRevision != known.revision || isWaiting { return "mismatch" }
    }
    known.taken.insert(id)
    known.isClosing = kind == .end
    trips[trip] = known
    log.append(Entry(trip: trip, kind: kind, id: id))
    return "accepted"
  }

  /// Works off the first entries of the log.
  mutating func commit(_ count: Int, ends: [TripID: TripLife]) {
    for entry in log.prefix(count) {
      guard var trip = trips[entry.trip] else { continue }
      switch entry.kind {
      case .note, .state, .phase:
        trip.count += 1
        trip.revision += 1
      case .end: if let life = ends[entry.trip] { trip.life = life }
      case .created, .life, .member, .push: break
      }
      trips[entry.trip] = trip
    }
    log.removeFirst(count)
  }
}

/// A node with what it holds in memory of the partition, which may be out of date.
struct ModelOwner {
  var owner: Ownership
  var cursor: LogID
  var trips: [TripID: (count: Int, revision: Int64, life: TripLife)] = [:]
}

/// Drives a store and the model by the same random steps, and compares.
struct ModelRun {
  let store: TripStore
  var random: SplitMix64
  var model = PartitionModel()
  var current: ModelOwner?
  var stale: [ModelOwner] = []
  var trips: [TripID] = []
  /// Reserved and not answered: trip, revision, and whether it is the end.
  var inFlight: [(trip: TripID, revision: Int64, isEnd: Bool, owner: Ownership)] = []
  var counts: [String: Int] = [:]

  init(store: TripStore, seed: UInt64) {
    self.store = store
    random = SplitMix64(seed: seed)
  }

  mutating func step() async throws {
    switch Int.random(in: 0..<100, using: &random) {
    case 0..<4: try await create()
    case 4..<40: try await append()
    case 40..<45: try await takeOver()
    case 45..<48: if let trip = trips.randomElement(using: &random) { try await openChannel(trip) }
    case 48..<70: try await workOff()
    case 70..<76: try await workOffAsStale()
    case 76..<88: try await reserve()
    default: try await answer()
    }
  }

  mutating func note(_ what: String) { counts[what, default: 0] += 1 }

  private mutating func create() async throws {
    if trips.count < 6 || Int.random(in: 0..<10, using: &random) == 0 {
      trips.append(TripID(using: &random))
    }
    guard let trip = trips.randomElement(using: &random) else { return }
    let new = newTrip(trip, state: "0")
    let isNew = model.trips[trip] == nil
    #expect(try await store.createTrip(new, at: start) == isNew)
    if isNew {
      model.trips[trip] = PartitionModel.ModelTrip(life: new.life)
      model.log.append(PartitionModel.Entry(trip: trip, kind: .created, id: ""))
    }
    note(isNew ? "created" : "created again")
  }

  private mutating func append() async throws {
    var batch: [NewTrigger] = []
    var expected: [String] = []
    for _ in 0..<Int.random(in: 1...5, using: &random) {
      let isStranger = Int.random(in: 0..<40, using: &random) == 0
      guard let trip = isStranger ? TripID(using: &random) : trips.randomElement(using: &random)
      else { return }
      let isEnd = Int.random(in: 0..<60, using: &random) == 0
      let id = isEnd ? "end" : "n\(Int.random(in: 0..<60, using: &random))"
      var condition: Int64?
      if !isEnd, Int.random(in: 0..<5, using: &random) == 0 {
        condition = (model.trips[trip]?.revision ?? 1) + Int64.random(in: -1...1, using: &random)
      }
      condition = condition.map { max(0, $0) }
      let kind: LogEntry.Kind = isEnd ? .end : condition == nil ? .note : .state
      batch.append(try trigger(id, trip, kind, ifRevision: condition))
      expected.append(model.append(trip, kind, id, ifRevision: condition))
    }
    let outcomes = try await store.append(batch, to: partition, at: start)
    let names = outcomes.map { outcome in
      switch outcome {
      case .accepted: "accepted"
      case .duplicate: "duplicate"
      case .unknownTrip: "unknown"
      case .ended: "ended"
      case .revisionMismatch: "mismatch"
      case .logFull: "full"
      }
    }
    #expect(names == expected)
    for name in names { note(name) }
    // A channel comes while the end waits in the log, before the owner has heard of either.
    for (trigger, name) in zip(batch, names)
    where trigger.kind == .end && name == "accepted" && Bool.random(using: &random) {
      try await openChannel(trigger.trip)
    }
  }

  /// Another node takes over, or the same one that forgot everything.
  private mutating func takeOver() async throws {
    if let current { stale.append(current) }
    if stale.count > 4 { stale.removeFirst() }
    current = try await load()
    note("taken over")
  }

  private mutating func load() async throws -> ModelOwner {
    let (owner, cursor) = try await store.own()
    #expect(owner.epoch.number > model.epoch)
    model.epoch = owner.epoch.number
    var loaded = ModelOwner(owner: owner, cursor: cursor)
    for trip in try await store.listTrips(after: nil, limit: 1_000).trips {
      try await reload(trip, &loaded)
    }
    return loaded
  }

  private func reload(_ trip: TripID, _ owner: inout ModelOwner) async throws {
    guard let record = try await store.trip(trip) else { return }
    let count = try #require(Int(String(decoding: record.contentState, as: UTF8.self)))
    owner.trips[trip] = (count, record.revision.number, record.life)
  }

  private mutating func openChannel(_ trip: TripID) async throws {
    guard let known = model.trips[trip], known.life.channel == .opening else { return }
    var life = known.life
    let number = Int.random(in: 0..<1_000, using: &random)
    let actions = life.handle(.channelOpened(try ChannelID("channel\(number)")), at: start)
    let change = LifeChange(of: trip, from: known.life, to: life, actions: actions)
    for _ in 0..<Int.random(in: 1...2, using: &random) {
      #expect(try await store.changeLife(of: trip, change, at: start) == .changed)
    }
    model.trips[trip]?.life = life
    model.log.append(PartitionModel.Entry(trip: trip, kind: .life, id: ""))
    note("channel opened")
  }

  /// Reads a batch and works it in, in memory, as an owner does.
  private func work(
    _ owner: inout ModelOwner, limit: Int
  ) async throws -> (commit: Commit, entries: [LogEntry], ends: [TripID: TripLife])? {
    let entries = try await store.entries(after: owner.cursor, limit: limit)
    guard let last = entries.last else { return nil }
    var changed: [TripID: TripChange] = [:]
    var ends: [TripID: TripLife] = [:]
    for entry in entries {
      if !entry.kind.isTrigger || owner.trips[entry.trip] == nil {
        // Looking again must not undo what this batch did in memory.
        if changed[entry.trip] == nil { try await reload(entry.trip, &owner) }
        if !entry.kind.isTrigger { continue }
      }
      guard var trip = owner.trips[entry.trip] else { continue }
      var change = changed[entry.trip] ?? TripChange(trip: entry.trip)
      if entry.kind == .end {
        let before = trip.life
        let actions = trip.life.handle(.endRequested(dismissal: nil), at: start)
        change.life = LifeChange(of: entry.trip, from: before, to: trip.life, actions: actions)
        ends[entry.trip] = trip.life
      } else {
        trip.count += 1
        trip.revision += 1
        change.newState = (Revision(trip.revision), bytes("\(trip.count)"))
      }
      owner.trips[entry.trip] = trip
      changed[entry.trip] = change
    }
    let changes = changed.values.sorted { $0.trip < $1.trip }
    return (Commit(from: owner.cursor, to: last.logID, changes: changes), entries, ends)
  }

  private mutating func workOff() async throws {
    guard var owner = current else { return }
    let limit = Int.random(in: 1...20, using: &random)
    guard let (commit, entries, ends) = try await work(&owner, limit: limit) else { return }
    let waiting = model.log.prefix(entries.count)
    #expect(waiting.map(\.kind) == entries.map(\.kind))
    #expect(waiting.map(\.id) == entries.map(\.id))
    // The node dies before it commits.
    if Int.random(in: 0..<8, using: &random) == 0 {
      current = try await load()
      return note("died before commit")
    }
    let outcome = try await store.commit(commit, owner: owner.owner)
    if case .lifeConflict = outcome {
      current = try await load()
      return note("life conflict")
    }
    #expect(outcome == .committed)
    model.commit(entries.count, ends: ends)
    note("committed")
    switch Int.random(in: 0..<6, using: &random) {
    case 0:
      // The answer got lost: the same is committed again.
      #expect(try await store.commit(commit, owner: owner.owner) == .committed)
      note("committed again")
    case 1:
      // The node dies after it committed.
      current = try await load()
      return note("died after commit")
    default: break
    }
    owner.cursor = commit.to
    current = owner
  }

  private mutating func workOffAsStale() async throws {
    guard var owner = stale.randomElement(using: &random) else { return }
    guard let work = try await work(&owner, limit: 20) else { return }
    expectFenced(try await store.commit(work.commit, owner: owner.owner), current: model.epoch)
    note("fenced")
  }

  private mutating func reserve() async throws {
    guard let trip = trips.randomElement(using: &random), let known = model.trips[trip] else {
      return
    }
    let isStale = Int.random(in: 0..<8, using: &random) == 0
    guard let owner = (isStale ? stale.last : current)?.owner else { return }
    let isEnd = Int.random(in: 0..<3, using: &random) == 0
    // The clock stands still, jumps ahead and goes back.
    let clock = known.timestamp + Int64.random(in: -5...3, using: &random)
    let outcome = try await store.reserve(
      isEnd ? .end : .update, for: trip, timestampSeconds: clock, anchor: nil, owner: owner)
    if isStale {
      #expect(outcome == .fenced(current: Epoch(model.epoch)))
      return note("reservation fenced")
    }
    let mayReserve = isEnd ? known.life.mayPublishEnd : known.life.mayPublishUpdate
    guard mayReserve else {
      #expect(outcome == .wrongPhase(known.life))
      return note("wrong phase")
    }
    guard case .reserved(let reservation) = outcome else { throw Unexpected("\(outcome)") }
    #expect(reservation.timestampSeconds == max(clock, known.timestamp + 1))
    #expect(reservation.timestampSeconds > known.timestamp)
    #expect(reservation.revision.number == known.revision)
    #expect(reservation.contentState == bytes("\(known.count)"))
    #expect(reservation.life == known.life)
    model.trips[trip]?.timestamp = reservation.timestampSeconds
    inFlight.append((trip, known.revision, isEnd, owner))
    note(isEnd ? "end reserved" : "reserved")
  }

  /// An answer of APNs comes: in any order, twice, or to an owner that is none any more.
  private mutating func answer() async throws {
    guard let index = inFlight.indices.randomElement(using: &random) else { return }
    let (trip, revision, isEnd, owner) = inFlight[index]
    if Int.random(in: 0..<4, using: &random) > 0 { inFlight.remove(at: index) }
    guard let known = model.trips[trip] else { return }
    var record = AnswerRecord(trip: trip, accepted: Revision(revision))
    var ended = known.life
    if isEnd {
      let actions = ended.handle(.endAccepted, at: start)
      record.life = LifeChange(of: trip, from: known.life, to: ended, actions: actions)
    }
    let outcome = try await store.record(record, owner: owner)
    guard owner.epoch.number == model.epoch else {
      #expect(outcome == .fenced(current: Epoch(model.epoch)))
      return note("answer fenced")
    }
    let published = max(known.published, revision)
    #expect(outcome == .recorded(published: Revision(published)))
    model.trips[trip]?.published = published
    model.trips[trip]?.life = ended
    note(isEnd ? "end accepted" : "accepted by APNs")
  }

  /// Compares all that the store holds with the model.
  func check() async throws {
    let unpublished = Set(try await store.unpublishedTrips(of: partition))
    #expect(unpublished == Set(model.trips.filter { $0.value.isUnpublished }.keys))
    let listed = try await store.listTrips(after: nil, limit: 10_000).trips
    #expect(Set(listed) == Set(model.trips.keys))
    for (id, expected) in model.trips {
      let record = try #require(try await store.trip(id))
      #expect(record.contentState == bytes("\(expected.count)"))
      #expect(record.revision.number == expected.revision)
      #expect(record.publishedRevision.number == expected.published)
      #expect(record.lastTimestampSeconds == expected.timestamp)
      #expect(record.life == expected.life)
      #expect(record.isClosing == (expected.isClosing || !expected.life.acceptsTriggers))
    }
    let cursor = try await store.cursor(of: partition)
    let waiting = try await store.entries(after: cursor)
    #expect(waiting.map(\.trip) == model.log.map(\.trip))
    #expect(waiting.map(\.id) == model.log.map(\.id))
  }

  /// Works everything off: each distinct ID then counts once.
  mutating func settle() async throws {
    current = try await load()
    while !model.log.isEmpty { try await workOff() }
    try await check()
    for trip in model.trips.values {
      #expect(trip.count == trip.taken.filter { $0 != "end" }.count)
    }
  }
}

@Suite struct `A partition and its model` {
  @Test(arguments: [1, 2, 3, 4] as [UInt64])
  func `agree through random steps, crashes, stale owners and lost answers`(
    seed: UInt64
  ) async throws {
    try await withStore { (store, client) async throws in
      var run = ModelRun(store: store, seed: seed)
      for step in 0..<2_500 {
        try await run.step()
        if step.isMultiple(of: 25) { try await run.check() }
        if step.isMultiple(of: 500) { _ = try await client.call(RedisCommand("SCRIPT", "FLUSH")) }
      }
      try await run.settle()
      // A run that did not come to a rule says nothing about it.
      for rule in [
        "created again", "duplicate", "unknown", "ended", "mismatch", "died before commit",
        "died after commit", "committed again", "fenced", "reservation fenced", "wrong phase",
        "end reserved", "end accepted", "answer fenced", "channel opened", "life conflict",
      ] {
        #expect(run.counts[rule, default: 0] > 0, "no step came to: \(rule)")
      }
    }
  }
}
