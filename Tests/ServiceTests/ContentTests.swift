import APNsSimulator
import Clocks
import FieldTrips
import FieldcastServer
import Foundation
import HTTP
import JSON
import Synchronization
import Testing
import TripStore

/// The texts of a phone's notifications.
private func bodies(_ phone: AlertPhone, _ world: World) async throws -> [String] {
  try await phone.shown(world).map {
    try JSONValue.parse($0.body)["aps"]?["alert"]?["body"]?.string ?? ""
  }
}

private func request(_ site: ContentSite, host: String = "notes.test", sendAt: UnixTime) -> String {
  #"""
  {"to":{"member":"ada"},"alert":{"title":"Notes","body":"There may be news"},
   "sendAt":\#(sendAt.wholeSeconds),"source":{"name":"birds",
   "url":"https://\#(host):\#(site.port)/notes?book=1",
   "several":{"body":"{count} new notes, last: {last.body}"}}}
  """#
}

@Suite struct `Content of a notification` {
  @Test func `is fetched ahead, page by page, from where it was told last`() async throws {
    try await World.with { world in
      try await ContentSite.run(in: world) { request, _ in
        switch request.path {
        case "/notes?book=1&limit=100":
          ContentSite.page(["A wren", "A jay"], cursor: "2", more: true)
        case "/notes?book=1&after=2&limit=100": ContentSite.page(["A heron"], cursor: "3")
        case "/notes?book=1&after=3&limit=100": ContentSite.page(["An owl"], cursor: "4")
        default: HTTPResponse(status: 404)
        }
      } _: { site in
        try await world.withService {
          site.allow(in: &$0, tokens: ["t1"])
        } _: { caller in
          let phone = try await AlertPhone.add("ada", caller, world)
          let time = world.clock.wall + .seconds(600)
          let id = try await caller.notify(request(site, sendAt: time))
          try await world.waitUntil("it is armed") {
            let read = try await caller.call("GET", "/v1/notifications/\(id)")
            return read.body["state"]?.string == "armed"
          }
          #expect(site.requests.map(\.path).count == 2)
          #expect(world.clock.wall < time, "content is fetched ahead of the time")
          #expect(try await phone.shown(world).isEmpty)
          let outcome = try await caller.outcome(of: id, world)
          #expect(outcome["source"]?["items"]?.int64 == 3)
          #expect(try await bodies(phone, world) == ["3 new notes, last: A heron"])
          // The next one goes on behind what was told.
          let next = try await caller.notify(request(site, sendAt: world.clock.wall))
          _ = try await caller.outcome(of: next, world)
          #expect(
            try await bodies(phone, world) == ["3 new notes, last: A heron", "An owl"])
          #expect(site.requests.count == 3)
          #expect(
            site.requests.allSatisfy { $0.fields["authorization"] == "Bearer t1" })
        }
      }
    }
  }

  @Test func `that nobody was told is told again`() async throws {
    try await World.with { world in
      try await ContentSite.run(in: world) { _, _ in
        ContentSite.page(["A wren"], cursor: "1")
      } _: { site in
        try await world.withService {
          site.allow(in: &$0)
        } _: { caller in
          // Nobody has a device yet, so nothing is accepted.
          let lost = try await caller.notify(request(site, sendAt: world.clock.wall))
          #expect(try await caller.outcome(of: lost, world)["state"]?.string == "failed")
          let phone = try await AlertPhone.add("ada", caller, world)
          let id = try await caller.notify(request(site, sendAt: world.clock.wall))
          _ = try await caller.outcome(of: id, world)
          #expect(try await bodies(phone, world) == ["A wren"])
          #expect(site.requests.allSatisfy { !$0.path.contains("after=") })
        }
      }
    }
  }

  @Test func `that comes late is waited for, and then given up for the fallback`() async throws {
    try await World.with { world in
      try await ContentSite.run(in: world) { _, number in
        number < 3 ? HTTPResponse(status: 503) : ContentSite.page(["A wren"], cursor: "1")
      } _: { site in
        try await world.withService {
          site.allow(in: &$0)
          $0.notifications.slip = .seconds(480)
        } _: { caller in
          let phone = try await AlertPhone.add("ada", caller, world)
          let time = world.clock.wall
          let late = try await caller.notify(request(site, sendAt: time))
          let first = try await caller.outcome(of: late, world)
          #expect(first["source"]?["usesFallback"] == nil)
          #expect(try await bodies(phone, world) == ["A wren"])
          site.answer { _, _ in HTTPResponse(status: 503) }
          let begin = world.clock.wall
          let never = try await caller.notify(request(site, sendAt: begin))
          let second = try await caller.outcome(of: never, world)
          #expect(second["source"]?["usesFallback"]?.bool == true)
          #expect(second["state"]?.string == "sent")
          let shown = try await phone.shown(world)
          #expect(try await bodies(phone, world) == ["A wren", "There may be news"])
          #expect(try #require(shown.last).acceptedAt >= begin + .seconds(479))
        }
      }
    }
  }

  /// A source that takes the request and does not answer, two seconds of this machine's time before
  /// the fallback is due.
  @Test func `is waited for no longer than the fallback's time, though the source is slow`()
    async throws
  {
    try await World.with { world in
      try await ContentSite.run(in: world) { _, _ in
        ContentSite.page(["A wren"], cursor: "1")
      } _: { site in
        site.delay(.seconds(30))
        try await world.withService {
          site.allow(in: &$0)
          $0.notifications.slip = .seconds(120)
        } _: { caller in
          let phone = try await AlertPhone.add("ada", caller, world)
          let begin = world.clock.wall
          let id = try await caller.notify(request(site, sendAt: begin))
          let outcome = try await caller.outcome(of: id, world)
          #expect(outcome["source"]?["usesFallback"]?.bool == true)
          // A page alone is waited for ten seconds, which are ten minutes here.
          let shown = try #require(try await phone.shown(world).last)
          #expect(shown.acceptedAt < begin + .seconds(540))
        }
      }
    }
  }

  /// The node that told somebody died, and nobody went on until the notification's time was over.
  @Test func `that somebody was told is not told again, though its time was over`() async throws {
    try await World.with { world in
      try await ContentSite.run(in: world) { request, _ in
        request.path.contains("after=1")
          ? ContentSite.page([], cursor: "1") : ContentSite.page(["A wren"], cursor: "1")
      } _: { site in
        let now = world.clock.wall
        let text =
          request(site, sendAt: now).dropLast(1)
          + #","expiresAt":\#((now + .seconds(60)).wholeSeconds)}"#
        let wanted = try NotificationRequest.read(Array(text.utf8), now: now)
        let page = try ContentPage.read(Array(#"{"items":[{"body":"A wren"}],"cursor":"1"}"#.utf8))
        let rules = NotificationRules()
        let created = NotificationLife(wanted, at: now, rules: rules)
        var sending = created
        sending.fetched(FetchedContent(page, after: nil), whenEmpty: .skip, at: now)
        _ = sending.wake(at: now, rules: rules)
        let store = TripStore(redis: world.redis)
        let id = NotificationID(home: TripID(randomBytes: .init(repeating: 7)), name: "told")
        _ = try await store.createNotification(
          id, request: wanted.bytes, life: created, limit: 10, at: now)
        for mark in [DeviceMark.sending(attempt: "a"), .accepted] {
          let change = NotificationChange(
            id, from: created, to: sending, marks: [("device", mark)])
          let outcome = try await store.changeNotification(change, owner: nil, at: now)
          #expect(outcome == .changed(granted: [true]))
        }
        try await world.waitUntil("its time is over") {
          world.clock.wall > now + .seconds(60)
        }
        try await world.withService {
          site.allow(in: &$0)
        } _: { caller in
          #expect(try await caller.outcome(of: id.text, world)["state"]?.string == "sent")
          let next = try await caller.notify(request(site, sendAt: world.clock.wall))
          #expect(try await caller.outcome(of: next, world)["state"]?.string == "skipped")
        }
      }
    }
  }

  /// What is fetched before a crash is sent after it, and told to the source once.
  @Test func `survives a node that dies`() async throws {
    try await World.with { world in
      try await ContentSite.run(in: world) { request, _ in
        request.path.contains("after=1")
          ? ContentSite.page([], cursor: "1") : ContentSite.page(["A wren"], cursor: "1")
      } _: { site in
        let file = world.folder.appendingPathComponent("hosts.json")
        let text =
          #"{"hosts":[{"host":"localhost","port":\#(site.port)}],"trustFile":"\#(site.trustFile)","#
          + #""privateAddresses":["127.0.0.1"]}"#
        try Data(text.utf8).write(to: file)
        let program = KilledService(world: world, options: ["--content-hosts", file.path])
        try await program.start()
        let phone = try await AlertPhone.add("ada", program.caller, world)
        let time = world.clock.wall + .seconds(420)
        let id = try await program.caller.notify(request(site, host: "localhost", sendAt: time))
        try await world.waitUntil("it is armed") {
          let read = try await program.caller.call("GET", "/v1/notifications/\(id)")
          return read.body["state"]?.string == "armed"
        }
        try await program.kill()
        try await program.start()
        let outcome = try await program.caller.outcome(of: id, world)
        #expect(outcome["state"]?.string == "sent", "\(outcome)")
        #expect(try await bodies(phone, world) == ["A wren"])
        let next = try await program.caller.notify(
          request(site, host: "localhost", sendAt: world.clock.wall))
        let second = try await program.caller.outcome(of: next, world)
        #expect(second["state"]?.string == "skipped", "\(second)")
        #expect(try await phone.arrived(world) == 1)
        try await program.stop()
      }
    }
  }

  @Test func `is asked for with the next token where one is refused`() async throws {
    try await World.with { world in
      try await ContentSite.run(in: world) { request, _ in
        switch request.fields["authorization"] {
        case "Bearer t1": HTTPResponse(status: 401)
        case "Bearer t2": HTTPResponse(status: 429, fields: ["retry-after": "3600"])
        case "Bearer t3": ContentSite.page(["A wren"], cursor: "1")
        default: HTTPResponse(status: 400)
        }
      } _: { site in
        try await world.withService {
          site.allow(in: &$0, tokens: ["t1", "t2", "t3"])
        } _: { caller in
          let phone = try await AlertPhone.add("ada", caller, world)
          for _ in 0..<2 {
            let id = try await caller.notify(request(site, sendAt: world.clock.wall))
            #expect(try await caller.outcome(of: id, world)["state"]?.string == "sent")
          }
          #expect(try await bodies(phone, world) == ["A wren", "A wren"])
          #expect(
            site.requests.compactMap { $0.fields["authorization"] } == [
              "Bearer t1", "Bearer t2", "Bearer t3", "Bearer t3",
            ])
        }
      }
    }
  }
}

@Suite struct `Content is never fetched` {
  /// Sends one whose content cannot be had, and answers why.
  private func reason(
    _ world: World, _ site: ContentSite,
    _ change: @escaping (inout ServiceConfiguration) -> Void
  ) async throws -> String {
    var reason = ""
    try await world.withService {
      $0.notifications.slip = .seconds(120)
      change(&$0)
    } _: { caller in
      let phone = try await AlertPhone.add("ada", caller, world)
      let id = try await caller.notify(request(site, sendAt: world.clock.wall))
      try await world.waitUntil("a fetch has failed") {
        let read = try await caller.call("GET", "/v1/notifications/\(id)")
        reason = read.body["reason"]?.string ?? reason
        return read.body["finishedAt"] != nil
      }
      #expect(try await bodies(phone, world) == ["There may be news"])
    }
    return reason
  }

  @Test func `from a private address, whatever name it has`() async throws {
    try await World.with { world in
      try await ContentSite.run(in: world) { _, _ in
        ContentSite.page(["A secret"], cursor: "1")
      } _: { site in
        for address in ["127.0.0.1", "::1", "::ffff:127.0.0.1", "169.254.169.254", "10.0.0.1"] {
          let why = try await reason(world, site) {
            site.allow(in: &$0, addresses: []) { _ in [address] }
          }
          #expect(why.contains("is allowed"), "\(address): \(why)")
        }
        #expect(site.requests.isEmpty)
      }
    }
  }

  /// A name that points to a good address when it is looked at, and to a private one when it is
  /// used, is used as it was looked at.
  @Test func `from where a name points only a moment later`() async throws {
    try await World.with { world in
      try await ContentSite.run(in: world) { _, _ in
        ContentSite.page(["A secret"], cursor: "1")
      } _: { site in
        let lookUps = Mutex(0)
        let why = try await reason(world, site) {
          site.allow(in: &$0, addresses: ["127.0.0.9"]) { _ in
            // Nobody listens at the first; the second is where the secret is.
            lookUps.withLock {
              $0 += 1
              return [$0.isMultiple(of: 2) ? "127.0.0.1" : "127.0.0.9"]
            }
          }
        }
        #expect(!why.isEmpty)
        #expect(lookUps.withLock { $0 } >= 2)
        #expect(site.requests.isEmpty)
      }
    }
  }

  @Test func `by a redirect, too large, compressed, or not as it should be`() async throws {
    try await World.with { world in
      let answers: [(HTTPResponse, String)] = [
        (HTTPResponse(status: 302, fields: ["location": "/other"]), "redirects are not followed"),
        (
          HTTPResponse(
            status: 200, fields: ["content-encoding": "gzip"], body: Array("{\"items\":[]}".utf8)),
          "compressed"
        ),
        (HTTPResponse(status: 200, body: [UInt8](repeating: 32, count: 262_145)), "262144"),
        (HTTPResponse(status: 200, body: Array("{\"items\":7}".utf8)), "/items"),
        (ContentSite.page(["A"], cursor: "", more: true), "/cursor"),
      ]
      for (answer, expected) in answers {
        try await ContentSite.run(in: world) { _, _ in
          answer
        } _: { site in
          let why = try await reason(world, site) { site.allow(in: &$0) }
          #expect(why.contains(expected), "\(why)")
          #expect(site.requests.allSatisfy { $0.path == "/notes?book=1&limit=100" })
        }
      }
    }
  }

  @Test func `from a host that others vouch for`() async throws {
    try await World.with { world in
      try await ContentSite.run(in: world) { _, _ in
        ContentSite.page(["A"], cursor: "1")
      } _: { site in
        let why = try await reason(world, site) {
          site.allow(in: &$0)
          $0.contentHosts = ContentHosts(
            hosts: $0.contentHosts.hosts, addresses: ["127.0.0.1"], trustFile: nil)
        }
        #expect(!why.isEmpty)
        #expect(site.requests.isEmpty)
      }
    }
  }
}
