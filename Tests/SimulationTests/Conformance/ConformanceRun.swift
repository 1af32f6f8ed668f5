import Clocks
import FieldTrips
import Randomness
import TripStore

/// Random calls of the store, in an order that a seed repeats: among them stale owners, lives that
/// somebody else changed, IDs that came before, trips that nobody knows.
struct ConformanceRun {
  private let store: TripStore
  private let app: AppID
  private var random: SplitMix64
  private var trips: [TripID] = []
  private var lives: [TripID: TripLife] = [:]
  private var owners: [Ownership] = []
  private var cursor = LogID.start
  private var claims: [DueClaim] = []
  private var intents: [ChannelIntent] = []
  private var channels: [ChannelID] = []
  private var revision: Int64 = 1

  private let partition = Partition(number: 0)
  private let start = UnixTime(milliseconds: 1_716_620_400_000)

  init(store: TripStore, app: AppID, seed: UInt64) {
    self.store = store
    self.app = app
    random = SplitMix64(seed: seed)
  }

  mutating func step() async throws {
    switch random.below(17) {
    case 0: try await create()
    case 1, 2, 3: try await append()
    case 4: try await lease()
    case 5, 6, 7: try await commit()
    case 8: try await reserve()
    case 9: try await record()
    case 10: try await due()
    case 11: try await changeLife()
    case 12, 13, 14: try await channel()
    case 15: try await forget()
    default: try await look()
    }
  }

  // MARK: Choices

  private var now: UnixTime { start + .seconds(Int64(trips.count)) }

  private mutating func trip() -> TripID {
    if trips.isEmpty || random.below(20) == 0 { return TripID(using: &random) }
    return trips[random.below(trips.count)]
  }

  private mutating func owner() -> Ownership {
    guard let last = owners.last, random.below(6) > 0 else {
      return owners.isEmpty || random.below(3) == 0
        ? Ownership(partition: partition, epoch: Epoch(7)) : owners[random.below(owners.count)]
    }
    return last
  }

  private mutating func event() throws -> TripEvent {
    switch random.below(6) {
    case 0: .channelOpened(try ChannelID("channel\(random.below(9))"))
    case 1: .channelUnavailable
    case 2: .endRequested(dismissal: .atOnce)
    case 3: .endAccepted
    case 4: .staleRefreshDue
    default: .updateAccepted
    }
  }

  private mutating func step(of trip: TripID) throws -> LifeChange? {
    guard let from = lives[trip] else { return nil }
    var to = from
    let actions = to.handle(try event(), at: now)
    return LifeChange(of: trip, from: from, to: to, actions: actions)
  }

  // MARK: Calls

  private mutating func create() async throws {
    let id = random.below(4) == 0 ? trip() : TripID(using: &random)
    var life = TripLife(times: TripTimes(createdAt: now, staleAfter: .seconds(60)))
    let actions = life.created(at: now)
    let isNew = try await store.createTrip(
      NewTrip(
        id: id,
        definition: TripDefinition(
          app: app, typeName: "field-trip", name: "Meadow",
          notebook: random.below(2) == 0 ? nil : "Birds", attributes: Callers.attributes,
          storagePolicy: .mostRecent),
        contentState: Callers.firstState, life: life, actions: actions), at: now)
    if isNew { trips.append(id) }
    if isNew { lives[id] = life }
  }

  private mutating func append() async throws {
    let triggers = try (0..<1 + random.below(5)).map { _ in
      let isEnd = random.below(25) == 0
      let condition = random.below(6) == 0 ? Revision(Int64(random.below(4))) : nil
      return NewTrigger(
        trip: trip(), kind: isEnd ? .end : condition == nil ? .note : .state,
        id: try TriggerID("n\(random.below(40))"), body: Bytes("{}".utf8), ifRevision: condition)
    }
    // How many entries a log holds behind its cursor is up to the server.
    _ = try await store.append(
      triggers, to: partition, at: now, logLimit: random.below(10) == 0 ? 0 : 10_000)
  }

  private mutating func lease() async throws {
    let node = "node\(random.below(3))"
    switch random.below(5) {
    case 0, 1:
      let take = await store.takeLeases([partition], node: node, life: .seconds(600))[0]
      if case .taken(let owner, let cursor) = try take.get() {
        owners.append(owner)
        self.cursor = cursor
      }
    case 2: _ = await store.renewLeases([owner()], node: node, life: .seconds(600))
    case 3: _ = await store.releaseLeases([owner()], node: node)
    default:
      _ = try await store.heartbeat(node: node, window: .seconds(600))
      if random.below(4) == 0 { try await store.signOff(node: node) }
    }
  }

