import Clocks
import FieldTrips
import HTTP
import JSON
import Randomness
import Testing
import Transport
import TripStore

@testable import FieldcastServer

@Suite struct `The dashboard's list of trips` {
  private let start = UnixTime(wholeSeconds: 1_700_000_000)

  private func glance(
    _ name: String, at second: Int64, changed: Int64? = nil, revision: Int64 = 1,
    published: Int64 = 1, members: [Reach: Int] = [:], phase: TripPhase = .live,
    channel: TripChannel = .unavailable
  ) -> TripGlance {
    TripGlance(
      name: name, notebook: nil, typeName: "field-trip", revision: Revision(revision),
      publishedRevision: Revision(published), changedAt: changed.map { start + .seconds($0) },
      life: TripLife(
        phase: phase, channel: channel, times: TripTimes(createdAt: start + .seconds(second))),
      memberCounts: members)
  }

  private func wish(_ items: [String: String] = [:]) throws -> EventWish {
    try EventWish(
      QueryItems(items.map { QueryItems.Item(name: $0.key, value: $0.value) }),
      scopes: Set(AccessScope.allCases))
  }

  private func ranking(_ index: TripIndex, _ wish: EventWish) throws -> TripRanking {
    var index = index
    index.rank([wish.filter], atMost: 1)
    return try #require(index.ranking(wish.filter))
  }

  private func names(_ index: TripIndex, _ wish: EventWish) throws -> [String] {
    try ranking(index, wish).newest(wish.limit).compactMap { index.rows[$0]?.glance?.name }
  }

  @Test func `has those first that moved last, and no more than are wanted`() throws {
    var index = TripIndex()
    for number in 0..<300 {
      // Not in their order.
      let second = Int64(number * 7 % 300)
      index.note(.glance(glance("trip \(second)", at: second)), of: .random())
    }
    index.note(.glance(glance("old and busy", at: -100, changed: 1_000)), of: .random())
    let ended = TripPhase.ended(at: start + .seconds(900))
    index.note(.glance(glance("over", at: -50, phase: ended)), of: .random())
    let found = try names(index, try wish(["limit": "5"]))
    #expect(found == ["old and busy", "over", "trip 299", "trip 298", "trip 297"])
    #expect(try ranking(index, try wish(["limit": "5"])).matching == 302)
    #expect(try names(index, try wish(["search": "TRIP 29", "limit": "3"])).last == "trip 297")
    #expect(try ranking(index, try wish(["search": "trip 29"])).matching == 11)
    #expect(try names(index, try wish(["phase": "ended"])) == ["over"])
    #expect(try names(index, try wish(["phase": "scheduled"])) == [])
  }

  @Test func `forgets what none of a turn's pages had`() throws {
    var index = TripIndex()
    let (stays, goes, named) = (TripID.random(), TripID.random(), TripID.random())
    for id in [stays, goes] { index.note(.glance(glance("\(id)", at: 0)), of: id) }
    #expect(!index.isComplete)
    index.finishTurn()
    #expect(index.isComplete && index.rows.count == 2)
    index.note(.glance(glance("\(stays)", at: 0)), of: stays)
    index.note(nil, of: named)
    index.finishTurn()
    #expect(Array(index.rows.keys) == [stays])
  }

  @Test func `adds up what is live`() throws {
    var index = TripIndex()
    index.note(
      .glance(glance("a", at: 0, revision: 5, published: 2, members: [.channel: 3, .none: 1])),
      of: .random())
    // Its first state is what members join with: it waits for nothing.
    index.note(.glance(glance("b", at: 0, published: 0, members: [.channel: 4])), of: .random())
    let channel = try ChannelID("7KHukNj/bA/ejndNitauFw==")
    index.note(
      .glance(
        glance(
          "c", at: 0, revision: 9, published: 2, members: [.updateToken: 7],
          phase: .ended(at: start), channel: .deletionDue(channel, at: start + .seconds(60)))),
      of: .random())
    let totals = index.totals
    #expect(totals.phases == ["live": 2, "ended": 1])
    #expect(totals.members == [.channel: 7, .none: 1])
    #expect(totals.behind == 1 && totals.withoutChannel == 2)
    #expect(totals.deletions == 1 && totals.nextDeletion == start + .seconds(60))
    let event = try JSONValue.parse(index.written(try ranking(index, try wish()), limit: 50))
    #expect(event["totals"]?["members"]?["channel"]?.int64 == 7)
    let waiting = event["trips"]?.array?.map { $0["waiting"]?.int64 ?? -1 }
    #expect(waiting?.sorted() == [0, 0, 3])
    // APNs never took what the third one ended with.
    let final = event["trips"]?.array?.compactMap { $0["finalAccepted"]?.bool }
    #expect(final == [false])
  }

