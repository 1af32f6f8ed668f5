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
      var phones: [String: StartPhone] = [:]
      try await world.withService { caller in
        let starts = world.clock.wall + .seconds(480)
        let trip = try await caller.createTrip(
          #"{"name":"Walk","notebook":"Birds","dismissal":60,"startsAt":\#(starts.wholeSeconds)}"#)
        id = trip.id
        for (name, system) in [
          ("anna", SystemVersion(18, 1)), ("bela", SystemVersion(17, 4)),
          ("cleo", SystemVersion(18, 0)), ("dora", SystemVersion(17, 2)),
        ] {
          phones[name] = try await .join(trip.id, as: name, system, caller, world)
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
          for phone in phones.values { try await phone.waitForCard(world) }
          if round == 1 { try await phones["bela"]?.reportToken("bela", id, caller, world) }
          _ = try await caller.call(
            "POST", "/v1/trips/\(id)/notes", #"{"id":"n\#(round)","significant":true}"#)
          for (name, phone) in phones where name != "dora" && (name != "bela" || round > 0) {
            try await phone.waitUntilItShows(Int64(round + 1), world)
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
        var phone: StartPhone?
        for number in 0..<5 {
          let trip = try await caller.createTrip(
            #"{"name":"Walk \#(number)","notebook":"Birds","startsAt":\#(starts)}"#)
          if let phone {
            try await phone.join(trip.id, as: "anna", caller)
          } else {
            phone = try await .join(trip.id, as: "anna", SystemVersion(18, 0), caller, world)
          }
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
}

/// A phone with a start token.
private struct StartPhone: Sendable {
  let phone: Int
  let system: SystemVersion
  let token: String

  static func join(
    _ trip: String, as member: String, _ system: SystemVersion, _ caller: TestCaller,
    _ world: World
  ) async throws -> StartPhone {
    var settings = PhoneSettings(bundleID: world.bundleID)
    settings.system = system
    let made = try await world.simulator.run { [settings] apns, _ throws(PhoneError) in
      try apns.addPhone(settings)
    }
    let phone = StartPhone(
      phone: made.phone, system: system, token: try #require(made.pushToStartToken))
    try await phone.join(trip, as: member, caller)
    return phone
  }

  func join(_ trip: String, as member: String, _ caller: TestCaller) async throws {
    let joined = try await caller.call(
      "POST", "/v1/trips/\(trip)/members",
      #"{"member":"\#(member)","osVersion":"\#(system)","pushToStartToken":"\#(token)"}"#)
    #expect(joined.status == 200, "\(joined.text)")
  }

  /// The app was woken and hands over the token of its card.
  func reportToken(
    _ member: String, _ trip: String, _ caller: TestCaller, _ world: World
  ) async throws {
    let phone = phone
    let hasToken = await world.simulator.wait(upTo: .seconds(30)) { apns, _ in
      (try? apns.phone(phone))?.activities.first?.updateToken != nil
    }
    #expect(hasToken)
    let token = try await world.simulator.run { apns, _ throws(PhoneError) in
      try apns.phone(phone).activities.first?.updateToken ?? ""
    }
    let answer = try await caller.call(
      "POST", "/v1/activity-tokens",
      #"{"activityToken":"\#(token)","activityID":"\#(member)","member":"\#(member)","#
        + #""trip":"\#(trip)"}"#)
    #expect(answer.status == 200, "\(answer.text)")
  }

  func waitForCard(
    _ world: World, sourceLocation: SourceLocation = #_sourceLocation
  ) async throws {
    let phone = phone
    let isMet = await world.simulator.wait(upTo: .seconds(30)) { apns, now in
      (try? apns.cards(of: phone, now: now))?.isEmpty == false
    }
    #expect(isMet, "a phone has no card", sourceLocation: sourceLocation)
  }

  func waitUntilItShows(
    _ notes: Int64, _ world: World, sourceLocation: SourceLocation = #_sourceLocation
  ) async throws {
    let phone = phone
    let isMet = await world.simulator.wait(upTo: .seconds(30)) { apns, now in
      guard let text = (try? apns.cards(of: phone, now: now))?.first?.contentState else {
        return false
      }
      return (try? JSONValue.parse(text))?["notesCaptured"]?.int64 == notes
    }
    #expect(isMet, "a card does not show \(notes) notes", sourceLocation: sourceLocation)
  }
}
