import APNsSimulator
import Clocks
import FieldTrips
import FieldcastServer
import Foundation
import HTTP
import JSON
import Redis
import Testing
import Transport

/// A phone whose app registered for ordinary pushes.
struct AlertPhone: Sendable {
  let phone: Int
  let token: String

  static func add(
    _ member: String, _ caller: TestCaller, _ world: World
  ) async throws -> AlertPhone {
    let bundleID = world.bundleID
    let made = try await world.simulator.run { apns, _ throws(PhoneError) in
      try apns.addPhone(PhoneSettings(bundleID: bundleID))
    }
    let phone = AlertPhone(phone: made.phone, token: made.deviceToken)
    try await phone.register(member, caller)
    return phone
  }

  func register(_ member: String, _ caller: TestCaller) async throws {
    let answer = try await caller.call(
      "POST", "/v1/devices", #"{"deviceToken":"\#(token)","member":"\#(member)"}"#)
    try #require(answer.status == 200, "\(answer.text)")
  }

  /// What is on the screen, once all has come that is on its way.
  func shown(_ world: World) async throws -> [SimulatedNotification] {
    let phone = phone
    return try await world.simulator.run { apns, now throws(PhoneError) in
      apns.advance(to: now + .seconds(1))
      return try apns.phone(phone).notifications
    }
  }

  /// How many pushes came, those included that others replaced on the screen.
  func arrived(_ world: World) async throws -> Int {
    let phone = phone
    return try await world.simulator.run { apns, now throws(PhoneError) in
      apns.advance(to: now + .seconds(1))
      return try apns.phone(phone).history.count { $0.push != nil }
    }
  }
}

extension TestCaller {
  /// Asks for a notification and answers its ID.
  func notify(_ body: String, fields: HTTPFields = [:]) async throws -> String {
    let answer = try await call("POST", "/v1/notifications", body, fields: fields)
    try #require(answer.status == 202, "\(answer.text)")
    return try #require(answer.body["id"]?.string)
  }

