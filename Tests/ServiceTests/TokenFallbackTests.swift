import APNsSimulator
import Clocks
import FieldTrips
import FieldcastServer
import Foundation
import HTTP
import JSON
import Redis
import Testing
import TripStore

@Suite struct `Members without channels` {
  /// Phones on the channel and phones with tokens, a token that dies and one that is rotated: all
  /// cards show the same in the end, and then the same end.
  @Test func `see the same as those with them`() async throws {
    try await World.with { world in
      try await world.withService { caller in
        let trip = try await caller.createTrip()
        try await world.addPhones(20, to: trip.channelID, showing: trip.contentState)
        var phones: [TestPhone] = []
        var cards: [TestCard] = []
        for name in ["anna", "bela", "cleo", "dora"] {
          let phone = try await TestPhone.make(SystemVersion(17, 4), of: name, in: world)
          try await phone.join(trip.id, caller)
          phones.append(phone)
          cards.append(try await phone.startCard(of: trip, caller))
        }
        try await caller.note("n1", on: trip.id)
        try await world.waitForPhones(on: trip.channelID) { $0["notesCaptured"]?.int64 == 1 }
        for phone in phones { try await phone.waitUntilItShows(1) }

        // One phone's card is gone, and another's token is rotated.
        let dead = try await phones[0].token(of: cards[0])
        await world.simulator.run { apns, now in
          apns.setState(.unregistered(since: now), ofToken: dead)
        }
        let (rotated, card) = (phones[1], cards[1])
        let fresh = try await world.simulator.run { apns, now throws(PhoneError) in
          try apns.rotateUpdateToken(card.activityID, on: rotated.phone, now: now)
        }
        let answer = try await caller.call(
          "POST", "/v1/activity-tokens",
          #"{"activityToken":"\#(fresh)","activityID":"\#(card.name)"}"#)
        #expect(answer.status == 200, "\(answer.text)")
        for number in 2...4 {
          try await caller.note("n\(number)", on: trip.id)
          try await world.waitForBroadcast(on: trip.channelID, notes: Int64(number))
          for phone in phones[1...] { try await phone.waitUntilItShows(Int64(number)) }
        }
        let answers = await world.simulator.run { apns, _ in apns.statistics.answers }
        #expect(answers[410] == 1, "a dead token is sent to once: \(answers)")
        let read = try await caller.call("GET", "/v1/trips/\(trip.id)")
        #expect(read.body["members"]?["updateToken"]?.int64 == 3, "\(read.text)")

        _ = try await caller.call("POST", "/v1/trips/\(trip.id)/end")
        for phone in phones[1...] { try await phone.waitForEnd() }
        await world.waitUntilNoChannelIsLeft()
        #expect(await world.simulator.run { apns, _ in apns.complaints.count } == 0)
      }
    }
  }

  /// Redis refuses the very first read of who has tokens: the end must not count as told, since
  /// nothing comes after it.
  @Test func `get the end though they cannot be read at first`() async throws {
    try await World.with { world in
      try await world.withService { caller in
        let trip = try await caller.createTrip()
        let phone = try await TestPhone.make(SystemVersion(17, 4), of: "anna", in: world)
        try await phone.join(trip.id, caller)
        _ = try await phone.startCard(of: trip, caller)
        try await caller.note("n1", on: trip.id)
        try await phone.waitUntilItShows(1)

        let store = TripStore(redis: world.redis)
        let id = try TripID(trip.id)
        let tokens = "fc:{\(store.partition(of: id))}:trip:\(trip.id):tokens"
        _ = try await world.redis.call(RedisCommand("RENAME", tokens, "aside"))
        _ = try await world.redis.call(RedisCommand("SET", tokens, "no set"))
        _ = try await caller.call("POST", "/v1/trips/\(trip.id)/end")
        try await world.waitUntil("Redis refused") {
          try await world.redis.call(RedisCommand("INFO", "errorstats")).stringValue()
            .contains("errorstat_WRONGTYPE")
        }
        _ = try await world.redis.call(RedisCommand("DEL", tokens))
        _ = try await world.redis.call(RedisCommand("RENAME", "aside", tokens))
        try await phone.waitForEnd()
      }
    }
  }

  @Test func `are reached where no channel could be had`() async throws {
    let configure: (inout SimulatorConfiguration) -> Void = { $0.channels.limitPerApp = 1 }
    try await World.with(configure: configure) { world in
      try await world.withService { caller in
        _ = try await caller.createTrip()
        let answer = try await caller.call(
          "POST", "/v1/trips", #"{"name":"Walk","notebook":"Birds","dismissal":60}"#)
        let id = try #require(answer.body["trip"]?.string)
        #expect(answer.body["reach"]?.string == "token", "\(answer.text)")
        let trip = TestCaller.Trip(
          id: id, channelID: "", contentState: #"{"notesCaptured":0}"#)
        let phone = try await TestPhone.make(SystemVersion(17, 4), of: "anna", in: world)
        try await phone.join(trip.id, caller)
        _ = try await phone.startCard(of: trip, caller)
        for number in 1...3 {
          try await caller.note("n\(number)", on: trip.id)
          try await phone.waitUntilItShows(Int64(number))
        }
        _ = try await caller.call("POST", "/v1/trips/\(id)/end")
        try await phone.waitForEnd()
        try await world.waitUntil("the trip has ended") {
          try await caller.call("GET", "/v1/trips/\(id)").body["phase"]?.string == "ended"
        }
      }
    }
  }

  /// APNs takes its time with each push, and only a few at once: while hundreds of cards are sent one
  /// state, the channel already has the next.
  @Test func `hold up no broadcast, however many they are`() async throws {
    let slow: (inout SimulatorConfiguration) -> Void = {
      $0.connections.streamsAfterToken = 4
      $0.faults.latencyLow = .milliseconds(20)
      $0.faults.latencyHigh = .milliseconds(20)
    }
    try await World.with(configure: slow) { world in
      try await world.withService { caller in
        let trip = try await caller.createTrip()
        try await world.addPhones(20, to: trip.channelID, showing: trip.contentState)
        var phones: [TestPhone] = []
        for number in 0..<400 {
          let phone = try await TestPhone.make(SystemVersion(17, 4), of: "m\(number)", in: world)
          try await phone.join(trip.id, caller)
          _ = try await phone.startCard(of: trip, caller)
          phones.append(phone)
        }
        try await caller.note("n1", on: trip.id)
        for phone in phones { try await phone.waitUntilItShows(1) }
        let before = await world.simulator.run { apns, _ in
          apns.statistics.requests[.devicePush] ?? 0
        }
        // So slow that two broadcasts are accepted long before all cards are sent one state.
        var slower = SimulatorFaults()
        (slower.latencyLow, slower.latencyHigh) = (.milliseconds(250), .milliseconds(250))
        try await world.simulator.setFaults(slower)
        try await caller.note("n2", on: trip.id)
        try await world.waitForBroadcast(on: trip.channelID, notes: 2)
        try await caller.note("n3", on: trip.id)
        try await world.waitForBroadcast(on: trip.channelID, notes: 3)
        let between = await world.simulator.run { apns, _ in
          apns.statistics.requests[.devicePush] ?? 0
        }
        #expect(between - before < 400, "the cards with tokens were waited for")
        try await world.simulator.setFaults(SimulatorFaults())
        for phone in phones { try await phone.waitUntilItShows(3) }
        let after = await world.simulator.run { apns, _ in
          apns.statistics.requests[.devicePush] ?? 0
        }
        #expect((400...800).contains(after - before), "\(after - before) pushes for two states")
      }
    }
  }

  /// Each is sent the state at once, with a timestamp that must not run away from the clock.
  @Test func `may come one by one, many a second`() async throws {
    try await World.with(speed: 1) { world in
      try await world.withService { caller in
        let trip = try await caller.createTrip()
        for number in 1...60 {
          let phone = try await TestPhone.make(SystemVersion(17, 4), of: "m\(number)", in: world)
          try await phone.join(trip.id, caller)
          _ = try await phone.startCard(of: trip, caller)
          let isSent = await world.simulator.wait(upTo: .seconds(30)) { apns, _ in
            apns.statistics.requests[.devicePush] ?? 0 >= number
          }
          #expect(isSent)
        }
        let read = try await caller.call("GET", "/v1/trips/\(trip.id)")
        let ahead = try #require(read.body["lastTimestamp"]?.int64) - world.clock.wall.wholeSeconds
        #expect(ahead <= 2, "the timestamps are \(ahead) s ahead")
      }
    }
  }

  /// Hundreds of tokens beside a channel, at the machine's own pace; `FIELDCAST_TEST_TOKENS=3000`
  /// makes it thousands. Times are printed and not judged; who is first is.
  @Test func `are thousands, and all have the newest state soon after the channel`() async throws {
    try await World.with(speed: 1) { world in
      try await world.withService { caller in
        let count =
          ProcessInfo.processInfo.environment["FIELDCAST_TEST_TOKENS"].flatMap(Int.init) ?? 600
        let trip = try await caller.createTrip()
        try await world.addPhones(20, to: trip.channelID, showing: trip.contentState)
        let registering = world.clock.now
        let phones = try await Self.register(count, on: trip, world)
        let read = try await caller.call("GET", "/v1/trips/\(trip.id)")
        #expect(read.body["members"]?["updateToken"]?.int64 == Int64(count))
        print("\(count) tokens registered in \(world.clock.now - registering)")
        for number in 1...2 {
          let began = world.clock.now
          try await caller.note("n\(number)", on: trip.id)
          try await world.waitForBroadcast(on: trip.channelID, notes: Int64(number))
          let broadcast = world.clock.now - began
          var missing = try await Self.phones(phones, notShowing: Int64(number), world)
          #expect(!missing.isEmpty, "the channel was kept waiting by the tokens")
          try await world.waitUntil("all \(count) show it") {
            missing = try await Self.phones(missing, notShowing: Int64(number), world)
            return missing.isEmpty
          }
          print("note \(number): channel after \(broadcast), all after \(world.clock.now - began)")
        }
        #expect(await world.simulator.run { apns, _ in apns.complaints.count } == 0)
      }
    }
  }

  /// Phones with cards, whose tokens all come at once, as another node takes them in.
  private static func register(
    _ count: Int, on trip: TestCaller.Trip, _ world: World
  ) async throws -> Set<Int> {
    let store = TripStore(redis: world.redis)
    let id = try TripID(trip.id)
    return try await withThrowingTaskGroup(of: [Int].self) { group in
      for worker in 0..<16 {
        group.addTask {
          var phones: [Int] = []
          for number in stride(from: worker, to: count, by: 16) {
            let phone = try await TestPhone.make(SystemVersion(17, 4), of: "m\(number)", in: world)
            let card = try await phone.startCard(of: trip, on: nil)
            let token = try PushToken(try await phone.token(of: card))
            var member = TripMember()
            member.register(
              token, of: card.name, environment: .development, osVersion: try OSVersion("17.4"),
              at: world.clock.wall)
            let record = MemberRecord(member, channelIsOpen: true)
            _ = try await store.changeMember(
              try MemberID(phone.member), of: id, at: world.clock.wall, announce: true
            ) { _ in record }
            phones.append(phone.phone)
          }
          return phones
        }
      }
      return try await group.reduce(into: []) { $0.formUnion($1) }
    }
  }

  private static func phones(
    _ phones: Set<Int>, notShowing notes: Int64, _ world: World
  ) async throws -> Set<Int> {
    let wanted = #"{"notesCaptured":\#(notes)}"#
    return try await world.simulator.run { apns, now throws(PhoneError) in
      var missing = phones
      for phone in phones {
        if try apns.cards(of: phone, now: now).last?.contentState == wanted {
          missing.remove(phone)
        }
      }
      return missing
    }
  }

  /// An app that was built for the App Store and says nothing of it.
  @Test func `are found where their tokens are good`() async throws {
    try await World.with { world in
      let store = try await AppStoreSide.start(beside: world)
      try await world.withService({ $0.apps.append(store.app) }) { caller in
        let trip = try await caller.createTrip()
        let phone = try await TestPhone.make(
          SystemVersion(17, 4), of: "anna", in: world, at: store.simulator)
        try await phone.join(trip.id, caller)
        _ = try await phone.startCard(of: trip, caller)
        for number in 1...3 {
          try await caller.note("n\(number)", on: trip.id)
          try await phone.waitUntilItShows(Int64(number))
        }
        let refused = await world.simulator.run { apns, _ in apns.statistics.answers[400] }
        #expect(refused == 1, "the wrong environment is asked once")
      }
      await store.simulator.stop()
    }
  }

  @Test func `keep their tokens when APNs suddenly knows none of them`() async throws {
    try await World.with { world in
      try await world.withService { caller in
        let trip = try await caller.createTrip()
        var phones: [TestPhone] = []
        var cards: [TestCard] = []
        for number in 0..<3 {
          let phone = try await TestPhone.make(SystemVersion(17, 4), of: "m\(number)", in: world)
          try await phone.join(trip.id, caller)
          phones.append(phone)
          cards.append(try await phone.startCard(of: trip, caller))
        }
        try await caller.note("n1", on: trip.id)
        for phone in phones { try await phone.waitUntilItShows(1) }
        var tokens: [String] = []
        for (phone, card) in zip(phones, cards) { tokens.append(try await phone.token(of: card)) }
        await world.simulator.run { [tokens] apns, _ in
          for token in tokens { apns.setState(.wrongEnvironment, ofToken: token) }
        }
        try await caller.note("n2", on: trip.id)
        try await world.waitUntil("nobody is reached by token") {
          let read = try await caller.call("GET", "/v1/trips/\(trip.id)")
          return read.body["members"]?["updateToken"]?.int64 == 0
        }
        // Quarantined, not struck off: the next word of the app is enough.
        await world.simulator.run { [tokens] apns, _ in
          for token in tokens { apns.setState(.active, ofToken: token) }
        }
        let answer = try await caller.call(
          "POST", "/v1/activity-tokens",
          #"{"activityToken":"\#(tokens[0])","activityID":"\#(cards[0].name)"}"#)
        #expect(answer.body["reach"]?.string == "updateToken", "\(answer.text)")
        #expect(answer.body["firstSeen"]?.string != answer.body["lastSeen"]?.string)
        try await phones[0].waitUntilItShows(2)
      }
    }
  }
}
