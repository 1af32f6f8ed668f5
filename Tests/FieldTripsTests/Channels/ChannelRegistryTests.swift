import Clocks
import FieldTrips
import Testing

func channel(_ name: String) throws -> ChannelID { try ChannelID(name) }

func intent(
  _ requestID: String, for trip: TripID? = nil, at time: UnixTime = noon
) -> ChannelIntent {
  ChannelIntent(requestID: requestID, storage: .mostRecent, trip: trip, askedAt: time)
}

@Suite struct `The channel registry` {
  var registry = ChannelRegistry()

  @Test mutating func `follows a trip's channel from the intent to its deletion`() throws {
    let trip = try sampleTrip()
    let id = try channel("a")
    registry.intend(intent("r1", for: trip))
    registry.created(id, storage: .mostRecent, for: "r1", at: noon)
    #expect(registry.intents.isEmpty)
    #expect(registry.records[id]?.use == .trip(trip))
    registry.retire(id, at: noon + .seconds(60))
    registry.retire(id, at: noon + .seconds(90))
    #expect(registry.dueForDeletion(at: noon + .seconds(59)) == [])
    #expect(registry.dueForDeletion(at: noon + .seconds(60)) == [id])
    registry.deleted(id)
    #expect(registry == ChannelRegistry())
  }

  @Test mutating func `gives the oldest warm channel away once`() throws {
    let trip = try sampleTrip()
    for (index, name) in ["b", "a", "c"].enumerated() {
      registry.intend(intent(name))
      registry.created(
        try channel(name), storage: .mostRecent, for: name, at: noon + .seconds(index))
    }
    #expect(registry.takeWarm(.noStorage, for: trip) == nil)
    #expect(registry.takeWarm(.mostRecent, for: trip)?.text == "b")
    #expect(registry.takeWarm(.mostRecent, for: trip)?.text == "a")
    #expect(registry.warmShortfall(.mostRecent, target: 4) == 3)
    registry.intend(intent("on its way"))
    #expect(registry.warmShortfall(.mostRecent, target: 4) == 2)
    #expect(registry.warmShortfall(.mostRecent, target: 1) == 0)
    #expect(registry.used(foreign: 5) == 9)
  }

  @Test mutating func `takes an answer in that nobody recorded, and one that comes twice`() throws {
    let id = try channel("a")
    registry.created(id, storage: .noStorage, for: "unknown", at: noon)
    registry.created(id, storage: .mostRecent, for: "unknown", at: noon + .seconds(1))
    #expect(
      Array(registry.records.values)
        == [ChannelRecord(id: id, storage: .noStorage, createdAt: noon, use: .warm)])
  }

  @Test func `its values survive the store`() throws {
    let trip = try sampleTrip()
    for use in [ChannelUse.warm, .trip(trip), .deletion(at: noon)] {
      let record = ChannelRecord(
        id: try channel("a"), storage: .noStorage, createdAt: noon, use: use)
      #expect(try ChannelRecord(id: record.id, stored: record.written()) == record)
    }
    for intent in [intent("r", for: trip), intent("r")] {
      #expect(try ChannelIntent(requestID: "r", stored: intent.written()) == intent)
    }
    for text in ["", "[]", "{}", #"{"storage":2,"createdAt":1}"#, #"{"storage":0}"#] {
      #expect(throws: Refusal.self) {
        try ChannelRecord(id: channel("a"), stored: Array(text.utf8))
      }
    }
  }

  @Test(
    arguments: [
      (0, .ample), (7_999, .ample), (8_000, .scarce), (9_999, .scarce), (10_000, .usedUp),
      (12_000, .usedUp),
    ] as [(Int, ChannelQuota.Level)])
  func `warns at 80 percent and stops at the limit`(used: Int, level: ChannelQuota.Level) {
    #expect(ChannelQuota().level(used: used) == level)
    #expect(ChannelQuota().left(used: used) == max(0, 10_000 - used))
  }
}

@Suite struct `Reconciling channels` {
  let later = noon + .seconds(600)

  func listing(_ names: String...) throws -> ChannelListing {
    ChannelListing(askedAt: later, channels: Set(try names.map(channel)))
  }

  func record(_ name: String, _ use: ChannelUse, at time: UnixTime = noon) throws -> ChannelRecord {
    ChannelRecord(id: try channel(name), storage: .mostRecent, createdAt: time, use: use)
  }

  @Test func `tells what is ours, lost, gone, abandoned and an orphan`() throws {
    let (trip, other) = (try sampleTrip(), TripID(randomBytes: .init(repeating: 9)))
    let registry = ChannelRegistry(records: [
      try record("kept", .trip(trip)), try record("lost", .trip(trip)),
      try record("gone", .deletion(at: noon)), try record("left", .trip(other)),
      try record("warm", .warm), try record("new", .warm, at: later - .seconds(5)),
    ])
    let found = Reconciliation(
      listing: try listing("kept", "left", "warm", "theirs", "stray"), registry: registry,
      foreign: [try channel("theirs")], trips: [trip])
    #expect(found.lost.map(\.id) == [try channel("lost")])
    #expect(found.alreadyDeleted.map(\.id) == [try channel("gone")])
    #expect(found.abandoned.map(\.id) == [try channel("left")])
    #expect(found.orphans == [try channel("stray")])
    #expect(found.suspects == [])
  }

