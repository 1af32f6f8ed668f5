import Clocks
import FieldTrips
import HTTP
import JSON
import Testing
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

  private func names(_ index: TripIndex, _ wish: EventWish) -> [String] {
    index.newest(for: wish).ids.compactMap { index.rows[$0]?.glance.name }
  }

  @Test func `has those first that moved last, and no more than are wanted`() throws {
    var index = TripIndex()
    for number in 0..<300 {
      // Not in their order.
      let second = Int64(number * 7 % 300)
      index.note(glance("trip \(second)", at: second), of: .random())
    }
    index.note(glance("old and busy", at: -100, changed: 1_000), of: .random())
    let ended = TripPhase.ended(at: start + .seconds(900))
    index.note(glance("over", at: -50, phase: ended), of: .random())
    let found = names(index, try wish(["limit": "5"]))
    #expect(found == ["old and busy", "over", "trip 299", "trip 298", "trip 297"])
    #expect(index.newest(for: try wish(["limit": "5"])).matching == 302)
    #expect(names(index, try wish(["search": "TRIP 29", "limit": "3"])).last == "trip 297")
    #expect(index.newest(for: try wish(["search": "trip 29"])).matching == 11)
    #expect(names(index, try wish(["phase": "ended"])) == ["over"])
    #expect(names(index, try wish(["phase": "scheduled"])) == [])
  }

  @Test func `forgets what none of a turn's pages had`() throws {
    var index = TripIndex()
    let (stays, goes, named) = (TripID.random(), TripID.random(), TripID.random())
    for id in [stays, goes] { index.note(glance("\(id)", at: 0), of: id) }
    #expect(!index.isComplete)
    index.finishTurn()
    #expect(index.isComplete && index.rows.count == 2)
    index.note(glance("\(stays)", at: 0), of: stays)
    index.note(nil, of: named)
    index.finishTurn()
    #expect(Array(index.rows.keys) == [stays])
  }

  @Test func `adds up what is live`() throws {
    var index = TripIndex()
    index.note(
      glance("a", at: 0, revision: 5, published: 2, members: [.channel: 3, .none: 1]), of: .random()
    )
    // Its first state is what members join with: it waits for nothing.
    index.note(glance("b", at: 0, published: 0, members: [.channel: 4]), of: .random())
    let channel = try ChannelID("7KHukNj/bA/ejndNitauFw==")
    index.note(
      glance(
        "c", at: 0, revision: 9, published: 2, members: [.updateToken: 7],
        phase: .ended(at: start), channel: .deletionDue(channel, at: start + .seconds(60))),
      of: .random())
    let totals = index.totals
    #expect(totals.phases == ["live": 2, "ended": 1])
    #expect(totals.members == [.channel: 7, .none: 1])
    #expect(totals.behind == 1 && totals.withoutChannel == 2)
    #expect(totals.deletions == 1 && totals.nextDeletion == start + .seconds(60))
    let event = try JSONValue.parse(index.written(index.newest(for: try wish()), totals))
    #expect(event["totals"]?["members"]?["channel"]?.int64 == 7)
    let waiting = event["trips"]?.array?.map { $0["waiting"]?.int64 ?? -1 }
    #expect(waiting?.sorted() == [0, 0, 3])
  }

  @Test func `is asked for by words that are known`() throws {
    let all = try wish()
    #expect(all.parts == Set(EventWish.Part.allCases).subtracting([.trip]))
    #expect(all.refused.isEmpty && all.limit == 50)
    let some = try EventWish(
      QueryItems([.init(name: "show", value: "trips,nodes")]), scopes: [.trips, .notes])
    #expect(some.parts == [.trips] && some.refused == [.nodes])
    for (name, value) in [("show", "trips,x"), ("phase", "x"), ("limit", "201"), ("trip", "x")] {
      #expect(throws: Refusal.self, "\(name)") { try wish([name: value]) }
    }
    #expect(try wish(["show": "trip"]).parts.isEmpty, "no trip is named")
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