  /// Waits until it is over, and answers what became of it.
  func outcome(of id: String, _ world: World) async throws -> JSONValue {
    var last = JSONValue.null
    try await world.waitUntil("the notification is over") {
      let answer = try await call("GET", "/v1/notifications/\(id)")
      last = answer.body
      return last["finishedAt"] != nil
    }
    return last
  }
}

private func body(_ notification: SimulatedNotification) throws -> JSONValue {
  try JSONValue.parse(notification.body)
}

@Suite struct `A notification` {
  @Test func `reaches all devices of a member, as it was asked for`() async throws {
    try await World.with { world in
      try await world.withService { caller in
        let phones = [
          try await AlertPhone.add("ada", caller, world),
          try await AlertPhone.add("ada", caller, world),
        ]
        let other = try await AlertPhone.add("bela", caller, world)
        let expires = (world.clock.wall + .seconds(7_200)).wholeSeconds
        let id = try await caller.notify(
          #"""
          {"to":{"member":"ada"},"collapseID":"birds","priority":5,"expiresAt":\#(expires),
           "alert":{"title":"Birds","subtitle":{"key":"SUB"},"launchImage":"start",
                    "body":{"key":"NEW","arguments":["3","Meadow"]}},
           "badge":0,"sound":{"name":"bell.caf","critical":true,"volume":0.5},"threadID":"t",
           "category":"c","targetContentID":"w","interruptionLevel":"time-sensitive",
           "relevance":0.25,"filterCriteria":"f","mutableContent":true,
           "custom":{"a" : 1.50,"b":{"\u0063":[ ]}}}
          """#)
        let outcome = try await caller.outcome(of: id, world)
        #expect(outcome["state"]?.string == "sent")
        #expect(outcome["devices"]?["accepted"]?.int64 == 2)
        for phone in phones {
          let shown = try await phone.shown(world)
          #expect(shown.count == 1)
          let push = try #require(shown.first)
          #expect(push.collapseID == "birds")
          #expect(push.priority == 5)
          #expect(push.storage == .until(UnixTime(wholeSeconds: expires)))
          #expect(
            String(decoding: push.body, as: UTF8.self)
              == #"{"aps":{"alert":{"title":"Birds","subtitle-loc-key":"SUB","loc-key":"NEW","#
              + #""loc-args":["3","Meadow"],"launch-image":"start"},"badge":0,"sound":"#
              + #"{"critical":1,"name":"bell.caf","volume":0.5},"thread-id":"t","category":"c","#
              + #""mutable-content":1,"target-content-id":"w","#
              + #""interruption-level":"time-sensitive","relevance-score":0.25,"#
              + #""filter-criteria":"f"},"a":1.50,"b":{"\u0063":[ ]}}"#)
        }
        #expect(try await other.arrived(world) == 0)
        #expect(await world.simulator.run { apns, _ in apns.complaints.count } == 0)
        let metrics = try await caller.call("GET", "/metrics").text
        #expect(metrics.contains(#"fieldcast_notifications_total{outcome="sent"} 1"#))
        #expect(metrics.contains(#"fieldcast_notification_pushes_total{answer="accepted"} 2"#))
      }
    }
  }

  @Test func `to a trip reaches each device of its members once`() async throws {
    try await World.with { world in
      try await world.withService { caller in
        let trip = try await caller.createTrip()
        var phones: [AlertPhone] = []
        for member in ["ada", "bela", "cleo"] {
          phones.append(try await AlertPhone.add(member, caller, world))
          _ = try await caller.call(
            "POST", "/v1/trips/\(trip.id)/members", #"{"member":"\#(member)"}"#)
        }
        // One phone is two people's, and one person is not on the trip.
        try await phones[0].register("bela", caller)
        let stranger = try await AlertPhone.add("dora", caller, world)
        let id = try await caller.notify(
          #"{"to":{"trip":"\#(trip.id)"},"alert":{"body":"Lunch"}}"#)
        #expect(id.hasPrefix(trip.id))
        let outcome = try await caller.outcome(of: id, world)
        #expect(outcome["devices"]?["accepted"]?.int64 == 3)
        for phone in phones { #expect(try await phone.arrived(world) == 1) }
        #expect(try await stranger.arrived(world) == 0)
      }
    }
  }

  @Test func `for a time goes out then, once, whatever is restarted`() async throws {
    try await World.with { world in
      var phone: AlertPhone?
      var id = ""
      let time = UnixTime(wholeSeconds: (world.clock.wall + .seconds(600)).wholeSeconds)
      try await world.withService { caller in
        phone = try await AlertPhone.add("ada", caller, world)
        let body =
          #"{"to":{"member":"ada"},"alert":{"body":"Now"},"sendAt":\#(time.wholeSeconds)}"#
        id = try await caller.notify(body, fields: ["idempotency-key": "k"])
        // The same request again is the same notification.
        #expect(try await caller.notify(body, fields: ["idempotency-key": "k"]) == id)
        let read = try await caller.call("GET", "/v1/notifications/\(id)")
        #expect(read.body["state"]?.string == "armed")
        #expect(read.body["sendAt"]?.string == DateText.format(time))
        let cancelled = try await caller.notify(body)
        #expect(try await caller.call("DELETE", "/v1/notifications/\(cancelled)").status == 204)
        #expect(try await caller.call("DELETE", "/v1/notifications/\(cancelled)").status == 204)
        #expect(
          try await caller.outcome(of: cancelled, world)["state"]?.string == "cancelled")
      }
      for _ in 0..<2 {
        try await world.withService { caller in
          let outcome = try await caller.outcome(of: id, world)
          #expect(outcome["state"]?.string == "sent")
          #expect(try await caller.call("DELETE", "/v1/notifications/\(id)").status == 409)
        }
      }
      let shown = try await phone?.shown(world) ?? []
      #expect(shown.count == 1)
      #expect(try #require(shown.first).acceptedAt >= time)
    }
  }

  @Test func `reaches a device that is no member's, by the name that it got`() async throws {
    try await World.with { world in
      try await world.withService { caller in
        let bundleID = world.bundleID
        let made = try await world.simulator.run { apns, _ throws(PhoneError) in
          try apns.addPhone(PhoneSettings(bundleID: bundleID))
        }
        let phone = AlertPhone(phone: made.phone, token: made.deviceToken)
        let registered = try await caller.call(
          "POST", "/v1/devices", #"{"deviceToken":"\#(phone.token)"}"#)
        let name = try #require(registered.body["device"]?.string, "\(registered.text)")
        let id = try await caller.notify(#"{"to":{"device":"\#(name)"},"alert":{"body":"Hello"}}"#)
        let outcome = try await caller.outcome(of: id, world)
        #expect(outcome["state"]?.string == "sent")
        #expect(outcome["to"]?["device"]?.string == name)
        #expect(try await phone.arrived(world) == 1)
        // The token is no name, and is not said back.
        let refused = try await caller.call(
          "POST", "/v1/notifications",
          #"{"to":{"device":"\#(phone.token)"},"alert":{"body":"Hello"}}"#)
        #expect(refused.status == 400, "\(refused.text)")
        #expect(!refused.text.contains(phone.token))
        // Named with a member it is that member's too.
        try await phone.register("ada", caller)
        let second = try await caller.notify(#"{"to":{"member":"ada"},"alert":{"body":"Hello"}}"#)
        _ = try await caller.outcome(of: second, world)
        #expect(try await phone.arrived(world) == 2)
        // By a start token alone nobody can be started, and the answer says so.
        let start = try await caller.call(
          "POST", "/v1/activity-tokens", #"{"activityToken":"abcd","kind":"push-to-start"}"#)
        #expect(start.status == 200)
        #expect(start.body["warnings"]?[0]?.string?.contains("member") == true)
      }
    }
  }

  @Test func `retires dead tokens, and keeps one that came back`() async throws {
    try await World.with { world in
      try await world.withService { caller in
        let phones = [
          try await AlertPhone.add("ada", caller, world),
          try await AlertPhone.add("ada", caller, world),
        ]
        let dead = phones[0].token
        await world.simulator.run { apns, now in
          apns.setState(.unregistered(since: now + .seconds(600)), ofToken: dead)
        }
        let text = #"{"to":{"member":"ada"},"sound":"default"}"#
        let first = try await caller.outcome(of: try await caller.notify(text), world)
        #expect(first["devices"]?["accepted"]?.int64 == 1)
        #expect(first["devices"]?["dead"]?.int64 == 1)
        let second = try await caller.outcome(of: try await caller.notify(text), world)
        #expect(second["devices"]?["accepted"]?.int64 == 1)
        #expect(second["devices"]?["dead"]?.int64 == 0)
        let answers = await world.simulator.run { apns, _ in apns.statistics.answers }
        #expect(answers[410] == 1)
        // Nobody is left of this one.
        let none = try await caller.outcome(
          of: try await caller.notify(#"{"to":{"member":"nobody"},"badge":1}"#), world)
        #expect(none["state"]?.string == "failed")
        #expect(none["reason"]?.string == "There is no device to send to.")
      }
    }
  }

  @Test func `is tried again where APNs puts it off`() async throws {
    try await World.with { world in
      try await world.withService { caller in
        let phone = try await AlertPhone.add("ada", caller, world)
        var faults = SimulatorFaults()
        faults.throttled.share = 1
        try await world.simulator.setFaults(faults)
        let id = try await caller.notify(#"{"to":{"member":"ada"},"sound":"default"}"#)
        try await world.waitUntil("it was put off") {
          let read = try await caller.call("GET", "/v1/notifications/\(id)")
          return read.body["devices"]?["waiting"]?.int64 == 1
        }
        try await world.simulator.setFaults(SimulatorFaults())
        let outcome = try await caller.outcome(of: id, world)
        #expect(outcome["devices"]?["accepted"]?.int64 == 1)
        #expect(outcome["devices"]?["waiting"]?.int64 == 0)
        #expect(try await phone.arrived(world) == 1)
      }
    }
  }

  /// APNs takes it, and the connection breaks before it says so.
  @Test(arguments: [true, false])
  func `is sent once more when the answer is lost, if it may be`(isOnce: Bool) async throws {
    try await World.with(speed: 5) { world in
      try await world.withService { caller in
        let phone = try await AlertPhone.add("ada", caller, world)
        var faults = SimulatorFaults()
        faults.resetShare = 1
        try await world.simulator.setFaults(faults)
        let id = try await caller.notify(
          #"{"to":{"member":"ada"},"alert":{"body":"Lunch"},"attemptOnce":\#(isOnce)}"#)
        let isThere = await world.simulator.wait(upTo: .seconds(30)) { apns, _ in
          apns.statistics.requests[.devicePush] ?? 0 >= 1
        }
        #expect(isThere)
        try await world.simulator.setFaults(SimulatorFaults())
        let outcome = try await caller.outcome(of: id, world)
        #expect(outcome["state"]?.string == "sent")
        #expect(outcome["devices"]?["accepted"]?.int64 == (isOnce ? 0 : 1), "\(outcome)")
        #expect(outcome["devices"]?["unconfirmed"]?.int64 == (isOnce ? 1 : 0))
        #expect(try await phone.arrived(world) == (isOnce ? 1 : 2))
        #expect(try await phone.shown(world).count == 1)
      }
    }
  }

  @Test func `of another kind wakes the app, or reloads its widgets`() async throws {
    try await World.with { world in
      try await world.withService { caller in
        let phone = try await AlertPhone.add("ada", caller, world)
        let number = phone.phone
        let token = try await world.simulator.run { apns, _ throws(PhoneError) in
          try apns.registerForPushes(ofType: "widgets", phone: number)
        }
        let registered = try await caller.call(
          "POST", "/v1/devices",
          #"{"deviceToken":"\#(token)","kind":"widget","member":"ada"}"#)
        #expect(registered.body["kind"]?.string == "widget", "\(registered.text)")
        for text in [
          #"{"to":{"member":"ada"},"kind":"widget"}"#,
          #"{"to":{"member":"ada"},"kind":"background","custom":{"sync":true}}"#,
        ] {
          let outcome = try await caller.outcome(of: try await caller.notify(text), world)
          #expect(outcome["devices"]?["accepted"]?.int64 == 1)
        }
        let shown = try await phone.shown(world)
        #expect(shown.map(\.pushType) == ["widgets", "background"])
        #expect(shown.map(\.priority) == [10, 5])
        #expect(
          shown.map { String(decoding: $0.body, as: UTF8.self) } == [
            #"{"aps":{"content-changed":true}}"#,
            #"{"aps":{"content-available":1},"sync":true}"#,
          ])
        #expect(await world.simulator.run { apns, _ in apns.complaints.count } == 0)
      }
    }
  }

  @Test func `is refused with what is wrong, before it is stored`() async throws {
    try await World.with { world in
      try await world.withService { caller in
        func problem(_ text: String) async throws -> String {
          let answer = try await caller.call("POST", "/v1/notifications", text)
          let pointer = answer.body["errors"]?[0]?["pointer"]?.string ?? ""
          return "\(answer.status) \(answer.problem ?? "") \(pointer)"
        }
        let long = String(repeating: "é", count: 2_040)
        #expect(
          try await problem("{\"to\":{\"member\":\"a\"},\"alert\":{\"body\":\"\(long)\"}}")
            == "422 state-too-large ")
        #expect(
          try await problem(
            #"{"to":{"trip":"0c9d3a52-6a0e-4d4b-9f3e-0a5b6c7d8e9f"},"badge":1}"#)
            == "404 unknown-trip ")
        #expect(
          try await problem(#"{"to":{"member":"a"},"badge":1,"bundleID":"com.other"}"#)
            == "400 bad-value /bundleID")
        #expect(
          try await problem(#"{"to":{"member":"a"},"badge":"1"}"#) == "400 wrong-type /badge")
        #expect(
          try await problem(
            #"""
            {"to":{"member":"a"},"alert":{"body":"b"},"source":{"name":"n",
             "url":"https://evil.example/","several":{"body":"{count}"}}}
            """#) == "400 bad-value /source/url")
        let at = (world.clock.wall + .seconds(86_400)).wholeSeconds
        for _ in 0..<100 {
          _ = try await caller.notify(#"{"to":{"member":"a"},"badge":1,"sendAt":\#(at)}"#)
        }
        #expect(
          try await problem(#"{"to":{"member":"a"},"badge":1,"sendAt":\#(at)}"#)
            == "409 too-many-notifications ")
        #expect(try await caller.call("GET", "/v1/notifications/x").status == 404)
        #expect(try await caller.call("DELETE", "/v1/notifications/x.y").status == 404)
      }
    }
  }

  /// Members who joined before the start: one gets a card by push, one has no way to get any.
  @Test func `goes to members whose cards cannot be started`() async throws {
    try await World.with { world in
      var phones: [AlertPhone] = []
      var id = ""
      try await world.withService { caller in
        let starts = (world.clock.wall + .seconds(600)).wholeSeconds
        let trip = try await caller.createTrip(
          #"""
          {"name":"Walk","notebook":"Birds","startsAt":\#(starts),"alertsWithoutActivity":true}
          """#)
        id = trip.id
        for member in ["ada", "bela"] {
          phones.append(try await AlertPhone.add(member, caller, world))
        }
        let number = phones[0].phone
        let start = try await world.simulator.run { apns, _ throws(PhoneError) in
          try apns.phone(number).pushToStartToken ?? ""
        }
        _ = try await caller.call(
          "POST", "/v1/trips/\(id)/members",
          #"{"member":"ada","osVersion":"18.0","pushToStartToken":"\#(start)"}"#)
        _ = try await caller.call(
          "POST", "/v1/trips/\(id)/members", #"{"member":"bela","osVersion":"18.0"}"#)
      }
      for _ in 0..<2 {
        try await world.withService { caller in
          let outcome = try await caller.outcome(of: id + ".start", world)
          #expect(outcome["state"]?.string == "sent", "\(outcome)")
          #expect(outcome["devices"]?["accepted"]?.int64 == 1)
        }
      }
      #expect(try await phones[0].shown(world).isEmpty)
      let shown = try await phones[1].shown(world)
      #expect(shown.count == 1)
      let alert = try body(try #require(shown.first))["aps"]?["alert"]
      #expect(alert?["title"]?.string?.isEmpty == false)
      #expect(alert?["body"]?.string?.isEmpty == false)
    }
  }

  /// Somebody else adds a member when the first look is over.
  @Test func `goes to who joins soon after the start and cannot be started`() async throws {
    try await World.with { world in
      try await world.withService { caller in
        let trip = try await caller.createTrip(
          #"{"name":"Walk","notebook":"Birds","alertsWithoutActivity":true}"#)
        let begun = world.clock.wall
        try await world.waitUntil("the first look is over") {
          world.clock.wall > begun + .seconds(45)
        }
        let phone = try await AlertPhone.add("ada", caller, world)
        let inApp = try await AlertPhone.add("bela", caller, world)
        for (member, start) in [("ada", "push"), ("bela", "app")] {
          let joined = try await caller.call(
            "POST", "/v1/trips/\(trip.id)/members",
            #"{"member":"\#(member)","osVersion":"18.0","start":"\#(start)"}"#)
          #expect(joined.status == 200, "\(joined.text)")
        }
        let outcome = try await caller.outcome(of: trip.id + ".start", world)
        #expect(outcome["devices"]?["accepted"]?.int64 == 1, "\(outcome)")
        #expect(try await phone.arrived(world) == 1)
        #expect(try await inApp.arrived(world) == 0)
      }
    }
  }

  @Test func `is never early when many are due together`() async throws {
    try await World.with(speed: 1) { world in
      try await world.withService { caller in
        let count = 300
        var phones: [AlertPhone] = []
        for number in 0..<count {
          phones.append(try await AlertPhone.add("m\(number)", caller, world))
        }
        let time = UnixTime(wholeSeconds: (world.clock.wall + .seconds(6)).wholeSeconds)
        var ids: [String] = []
        for number in 0..<count {
          ids.append(
            try await caller.notify(
              #"{"to":{"member":"m\#(number)"},"badge":1,"sendAt":\#(time.wholeSeconds)}"#))
        }
        for id in ids { _ = try await caller.outcome(of: id, world) }
        var late: [Duration] = []
        for phone in phones {
          let shown = try await phone.shown(world)
          #expect(shown.count == 1)
          late.append(try #require(shown.first).acceptedAt - time)
        }
        #expect(try #require(late.min()) >= .zero)
        print("\(count) notifications due together: the last one after \(late.max() ?? .zero)")
      }
    }
  }
}

@Suite struct `The command push` {
  @Test func `sends a notification and says what became of it`() async throws {
    try await World.with { world in
      try await world.withService { caller in
        let phone = try await AlertPhone.add("ada", caller, world)
        let sent = try await run(
          ["--member", "ada", "--title", "Birds", "A heron", "--key", "k"], caller, world)
        #expect(sent.status == 0, "\(sent.output)")
        #expect(sent.output.hasSuffix(": sent, 1 accepted\n"))
        let again = try await run(
          ["--member", "ada", "--title", "Birds", "A heron", "--key", "k"], caller, world)
        #expect(again.output == sent.output)
        let alert = try body(try #require(try await phone.shown(world).first))["aps"]?["alert"]
        #expect(alert?["title"]?.string == "Birds")
        #expect(alert?["body"]?.string == "A heron")
        #expect(try await phone.arrived(world) == 1)
        let refused = try await run(["--member", "ada", "--at", "soon", "x"], caller, world)
        #expect(refused.status == 65)
        #expect(refused.output.contains("/sendAt"), "\(refused.output)")
      }
    }
  }

  private func run(
    _ words: [String], _ caller: TestCaller, _ world: World
  ) async throws -> (status: Int32, output: String) {
    try await world.run(["push", "--service", "\(caller.endpoint)"] + words)
  }
}

@Suite struct `A node that dies while it sends a notification` {
  /// Members of a trip, in the middle of whose notification the program is killed.
  @Test func `leaves no device out, and every screen shows it once`() async throws {
    try await killed(#""alert":{"body":"Lunch"}"#) { phones, outcome, world in
      var doubled = 0
      for phone in phones {
        #expect(try await phone.shown(world).count == 1)
        doubled += try await phone.arrived(world) - 1
      }
      print("\(doubled) came a second time, in the place of the first")
      #expect(doubled <= 200, "no more than one batch was on its way")
      #expect(outcome["devices"]?["accepted"]?.int64 == Int64(phones.count))
      #expect(outcome["devices"]?["unconfirmed"]?.int64 == 0)
    }
  }

  @Test func `sends what is attempted once to no device twice`() async throws {
    try await killed(#""attemptOnce":true,"alert":{"body":"Lunch"}"#) { phones, outcome, world in
      var arrived = 0
      var doubled = 0
      for phone in phones {
        let pushes = try await phone.arrived(world)
        arrived += pushes
        if pushes > 1 { doubled += 1 }
      }
      #expect(doubled == 0)
      let accepted = Int(outcome["devices"]?["accepted"]?.int64 ?? 0)
      let unconfirmed = Int(outcome["devices"]?["unconfirmed"]?.int64 ?? 0)
      print("\(accepted) accepted, \(unconfirmed) unconfirmed, \(arrived) came")
      #expect(accepted + unconfirmed == phones.count)
      #expect((accepted...accepted + unconfirmed).contains(arrived))
      #expect(unconfirmed <= 200, "no more than one batch was on its way")
    }
  }

  /// - Parameter body: is given the notification's outcome after another process took it up.
  private func killed(
    _ notification: String,
    _ body: ([AlertPhone], JSONValue, World) async throws -> Void
  ) async throws {
    try await World.with { world in
      let program = KilledService(world: world)
      try await program.start()
      let count = 300
      let trip = try await program.caller.createTrip()
      var phones: [AlertPhone] = []
      for number in 0..<count {
        phones.append(try await AlertPhone.add("m\(number)", program.caller, world))
        _ = try await program.caller.call(
          "POST", "/v1/trips/\(trip.id)/members", #"{"member":"m\#(number)"}"#)
      }
      var faults = SimulatorFaults()
      faults.latencyLow = .milliseconds(5)
      faults.latencyHigh = .milliseconds(200)
      try await world.simulator.setFaults(faults)
      let id = try await program.caller.notify(
        #"{"to":{"trip":"\#(trip.id)"},\#(notification)}"#)
      let isUnderWay = await world.simulator.wait(upTo: .seconds(30)) { apns, _ in
        apns.statistics.requests[.devicePush] ?? 0 >= 50
      }
      #expect(isUnderWay)
      try await program.kill()
      try await program.start()
      let outcome = try await program.caller.outcome(of: id, world)
      try await body(phones, outcome, world)
      try await program.stop()
    }
  }
}
