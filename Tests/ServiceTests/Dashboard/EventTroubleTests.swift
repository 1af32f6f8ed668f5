import Clocks
import FieldTrips
import Foundation
import HTTP
import JSON
import Redis
import Testing
import Transport

@testable import FieldcastServer
@testable import TripStore

@Suite struct `What is told by events while something is wrong` {
  /// A Redis of the test's own, so that it can be taken away.
  private func withRedis(
    _ world: World, _ body: (PrivateRedisServer, TestCaller) async throws -> Void
  ) async throws {
    let server = try await PrivateRedisServer.start(.temporary(), on: world.loop)
    func change(_ configuration: inout ServiceConfiguration) {
      configuration.store = .url("unix://\(server.options.socketPath)", trustFile: nil)
      configuration.grace = .milliseconds(500)
    }
    do {
      try await world.withService(change) { try await body(server, $0) }
    } catch {
      await server.stop()
      throw error
    }
    await server.stop()
  }

  @Test func `fails for each part by itself, and health tells at once`() async throws {
    try await World.with { world in
      try await withRedis(world) { server, caller in
        try await EventListener.listen(to: caller, "", on: world.loop) { listener in
          let own = try await listener.event("health", "Redis is there") {
            $0["nodes"]?[0]?["report"]?["redis"]?["connected"]?.bool == true
          }
          #expect(own["problem"] == nil)
          try await listener.event("store", "nothing is wrong") { $0["reason"]?.string == "" }
          server.process.signal(SIGKILL)
          let health = try await listener.event("health", "Redis is away") {
            $0["nodes"]?[0]?["report"]?["redis"]?["connected"]?.bool == false
          }
          #expect(health["problem"]?.string?.isEmpty == false)
          #expect(health["nodes"]?[0]?["isHere"]?.bool == true)
          let store = try await listener.event("store", "it says which parts are old") {
            $0["parts"]?.array?.count == 4
          }
          #expect(
            store["parts"]?.array?.compactMap(\.string)
              == ["channels", "deadLetters", "nodes", "trips"])
          #expect(store["reason"]?.string?.isEmpty == false)
        }
      }
    }
  }

  @Test(.enabled(if: Browser.program != nil, Browser.isMissing))
  func `is red on the page, and not the last that was good`() async throws {
    try await World.with { world in
      try await withRedis(world) { server, caller in
        guard case .tcp(_, let port) = caller.endpoint else { return }
        try await Browser.open("http://127.0.0.1:\(port)/#/health", in: world) { browser in
          try await browser.waitForText("the connection was never lost")
          server.process.signal(SIGKILL)
          try await browser.waitForText("Not reachable.")
          try await browser.waitForText("Other nodes’ reports cannot be read")
          try await browser.picture("health-red")
        }
      }
    }
  }

  @Test func `is all but the trip that this program cannot read`() async throws {
    try await World.with { world in
      try await world.withService { caller in
        let (good, bad) = (try await caller.createTrip(), try await caller.createTrip())
        try await world.waitForBroadcast(on: bad.channelID, notes: 0)
        let id = try TripID(bad.id)
        let key = "fc:{\(Partition(of: id, count: Partition.defaultCount))}:trip:\(bad.id)"
        _ = try await caller.redis.call(RedisCommand("HSET", key, "life", "in another format"))
        try await EventListener.listen(
          to: caller, "show=trips,trip&trip=\(bad.id)", on: world.loop
        ) { listener in
          let trips = try await listener.event("trips", "both are there") {
            $0["trips"]?.array?.count == 2
          }
          #expect(trips["trips"]?[0]?["trip"]?.string == good.id)
          #expect(trips["trips"]?[0]?["phase"]?.string == "live")
          #expect(trips["trips"]?[1]?["trip"]?.string == bad.id)
          #expect(trips["trips"]?[1]?["unreadable"]?.string?.contains("life") == true)
          #expect(trips["totals"]?["unreadable"]?.int64 == 1)
          let page = try await listener.event("trip")
          #expect(page["unreadable"]?.string?.contains("life") == true)
          #expect(try await listener.event("store")["reason"]?.string == "")
        }
      }
    }
  }

  @Test func `is the same while nothing happens, though a change waits`() throws {
    let start = UnixTime(wholeSeconds: 1_716_638_400)
    let id = TripID.random()
    var note = TriggerNotes()
    note.add(
      TriggerNote(
        id: "n1", kind: "note", acceptedAt: start, committedAt: start, revision: Revision(3),
        verdict: .changed))
    let record = TripRecord(
      id: id,
      definition: TripDefinition(
        app: try AppID(bundleID: "com.example.walks", environment: .development),
        typeName: "field-trip", name: "Spring walk", notebook: nil, attributes: Array("{}".utf8),
        storagePolicy: .mostRecent),
      contentState: Array(#"{"notesCaptured":2}"#.utf8), mapperMemory: [], revision: Revision(3),
      publishedRevision: Revision(2), lastTimestampSeconds: start.wholeSeconds,
      life: TripLife(
        phase: .live, channel: .unavailable, times: TripTimes(createdAt: start)),
      isClosing: false, memberCounts: [:], waiting: [])
    func page(after span: Duration) -> String {
      let timeline = TripTimeline(
        record: record, type: nil, sends: [],
        present: TripTimeline.Present(
          waiting: note, hold: .budget, until: start + .seconds(600), isQueued: false),
        now: start + span)
      let page = TripPage(
        timeline: timeline, policy: PublishingPolicy(), node: "a", partition: Partition(number: 0))
      return String(decoding: page.written(), as: UTF8.self)
    }
    #expect(page(after: .seconds(1)) == page(after: .seconds(90)))
    #expect(page(after: .zero).contains("the oldest since 12:00:00"))
  }

  @Test func `leaves room for other callers`() async throws {
    let (one, other) = (AccessToken(), AccessToken())
    let list = try AccessList(
      parsing: """
        \(one.entry(name: "one", scopes: [.admin]))
        \(other.entry(name: "other", scopes: [.admin]))
        """)
    try await World.with { world in
      try await world.withService({ $0.access = list }) { caller in
        func fields(_ token: AccessToken) -> HTTPFields {
          ["authorization": "Bearer \(token.text)"]
        }
        func crowd(_ count: Int, _ body: () async throws -> Void) async throws {
          guard count > 0 else { return try await body() }
          try await EventListener.listen(
            to: caller, "show=deadLetters", fields: fields(one), on: world.loop
          ) {
            try await $0.event("hello")
            try await crowd(count - 1, body)
          }
        }
        try await crowd(16) {
          let path = "/v1/events?show=deadLetters"
          let refused = try await caller.call("GET", path, fields: fields(one))
          #expect(refused.status == 503 && refused.problem == "too-many-listeners")
          #expect(refused.body["detail"]?.string?.contains("16") == true)
          try await EventListener.listen(
            to: caller, "show=deadLetters", fields: fields(other), on: world.loop
          ) { try await $0.event("deadLetters") }
        }
        // Whoever left makes room.
        try await crowd(1) {}
      }
    }
  }

  @Test func `is told of the longest IDs too`() async throws {
    let long = String(repeating: "é", count: 60)
    #expect(TripPage.shortened("short") == "short")
    #expect(TripPage.shortened(long) == String(repeating: "é", count: 20) + "…")
    var notes = TriggerNotes()
    let at = UnixTime(wholeSeconds: 1_700_000_000)
    for number in 0..<TriggerNotes.mostKept {
      notes.add(
        TriggerNote(
          id: String(repeating: "\"", count: 120) + "\(number)", kind: "note", acceptedAt: at,
          committedAt: at, revision: Revision(1), verdict: .changed))
    }
    var writer = JSONWriter()
    TripPage.write(notes, to: &writer)
    let bytes = writer.finish().count * TripStore.timelineLimit
    #expect(bytes < 200_000, "so many are on a page at most")
  }
}