  @Test func `shows a trip that cannot be read as such, and the others`() throws {
    var index = TripIndex()
    let (bad, good) = (TripID.random(), TripID.random())
    index.note(.glance(glance("good", at: 0)), of: good)
    index.note(.unreadable("It has no valid life."), of: bad)
    #expect(index.totals.unreadable == 1 && index.totals.phases == ["live": 1])
    let event = try JSONValue.parse(index.written(try ranking(index, try wish()), limit: 50))
    #expect(event["totals"]?["unreadable"]?.int64 == 1)
    #expect(event["trips"]?[1]?["unreadable"]?.string == "It has no valid life.")
    #expect(event["trips"]?[1]?["trip"]?.string == bad.text)
    #expect(try ranking(index, try wish(["search": bad.text])).matching == 1)
    #expect(try ranking(index, try wish(["phase": "live"])).newest(9) == [good])
    // Once it can be read again it is as any other.
    index.note(.glance(glance("read", at: 5)), of: bad)
    #expect(index.totals.unreadable == 0 && index.totals.phases == ["live": 2])
    #expect(try names(index, try wish()) == ["read", "good"])
  }

  @Test(arguments: [1, 2, 3] as [UInt64])
  func `follows each change as if all trips were gone through`(seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    let phases: [TripPhase] = [.live, .scheduled, .ended(at: start), .ending(since: start)]
    let wishes = try [
      wish(), wish(["phase": "live"]), wish(["search": "trip 1"]), wish(["limit": "200"]),
    ]
    // More than a ranking keeps.
    let ids = (0..<TripRanking.depth * 2).map { _ in TripID(using: &random) }
    var index = TripIndex()
    func change(_ random: inout SplitMix64) {
      let number = Int.random(in: 0..<ids.count, using: &random)
      let gone = Int.random(in: 0..<8, using: &random) == 0
      let changed = glance(
        "trip \(number)", at: Int64(number),
        changed: Int64.random(in: 0..<5_000, using: &random), revision: 3,
        published: Int64.random(in: 1...3, using: &random), members: [.channel: number % 5],
        phase: phases[Int.random(in: 0..<phases.count, using: &random)])
      index.note(gone ? nil : .glance(changed), of: ids[number])
    }
    for _ in 0..<1_000 { change(&random) }
    index.rank(Set(wishes.map(\.filter)), atMost: wishes.count)
    for round in 0..<8 {
      for _ in 0..<100 { change(&random) }
      // A turn goes through all of them, and so repairs what was left out.
      for (id, row) in index.rows { index.note(row.content, of: id) }
      index.finishTurn()
      var whole = TripIndex()
      for (id, row) in index.rows { whole.note(row.content, of: id) }
      #expect(index.totals == whole.totals.filled(like: index.totals), "\(round)")
      for wish in wishes {
        let (kept, made) = (index.ranking(wish.filter), try ranking(whole, wish))
        #expect(kept?.matching == made.matching, "\(round) \(wish)")
        #expect(kept?.newest(wish.limit) == made.newest(wish.limit), "\(round) \(wish)")
      }
    }
  }