  @Test func `a lost answer is found again if nobody else makes channels`() throws {
    let registry = ChannelRegistry(
      records: [try record("old", .warm)], intents: [intent("r1"), intent("r2")])
    let found = Reconciliation(
      listing: try listing("old", "stray", "x"), registry: registry,
      previous: [try channel("old"), try channel("stray")], ownership: .exclusive)
    #expect(found.adoptable.map(\.channel) == [try channel("x")])
    #expect(found.resolved.map(\.outcome) == [.found(try channel("x")), .neverCreated])
    #expect(found.orphans == [try channel("stray")])
    var after = registry
    after.accept(found, at: later)
    #expect(after.intents.isEmpty)
    #expect(after.records[try channel("x")]?.use == .warm)
    #expect(after.records[try channel("stray")] == nil)
  }

  @Test func `in a shared app it is only suspected`() throws {
    let registry = ChannelRegistry(intents: [intent("r1")])
    let found = Reconciliation(
      listing: try listing("x", "y"), registry: registry, previous: [])
    #expect(found.adoptable.isEmpty)
    #expect(found.resolved.map(\.outcome) == [.uncertain])
    #expect(found.suspects == [try channel("x"), try channel("y")])
    #expect(found.orphans == found.suspects)
  }

  @Test func `waits while an answer may still come`() throws {
    let registry = ChannelRegistry(intents: [intent("r1"), intent("r2", at: later - .seconds(3))])
    let found = Reconciliation(
      listing: try listing("x"), registry: registry, previous: [], ownership: .exclusive)
    #expect(found.undecided == [try channel("x")])
    #expect(found.resolved.isEmpty && found.orphans.isEmpty && found.seen.isEmpty)
  }

  /// APNs, we, and another service that makes channels for the same app.
  struct World {
    var dice: TripDice
    var now = noon
    var registry = ChannelRegistry()
    var atAPNs: Set<ChannelID> = []
    var ours: Set<ChannelID> = []
    var theirs: Set<ChannelID> = []
    var seen: Set<ChannelID>?
    var reported: Set<ChannelID> = []
    var number = 0

    mutating func step(_ ownership: ChannelOwnership, othersCreate: Bool) throws {
      now = now + .seconds(dice.roll(1..<30))
      switch dice.roll(0..<6) {
      case 0...2: try create()
      case 3 where othersCreate: theirs.insert(try make())
      case 4: deleteSomething()
      default: reconcile(ownership)
      }
    }

    mutating func make() throws -> ChannelID {
      number += 1
      let id = try ChannelID("c\(number)")
      atAPNs.insert(id)
      return id
    }

    mutating func create() throws {
      let request = "r\(number)"
      registry.intend(
        ChannelIntent(requestID: request, storage: .mostRecent, trip: nil, askedAt: now))
      switch dice.roll(0..<5) {
      case 0: break  // never reached APNs
      case 1: ours.insert(try make())  // the answer was lost
      case 2: registry.refused(request)
      default:
        let id = try make()
        ours.insert(id)
        registry.created(id, storage: .mostRecent, for: request, at: now)
      }
    }

    mutating func deleteSomething() {
      guard let id = registry.records.keys.sorted().randomElement(using: &dice) else { return }
      registry.retire(id, at: now)
      for due in registry.dueForDeletion(at: now) {
        #expect(!theirs.contains(due))
        atAPNs.remove(due)
        if dice.happens(oneIn: 2) { registry.deleted(due) }
      }
    }

    mutating func reconcile(_ ownership: ChannelOwnership) {
      let listing = ChannelListing(askedAt: now, channels: atAPNs)
      let found = Reconciliation(
        listing: listing, registry: registry, previous: seen, ownership: ownership)
      #expect(found.lost.allSatisfy { !atAPNs.contains($0.id) })
      seen = found.seen
      reported = Set(found.orphans + found.undecided)
      registry.accept(found, at: now)
    }
  }

  @Test(arguments: 0..<150 as Range<UInt64>)
  func `never takes what is foreign, and leaves nothing of ours unaccounted`(
    seed: UInt64
  ) throws {
    let ownership: ChannelOwnership = seed.isMultiple(of: 2) ? .shared : .exclusive
    var world = World(dice: TripDice(seed: seed))
    world.reconcile(ownership)
    for _ in 0..<200 { try world.step(ownership, othersCreate: ownership == .shared) }
    world.now = world.now + .seconds(3_600)
    world.reconcile(ownership)
    #expect(world.theirs.isDisjoint(with: world.registry.records.keys))
    #expect(world.registry.intents.isEmpty)
    let accounted = world.reported.union(world.registry.records.keys)
    #expect(world.ours.intersection(world.atAPNs).isSubset(of: accounted))
    // Alone, we find every channel again whose answer was lost.
    if ownership == .exclusive { #expect(world.reported.isEmpty) }
  }
}
