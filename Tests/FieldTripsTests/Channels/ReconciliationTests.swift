import Clocks
import FieldTrips
import Testing

private func channel(_ name: String) throws -> ChannelID { try ChannelID(name) }

@Suite struct `Reconciling channels` {
  let later = noon + .seconds(600)

  func listing(_ names: String...) throws -> ChannelListing {
    ChannelListing(askedAt: later, channels: Set(try names.map(channel)))
  }

  func known(
    _ name: String, _ use: KnownChannel.Use, at time: UnixTime = noon
  ) throws -> KnownChannel {
    KnownChannel(try channel(name), use, createdAt: time)
  }

  func intent(_ requestID: String, at time: UnixTime = noon) -> ChannelIntent {
    ChannelIntent(requestID: requestID, storage: .mostRecent, trip: nil, askedAt: time)
  }

  @Test func `tells what is ours, lost, gone, abandoned and an orphan`() throws {
    let (trip, other) = (try sampleTrip(), TripID(randomBytes: .init(repeating: 9)))
    let found = Reconciliation(
      listing: try listing("kept", "left", "warm", "stray"),
      known: [
        try known("kept", .trip(trip)), try known("lost", .trip(trip)),
        try known("gone", .deletion), try known("left", .trip(other)), try known("warm", .warm),
        try known("new", .warm, at: later - .seconds(5)),
      ], intents: [], trips: [trip])
    #expect(found.lost.map(\.id) == [try channel("lost")])
    #expect(found.alreadyDeleted.map(\.id) == [try channel("gone")])
    #expect(found.abandoned.map(\.id) == [try channel("left")])
    #expect(found.orphans == [try channel("stray")])
    #expect(found.suspects == [])
  }

  @Test func `a channel whose answer was lost is suspected, and what stood there before is not`()
    throws
  {
    let found = Reconciliation(
      listing: try listing("old", "stray", "x"), known: [try known("old", .warm)],
      intents: [intent("r1")], previous: [try channel("old"), try channel("stray")])
    #expect(found.resolved.map(\.outcome) == [.uncertain])
    #expect(found.suspects == [try channel("x")])
    #expect(found.orphans == [try channel("stray"), try channel("x")])
    let none = Reconciliation(
      listing: try listing("stray"), known: [], intents: [intent("r1")],
      previous: [try channel("stray")])
    #expect(none.resolved.map(\.outcome) == [.neverCreated])
    #expect(none.suspects == [])
  }

  @Test func `without an earlier list every unknown channel may be it`() throws {
    let found = Reconciliation(
      listing: try listing("x", "y"), known: [], intents: [intent("r1")])
    #expect(found.resolved.map(\.outcome) == [.uncertain])
    #expect(found.suspects == [try channel("x"), try channel("y")])
    #expect(found.orphans == found.suspects)
  }

  @Test func `waits while an answer may still come`() throws {
    let found = Reconciliation(
      listing: try listing("x"), known: [],
      intents: [intent("r1"), intent("r2", at: later - .seconds(3))], previous: [])
    #expect(found.undecided == [try channel("x")])
    #expect(found.resolved.isEmpty && found.orphans.isEmpty && found.seen.isEmpty)
  }

  /// APNs, our books, and another service that makes channels for the same app.
  struct World {
    var dice: TripDice
    var now = noon
    var books: [ChannelID: KnownChannel] = [:]
    var intents: [String: ChannelIntent] = [:]
    var atAPNs: Set<ChannelID> = []
    var ours: Set<ChannelID> = []
    var theirs: Set<ChannelID> = []
    var seen: Set<ChannelID>?
    var reported: Set<ChannelID> = []
    var number = 0

    init(seed: UInt64) { dice = TripDice(seed: seed) }

    mutating func step() throws {
      now = now + .seconds(dice.roll(1..<30))
      switch dice.roll(0..<6) {
      case 0...2: try create()
      case 3: theirs.insert(try make())
      case 4: deleteSomething()
      default: reconcile()
      }
    }

    mutating func make() throws -> ChannelID {
      number += 1
      let id = try ChannelID("c\(number)")
      atAPNs.insert(id)
      return id
    }

    mutating func create() throws {
      let request = "r\(now.wholeSeconds)"
      intents[request] = ChannelIntent(
        requestID: request, storage: .mostRecent, trip: nil, askedAt: now)
      switch dice.roll(0..<5) {
      case 0: break  // never reached APNs
      case 1: ours.insert(try make())  // the answer was lost
      case 2: intents[request] = nil  // refused
      default:
        let id = try make()
        ours.insert(id)
        books[id] = KnownChannel(id, .warm, createdAt: now)
        intents[request] = nil
      }
    }

    mutating func deleteSomething() {
      guard let known = books.values.sorted(by: { $0.id < $1.id }).randomElement(using: &dice)
      else { return }
      atAPNs.remove(known.id)
      let isRecorded = dice.happens(oneIn: 2)
      books[known.id] =
        isRecorded ? nil : KnownChannel(known.id, .deletion, createdAt: known.createdAt)
    }

    mutating func reconcile() {
      let found = Reconciliation(
        listing: ChannelListing(askedAt: now, channels: atAPNs), known: Array(books.values),
        intents: Array(intents.values), previous: seen)
      #expect((found.lost + found.alreadyDeleted).allSatisfy { !atAPNs.contains($0.id) })
      for gone in found.lost + found.alreadyDeleted { books[gone.id] = nil }
      for resolved in found.resolved { intents[resolved.intent.requestID] = nil }
      seen = found.seen
      reported = Set(found.orphans + found.undecided)
    }
  }

  @Test(arguments: 0..<150 as Range<UInt64>)
  func `never takes what is foreign, and leaves nothing of ours unaccounted`(
    seed: UInt64
  ) throws {
    var world = World(seed: seed)
    world.reconcile()
    for _ in 0..<200 { try world.step() }
    world.now = world.now + .seconds(3_600)
    world.reconcile()
    #expect(world.theirs.isDisjoint(with: world.books.keys))
    #expect(world.intents.isEmpty)
    let accounted = world.reported.union(world.books.keys)
    #expect(world.ours.intersection(world.atAPNs).isSubset(of: accounted))
  }
}
