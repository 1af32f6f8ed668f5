import APNsSimulator
import Clocks
import FieldTrips
import FieldcastServer
import HTTP
import JSON
import Redis
import Testing

@Suite struct `Members who joined before the start` {
  /// A scheduled trip, whose service is stopped and started around its beginning.
  @Test func `get one card each, whatever is restarted`() async throws {
    try await World.with { world in
      var id = ""
      var phones: [String: TestPhone] = [:]
      try await world.withService { caller in
        let starts = world.clock.wall + .seconds(480)
        let trip = try await caller.createTrip(
          #"{"name":"Walk","notebook":"Birds","dismissal":60,"startsAt":\#(starts.wholeSeconds)}"#)
        id = trip.id
        for (name, system) in [
          ("anna", SystemVersion(18, 1)), ("bela", SystemVersion(17, 4)),
          ("cleo", SystemVersion(18, 0)), ("dora", SystemVersion(17, 2)),
        ] {
          let phone = try await TestPhone.make(system, of: name, in: world)
          try await phone.join(trip.id, caller, withStartToken: true)
          phones[name] = phone
        }
        // One has a dead token beside the good one, and joined with it last.
        let bundleID = world.bundleID
        let dead = try await world.simulator.run { apns, now throws(PhoneError) in
          var settings = PhoneSettings(bundleID: bundleID)
          settings.system = SystemVersion(17, 2)
          let token = try apns.addPhone(settings).pushToStartToken ?? ""
          apns.setState(.expired(since: now + .seconds(3_600)), ofToken: token)
          return token
        }
        let answer = try await caller.call(
          "POST", "/v1/activity-tokens",
          #"{"activityToken":"\#(dead)","kind":"push-to-start","member":"dora"}"#)
        #expect(answer.status == 200, "\(answer.text)")
      }
      for round in 0..<3 {
        // As after a node that died with something unpublished: its successor takes the trip up,
        // and would start its members again if the store did not say that they were.
        let partition = try TripID(id).partition
        _ = try await world.redis.call(
          RedisCommand("SADD", "fc:{\(partition)}:unpublished", id))
        try await world.withService { caller in
          for phone in phones.values { _ = try await phone.waitForCard() }
          if round == 1, let bela = phones["bela"] {
            let card = try await bela.waitForCard(withToken: true)
            try await bela.register(card, of: id, caller)
          }
          _ = try await caller.call(
            "POST", "/v1/trips/\(id)/notes", #"{"id":"n\#(round)","significant":true}"#)
          for (name, phone) in phones where name != "dora" && (name != "bela" || round > 0) {
            try await phone.waitUntilItShows(Int64(round + 1))
          }
        }
      }
      let numbers = phones.values.map(\.phone)
      let (cards, answers) = try await world.simulator.run { apns, _ throws(PhoneError) in
        var cards: [Int] = []
        for number in numbers { cards.append(try apns.phone(number).activities.count) }
        return (cards, apns.statistics.answers)
      }
      #expect(cards == [1, 1, 1, 1])
      #expect(answers[410] == 1, "the dead token was sent to once: \(answers)")
      #expect(await world.simulator.run { apns, _ in apns.complaints.count } == 0)
      let anna = try #require(phones["anna"])
      let started = try await world.simulator.run { apns, _ throws(PhoneError) in
        try apns.phone(anna.phone).activities[0]
      }
      #expect(started.startedByPush && started.channelID != nil)
      #expect(try JSONValue.parse(started.attributes)["tripID"]?.string == id)
    }
  }

  @Test func `are started no oftener than their devices allow`() async throws {
    try await World.with { world in
      try await world.withService { caller in
        let starts = (world.clock.wall + .seconds(300)).wholeSeconds
        var phone: TestPhone?
        for number in 0..<5 {
          let trip = try await caller.createTrip(
            #"{"name":"Walk \#(number)","notebook":"Birds","startsAt":\#(starts)}"#)
          if phone == nil {
            phone = try await .make(SystemVersion(18, 0), of: "anna", in: world)
          }
          try await phone?.join(trip.id, caller, withStartToken: true)
        }
        let number = try #require(phone).phone
        try await world.waitUntil("all trips have begun") {
          let list = try await caller.call("GET", "/v1/trips")
          return list.body["trips"]?.array?.allSatisfy { $0["phase"]?.string == "live" } == true
        }
        let hasThree = await world.simulator.wait(upTo: .seconds(30)) { apns, _ in
          (try? apns.phone(number))?.activities.count == 3
        }
        #expect(hasThree, "three starts an hour, and no more")
        try await world.waitUntil("two are withheld") {
          await world.simulator.run { apns, _ in
            apns.statistics.requests[.devicePush]
          } == 3
        }
      }
    }
  }

  /// Anna's newest token is dead, and the other one is of the phone that shows Bela's card.
  @Test func `get no card by another token on a phone that shows one`() async throws {
    try await World.with { world in
      try await world.withService { caller in
        let phone = try await TestPhone.make(SystemVersion(18, 1), of: "bela", in: world)
        let trip = try await caller.createTrip(#"{"name":"Walk","notebook":"Birds"}"#)
        try await phone.join(trip.id, caller, withStartToken: true, #""start":"push""#)
        let bundleID = world.bundleID
        let (shared, dead) = try await world.simulator.run {
          apns, now throws(PhoneError) -> (String, String) in
          let shared = try apns.phone(phone.phone).pushToStartToken ?? ""
          var settings = PhoneSettings(bundleID: bundleID)
          settings.system = SystemVersion(18, 1)
          let dead = try apns.addPhone(settings).pushToStartToken ?? ""
          apns.setState(.expired(since: now + .seconds(3_600)), ofToken: dead)
          return (shared, dead)
        }
        _ = try await phone.waitForCard()
        for token in [shared, dead] {
          let answer = try await caller.call(
            "POST", "/v1/activity-tokens",
            #"{"activityToken":"\#(token)","kind":"push-to-start","member":"anna"}"#)
          #expect(answer.status == 200, "\(answer.text)")
        }
        let answer = try await caller.call(
          "POST", "/v1/trips/\(trip.id)/members", #"{"member":"anna","start":"push"}"#)
        #expect(answer.status == 200, "\(answer.text)")
        let isTried = await world.simulator.wait(upTo: .seconds(30)) { apns, _ in
          apns.statistics.answers[410] == 1
        }
        #expect(isTried)
        try await world.waitUntil("the start is given back") {
          let status = try await caller.call("GET", "/v1/trips/\(trip.id)/members/anna")
          return status.body["card"]?["state"]?.string == "none"
        }
        let cards = try await world.simulator.run { apns, _ throws(PhoneError) in
          try apns.phone(phone.phone).activities.count
        }
        #expect(cards == 1)
      }
    }
  }
}