  @Test func `says by one rule, in the list and on the page, how far phones are behind`() throws {
    func told(_ phase: TripPhase, _ revision: Int64, _ published: Int64) throws -> JSONValue {
      var writer = JSONWriter()
      writer.object {
        TripFreshness(
          phase: phase, revision: Revision(revision), published: Revision(published)
        ).write(to: &$0)
      }
      return try JSONValue.parse(writer.finish())
    }
    // Members join with the first state, so nobody waits for it.
    #expect(try told(.live, 1, 0)["waiting"]?.int64 == 0)
    #expect(try told(.live, 3, 0)["waiting"]?.int64 == 2)
    #expect(try told(.live, 3, 2)["finalAccepted"] == nil)
    #expect(try told(.ended(at: start), 3, 3)["finalAccepted"]?.bool == true)
    #expect(try told(.ended(at: start), 3, 2)["finalAccepted"]?.bool == false)
    #expect(try told(.ended(at: start), 1, 0)["finalAccepted"]?.bool == false)
  }

  @Test func `reads no more trips on screens at once than it may, and all of them in time`() {
    var list = TripList()
    let few = Set((0..<10).map { _ in TripID.random() })
    #expect(Set(list.next(of: few)) == few)
    let many = Set((0..<TripList.mostShown * 3).map { _ in TripID.random() })
    var seen: Set<TripID> = []
    for _ in 0..<4 {
      let next = list.next(of: many)
      #expect(Set(next).count == TripList.mostShown)
      seen.formUnion(next)
    }
    #expect(seen == many)
  }

  @Test func `reads no more pages at once than it may, and all of them in time`() {
    let trips = Set((0..<20).map { _ in TripID.random() })
    let start = MonotonicClock.now()
    var readAt: [TripID: Moment] = [:]
    for look in 0..<3 {
      let next = Dashboard.nextPages(of: trips, readAt: readAt)
      #expect(next.count == 8)
      for trip in next { readAt[trip] = start + .seconds(look) }
    }
    #expect(Set(readAt.keys) == trips)
  }

  @Test func `goes through all trips for a few new searches at once, and for all in time`() {
    var index = TripIndex()
    index.note(.glance(glance("walk", at: 0)), of: .random())
    let filters = Set((0..<6).map { TripFilter(search: Array("\($0)".utf8)) })
    for made in [4, 6] {
      index.rank(filters, atMost: 4)
      #expect(filters.count { index.ranking($0) != nil } == made)
    }
  }

  @Test func `is asked for by words that are known`() throws {
    let all = try wish()
    #expect(all.parts == Set(EventWish.Part.allCases).subtracting([.trip]))
    #expect(all.refused.isEmpty && all.limit == 50 && all.filter == TripFilter())
    let some = try EventWish(
      QueryItems([.init(name: "show", value: "trips,nodes")]), scopes: [.trips, .notes])
    #expect(some.parts == [.trips] && some.refused == [.nodes])
    for (name, value) in [("show", "trips,x"), ("phase", "x"), ("limit", "201"), ("trip", "x")] {
      #expect(throws: Refusal.self, "\(name)") { try wish([name: value]) }
    }
    #expect(try wish(["show": "trip"]).parts.isEmpty, "no trip is named")
  }
}

extension TripIndex.Totals {
  /// With a zero for each phase and reach that others have: what fell to none is still counted.
  fileprivate func filled(like other: Self) -> Self {
    var filled = self
    for name in other.phases.keys { filled.phases[name, default: 0] += 0 }
    for reach in other.members.keys { filled.members[reach, default: 0] += 0 }
    return filled
  }
}

@Suite struct `A histogram of times` {
  @Test func `tells a quantile's upper bound, also of what came lately`() {
    var histogram = TimeHistogram()
    #expect(histogram.quantile(0.5) == nil)
    for _ in 0..<98 { histogram.record(.milliseconds(4)) }
    histogram.record(.milliseconds(40))
    let before = histogram
    histogram.record(.seconds(500))
    #expect(histogram.quantile(0.5) == 0.005)
    #expect(histogram.quantile(0.99) == 0.05)
    #expect(histogram.quantile(1) == nil, "it is beyond all steps")
    histogram.record(.seconds(2))
    let lately = histogram.since(before)
    #expect(lately.count == 2 && lately.quantile(0.5) == 2.5)
  }
}
