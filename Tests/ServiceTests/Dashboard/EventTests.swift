import FieldTrips
import FieldcastServer
import Foundation
import HTTP
import JSON
import Testing
import Transport

@Suite struct `What is told by events` {
  @Test func `is the whole at first, and what changes from then on`() async throws {
    try await World.with { world in
      try await world.withService { caller in
        let trip = try await caller.createTrip()
        let join = #"{"member":"anna","osVersion":"18.2"}"#
        _ = try await caller.call("POST", "/v1/trips/\(trip.id)/members", join)
        try await EventListener.listen(to: caller, "trip=\(trip.id)", on: world.loop) { listener in
          let hello = try await listener.event("hello")
          #expect(hello["node"]?.string == "test")
          #expect(hello["refused"]?.array?.isEmpty == true)
          let trips = try await listener.event("trips", "the trip is in the list") {
            $0["trips"]?[0]?["trip"]?.string == trip.id && $0["complete"]?.bool == true
          }
          #expect(trips["trips"]?[0]?["members"]?["channel"]?.int64 == 1)
          #expect(trips["totals"]?["live"]?.int64 == 1)
          let nodes = try await listener.event("nodes")
          #expect(nodes["nodes"]?[0]?["partitions"]?.int64 == 256)
          #expect(nodes["owners"]?.array?.count == 256)
          let health = try await listener.event("health")
          #expect(health["nodes"]?[0]?["report"]?["redis"]?["connected"]?.bool == true)
          let channels = try await listener.event("channels")
          #expect(channels["apps"]?[0]?["trips"]?.int64 == 1)
          #expect(try await listener.event("deadLetters")["count"]?.int64 == 0)

          try await world.waitForBroadcast(on: trip.channelID, notes: 0)
          let first = try await listener.event("trip", "the first state is accepted") {
            $0["shown"]?["revision"]?.int64 == 1
          }
          #expect(first["shown"]?["state"]?["notesCaptured"]?.int64 == 0)
          #expect(first["node"]?.string == "test")
          // A note that does not wait.
          _ = try await caller.call(
            "POST", "/v1/trips/\(trip.id)/notes", #"{"id":"n1","significant":true}"#)
          let shown = try await listener.event("trip", "phones show the note") {
            $0["shown"]?["state"]?["notesCaptured"]?.int64 == 1
          }
          #expect(shown["sends"]?.array?.last?["triggers"]?["kept"]?[0]?[0]?.string == "n1")
          #expect((shown["budget"]?["capacity"]?.int64 ?? 0) > 1)
          try await listener.event("trips", "the list shows the new revision") {
            $0["trips"]?[0]?["published"]?.int64 == 2
          }
          try await caller.add(toStream: "no JSON")
          let letters = try await listener.event("deadLetters", "the letter is there") {
            $0["count"]?.int64 == 1
          }
          #expect(letters["letters"]?[0]?["excerpt"]?.string == "no JSON")
          #expect(letters["letters"]?[0]?["door"]?.string == "stream")
        }
      }
    }
  }

  @Test func `shows the card that phones have, not the one that waits`() async throws {
    try await World.with { world in
      func fewTokens(_ configuration: inout ServiceConfiguration) {
        configuration.policy.budgetPerHour = 1
        configuration.policy.burst = 2
        configuration.policy.isTailOn = false
      }
      try await world.withService(fewTokens) { caller in
        let trip = try await caller.createTrip()
        try await world.waitForBroadcast(on: trip.channelID, notes: 0)
        for number in 1...2 {
          let note = #"{"id":"n\#(number)","significant":true}"#
          _ = try await caller.call("POST", "/v1/trips/\(trip.id)/notes", note)
          try await world.waitForBroadcast(on: trip.channelID, notes: Int64(number))
        }
        _ = try await caller.call("POST", "/v1/trips/\(trip.id)/notes", #"{"id":"waits"}"#)
        try await EventListener.listen(
          to: caller, "show=trip,trips&trip=\(trip.id)", on: world.loop
        ) { listener in
          let page = try await listener.event("trip", "a note waits") {
            $0["waiting"]?.int64 == 1
          }
          #expect(page["contentState"]?["notesCaptured"]?.int64 == 3)
          #expect(page["shown"]?["state"]?["notesCaptured"]?.int64 == 2)
          #expect(page["waitingTriggers"]?["kept"]?[0]?[0]?.string == "waits")
          try await listener.event("trips", "the list says so too") {
            $0["totals"]?["behind"]?.int64 == 1 && $0["trips"]?[0]?["waiting"]?.int64 == 1
          }
          _ = try await caller.call("POST", "/v1/trips/\(trip.id)/end")
          let over = try await listener.event("trip", "the trip is over") {
            $0["phase"]?.string == "ended"
          }
          // The end carries the last state, and the card stays for a minute.
          #expect(over["shown"]?["state"]?["notesCaptured"]?.int64 == 3)
          let (ended, gone) = (over["endedAt"]?.int64 ?? 0, over["goneAt"]?.int64 ?? 0)
          #expect(gone - ended == 60_000)
          #expect(over["sends"]?.array?.last?["end"]?.bool == true)
        }
      }
    }
  }

  @Test func `is what a token allows`() async throws {
    let (app, operations, field) = (AccessToken(), AccessToken(), AccessToken())
    let list = try AccessList(
      parsing: """
        \(app.entry(name: "app", scopes: [.trips]))
        \(operations.entry(name: "operations", scopes: [.admin]))
        \(field.entry(name: "field", scopes: [.notes]))
        """)
    try await World.with { world in
      try await world.withService({ $0.access = list }) { caller in
        #expect(try await caller.call("GET", "/v1/events").status == 401)
        let fields: HTTPFields = ["authorization": "Bearer \(field.text)"]
        #expect(try await caller.call("GET", "/v1/events", fields: fields).status == 403)
        // Not in an address, which ends up in logs.
        let path = "/v1/events?access_token=\(app.text)&token=\(app.text)"
        #expect(try await caller.call("GET", path).status == 401)
        let cases = [
          (app, "trips", ["channels", "deadLetters", "health", "nodes"]),
          (operations, "health", ["trips"]),
        ]
        for (token, told, refused) in cases {
          try await EventListener.listen(
            to: caller, "", fields: ["authorization": "Bearer \(token.text)"], on: world.loop
          ) { listener in
            let hello = try await listener.event("hello")
            #expect(hello["refused"]?.array?.compactMap(\.string) == refused)
            try await listener.event(told)
            try await listener.event("store")
            #expect(Set(listener.events.map(\.name)).isDisjoint(with: refused))
          }
        }
        // The page itself holds nothing, so that it can ask for the token.
        #expect(try await caller.call("GET", "/").status == 200)
      }
    }
  }

  @Test func `names what it does not know`() async throws {
    try await World.with { world in
      try await world.withService { caller in
        for (query, words) in [
          ("show=trips,weather", "not weather"), ("phase=over", "not over"),
          ("limit=0", "1 to 200"), ("trip=x", "/trip"),
        ] {
          let answer = try await caller.call("GET", "/v1/events?" + query)
          #expect(answer.status == 400, "\(query)")
          #expect(answer.body["detail"]?.string?.contains(words) == true, "\(answer.text)")
        }
        let none = "00000000-0000-4000-8000-000000000000"
        try await EventListener.listen(to: caller, "show=trip&trip=\(none)", on: world.loop) {
          let page = try await $0.event("trip")
          #expect(page["unknown"]?.bool == true)
        }
      }
    }
  }

  @Test func `finds trips by words, phase and number`() async throws {
    try await World.with { world in
      try await world.withService { caller in
        for name in ["Rock pools", "Rock garden", "Dunes"] {
          _ = try await caller.createTrip(#"{"name":"\#(name)","notebook":"Birds"}"#)
        }
        let ended = try await caller.createTrip()
        _ = try await caller.call("POST", "/v1/trips/\(ended.id)/end")
        for (query, matching, names) in [
          ("search=ROCK", 2, ["Rock garden", "Rock pools"]), ("phase=ended", 1, ["Spring walk"]),
          ("search=dunes&phase=ended", 0, []), ("search=birds&limit=1&phase=live", 3, ["Dunes"]),
          ("search=\(ended.id.prefix(8))", 1, ["Spring walk"]),
        ] {
          try await EventListener.listen(to: caller, "show=trips&" + query, on: world.loop) {
            let trips = try await $0.event("trips", "\(query) finds \(names)") {
              $0["complete"]?.bool == true && $0["matching"]?.int64 == Int64(matching)
                && $0["trips"]?.array?.compactMap { $0["name"]?.string } == names
            }
            #expect(trips["known"]?.int64 == 4)
          }
        }
      }
    }
  }

  @Test func `comes from any node, also of trips that another one owns`() async throws {
    try await World.with { world in
      try await world.withService({ $0.node = "owner" }) { caller in
        let trip = try await caller.createTrip()
        try await world.waitForBroadcast(on: trip.channelID, notes: 0)
        // Its lease on every partition is renewed, and nobody else counts it as its share.
        try await world.withService({ $0.node = "watcher" }) { watcher in
          let query = "show=trip,nodes,health&trip=\(trip.id)"
          try await EventListener.listen(to: watcher, query, on: world.loop) { listener in
            #expect(try await listener.event("hello")["node"]?.string == "watcher")
            let nodes = try await listener.event("nodes", "both are there and share") {
              $0["nodes"]?.array?.count == 2
                && $0["nodes"]?.array?.allSatisfy { ($0["partitions"]?.int64 ?? 0) > 0 } == true
            }
            #expect(nodes["owners"]?.array?.allSatisfy { $0.int64 == 0 || $0.int64 == 1 } == true)
            try await listener.event("health", "the other one has reported") {
              $0["nodes"]?.array?.count == 2
                && $0["nodes"]?.array?.allSatisfy { $0["report"]?["apns"] != nil } == true
            }
            let page = try await listener.event("trip")
            #expect(page["shown"]?["revision"]?.int64 == 1)
          }
        }
      }
    }
  }

  @Test func `ends at once when the service stops, and says so`() async throws {
    try await World.with { world in
      let loop = try EventLoop(name: "stopping")
      defer { loop.stop() }
      let service = try await Service.start(
        try world.serviceConfiguration(), log: .silent, on: loop)
      let running = Task(executorPreference: loop.tasks) { await service.run() }
      let caller = TestCaller(port: service.port, redis: world.redis, loop: world.loop)
      try await EventListener.listen(to: caller, "show=trips", on: world.loop) { listener in
        try await listener.event("trips")
        await service.drain()
        await running.value
        try await listener.waitUntilOver()
        #expect(listener.events.last?.name == "bye")
        #expect(listener.events.last?.data["ending"]?.string == "shutdown")
      }
      await caller.close()
    }
  }

  @Test func `comes to HTTP/2 clients by HTTP/1.1, which they fall back to`() async throws {
    let curl = try #require(Subprocess.executable(named: "curl"))
    try await World.with { world in
      try await world.withService { caller in
        guard case .tcp(_, let port) = caller.endpoint else { return }
        let output = world.folder.appendingPathComponent("events.txt")
        let process = try await Subprocess.start(
          curl,
          arguments: [
            "-sN", "--http2", "--max-time", "30", "http://127.0.0.1:\(port)/v1/events?show=trips",
          ], outputPath: output.path, on: world.loop)
        try await world.waitUntil("curl has the trips") {
          (try? String(contentsOf: output, encoding: .utf8))?.contains("event: trips\n") == true
        }
        process.terminate()
        _ = await process.waitForExit()
      }
    }
  }
}