  private mutating func commit() async throws {
    let items = try await store.readLog(partition, after: cursor, limit: 1 + random.below(8))
    let to = items.last?.logID ?? cursor
    var changes: [TripChange] = []
    for id in Set(trips.prefix(1 + random.below(3))).sorted() {
      revision += 1
      changes.append(
        TripChange(
          trip: id,
          newState: random.below(3) == 0
            ? nil : (Revision(revision), Bytes(#"{"notesCaptured":\#(revision)}"#.utf8)),
          mapperMemory: random.below(3) == 0 ? Bytes("{}".utf8) : nil,
          life: random.below(4) == 0 ? try step(of: id) : nil))
    }
    let from = random.below(8) == 0 ? LogID.start : cursor
    let commit = Commit(
      from: min(from, to), to: to, changes: changes, at: random.below(2) == 0 ? nil : now)
    let owner = owner()
    for _ in 0..<1 + random.below(2) {
      switch try await store.commit(commit, owner: owner) {
      case .committed:
        cursor = to
        for change in changes { lives[change.trip] = change.life?.to ?? lives[change.trip] }
      case .lifeConflict(let trip, let current): lives[trip] = current
      case .cursorConflict(let current): cursor = current
      case .fenced: break
      }
    }
  }

  private mutating func reserve() async throws {
    let outcome = try await store.reserve(
      random.below(3) == 0 ? .end : .update, for: trip(),
      timestampSeconds: 1_716_620_400 + Int64(random.below(50)),
      anchor: random.below(2) == 0 ? nil : UnixTime(nanoseconds: 1_716_620_400_123_456_789),
      owner: owner())
    if case .reserved(let state) = outcome { revision = max(revision, state.revision.number) }
  }

  private mutating func record() async throws {
    let id = trip()
    var answer = AnswerRecord(trip: id)
    if random.below(2) == 0 { answer.accepted = Revision(Int64(random.below(Int(revision) + 3))) }
    if random.below(4) == 0 { answer.ratePerHour = 60 * 0.7 }
    if random.below(4) == 0 { answer.anchor = UnixTime(nanoseconds: 1_716_620_400_987_654_321) }
    if random.below(3) == 0 { answer.life = try step(of: id) }
    if random.below(3) == 0 { answer.timeline = Bytes("{}".utf8) }
    if random.below(5) == 0 { answer.waiting = Bytes("[]".utf8) }
    switch try await store.record(answer, owner: owner()) {
    case .recorded: if let life = answer.life { lives[id] = life.to }
    case .lifeConflict(let current): lives[id] = current
    case .fenced, .unknownTrip: break
    }
  }

  private mutating func due() async throws {
    switch random.below(4) {
    case 0:
      let kinds = DueKind.allCases
      let item = DueItem.trip(kinds[random.below(kinds.count)], trip())
      let at = start + .seconds(Int64(random.below(100)))
      try await store.changeDue(
        [random.below(4) == 0 ? .cancel(item) : .schedule(item, at: at)], of: partition)
    case 1, 2:
      let outcome = try await store.claimDue(
        by: start + .seconds(Int64(random.below(120))), claim: .seconds(10),
        limit: 1 + random.below(6), owner: owner())
      if case .claimed(let more) = outcome { claims += more }
    default:
      try await store.finish(claims, of: partition)
      claims = []
    }
    _ = await store.nextDue([partition])
  }

  private mutating func changeLife() async throws {
    let id = trip()
    guard let change = try step(of: id) else { return }
    switch try await store.changeLife(of: id, change, at: now) {
    case .changed: lives[id] = change.to
    case .conflict(let current): lives[id] = current
    case .unknownTrip: break
    }
    // Now and then what is known of a life is out of date.
    if random.below(5) == 0, let other = trips.first { lives[other] = change.from }
  }

  private mutating func channel() async throws {
    let policy = StoragePolicy.mostRecent
    switch random.below(8) {
    case 0: _ = try await store.takeChannel(for: trip(), of: app, storage: policy)
    case 1, 2:
      let intent = ChannelIntent(
        requestID: "request\(random.below(1_000))", storage: policy, trip: trip(), askedAt: now)
      let quota = ChannelQuota(limit: random.below(5) == 0 ? 3 : 100)
      if try await store.intend(intent, of: app, quota: quota) == .recorded {
        intents.append(intent)
      }
    case 3:
      let intent = ChannelIntent(
        requestID: "request\(random.below(1_000))", storage: policy, trip: nil, askedAt: now)
      let outcome = try await store.intendWarm(
        intent, of: app, poolSize: 3, quota: ChannelQuota(limit: 100))
      if outcome == .recorded { intents.append(intent) }
    case 4, 5:
      guard let intent = intents.popLast() else { return }
      let channel = try ChannelID("made\(random.below(30))")
      channels.append(channel)
      _ = try await store.channelCreated(channel, for: intent, of: app, at: now)
    case 6:
      guard let channel = channels.first else { return }
      if random.below(2) == 0 {
        try await store.retireChannel(channel, of: app, deleteAt: now)
      } else {
        channels.removeFirst()
        try await store.channelDeleted(channel, of: app)
      }
    default:
      try await store.retireWarm(
        of: app, storage: policy, createdBefore: start, keeping: 1, at: now)
      _ = try await store.claimDeletions(of: app, by: now, claim: .seconds(60), limit: 3)
      if let intent = intents.first { try await store.creationRefused(intent.requestID, of: app) }
    }
  }

  private mutating func forget() async throws {
    let id = trip()
    if case .forgotten = try await store.forget(id, owner: owner()) {
      trips.removeAll { $0 == id }
      lives[id] = nil
    }
  }

  /// Reads all that there is.
  func look() async throws {
    _ = await store.trips(trips)
    _ = await store.lives(of: trips)
    _ = try await store.unpublishedTrips(of: partition)
    _ = try await store.cursor(of: partition)
    _ = try await store.logPlace(of: partition, seeking: cursor)
    _ = try await store.readLog(partition, after: cursor)
    _ = try await store.channels(of: app)
    _ = try await store.channelIntents(of: app)
    _ = try await store.channelUsage(of: app)
    try await store.bury([])
  }
}
