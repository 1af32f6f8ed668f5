import APNsSimulator
import Clocks
import FieldTrips
import FieldcastServer
import JSON
import Testing

/// Two apps of one team that one service serves, and one person who has both.
@Suite struct `Two apps of one service` {
  private static let other = "com.example.other"

  private static func with(
    _ body: (World, TestCaller) async throws -> Void
  ) async throws {
    let addOther: (inout SimulatorConfiguration) -> Void = {
      let first = SimulatedAppSettings.fieldTrips
      $0.apps = [first, SimulatedAppSettings(bundleID: other, teamID: first.teamID)]
    }
    try await World.with(configure: addOther) { world in
      try await world.withService {
        var app = $0.apps[0]
        app.bundleID = other
        $0.apps.append(app)
      } _: { caller in
        try await body(world, caller)
      }
    }
  }

  private static func addPhone(_ bundleID: String, _ world: World) async throws -> Phone {
    try await world.simulator.run { apns, _ throws(PhoneError) in
      try apns.addPhone(PhoneSettings(bundleID: bundleID))
    }
  }

  private static func register(
    _ phone: Phone, _ member: String, of bundleID: String, _ caller: TestCaller
  ) async throws {
    let answer = try await caller.call(
      "POST", "/v1/devices",
      #"{"deviceToken":"\#(phone.deviceToken)","member":"\#(member)","bundleID":"\#(bundleID)"}"#)
    #expect(answer.status == 200, "\(answer.text)")
    #expect(answer.body["bundleID"]?.string == bundleID)
  }

  @Test func `send a notification to their own tokens alone`() async throws {
    try await Self.with { world, caller in
      let first = try await Self.addPhone(world.bundleID, world)
      let second = try await Self.addPhone(Self.other, world)
      try await Self.register(first, "ada", of: world.bundleID, caller)
      try await Self.register(second, "ada", of: Self.other, caller)
      for (bundleID, app) in [(world.bundleID, first), (Self.other, second)] {
        let id = try await caller.notify(
          #"{"to":{"member":"ada"},"alert":{"body":"Lunch"},"bundleID":"\#(bundleID)"}"#)
        let outcome = try await caller.outcome(of: id, world)
        #expect(outcome["devices"]?["accepted"]?.int64 == 1, "\(outcome)")
        #expect(outcome["devices"]?["dead"]?.int64 == 0)
        let shown = try await AlertPhone(phone: app.phone, token: app.deviceToken).shown(world)
        #expect(shown.count == 1)
      }
      let answers = await world.simulator.run { apns, _ in apns.statistics.answers }
      #expect(answers[400] == nil, "\(answers)")
      let wrong = try await caller.call(
        "POST", "/v1/devices", #"{"deviceToken":"abcd","bundleID":"com.example.none"}"#)
      #expect(wrong.status == 400 && wrong.problem == "bad-value", "\(wrong.text)")
    }
  }

  @Test func `start cards by their own tokens`() async throws {
    try await Self.with { world, caller in
      let starts = (world.clock.wall + .seconds(480)).wholeSeconds
      let trip = try await caller.createTrip(
        #"{"name":"Walk","notebook":"Birds","startsAt":\#(starts),"bundleID":"\#(Self.other)"}"#)
      let own = try await TestPhone.make(SystemVersion(18, 1), of: "anna", in: world) {
        $0.bundleID = Self.other
      }
      try await own.join(trip.id, caller, withStartToken: true)
      // The other app's token is named later, and is no token of this trip's app.
      let elsewhere = try await TestPhone.make(SystemVersion(18, 1), of: "anna", in: world)
      let token = try #require(elsewhere.startToken)
      let answer = try await caller.call(
        "POST", "/v1/activity-tokens",
        #"{"activityToken":"\#(token)","kind":"push-to-start","member":"anna"}"#)
      #expect(answer.status == 200, "\(answer.text)")
      let document = try await caller.call("GET", "/v1/trips/\(trip.id)/members/anna")
      #expect(document.body["tokens"]?["starts"]?.int64 == 1, "\(document.text)")
      _ = try await own.waitForCard()
      #expect(try await elsewhere.cards().isEmpty)
      let answers = await world.simulator.run { apns, _ in apns.statistics.answers }
      #expect(answers[400] == nil, "\(answers)")
    }
  }

  /// Very many tokens of one app are bad, which says nothing of the other's.
  @Test func `have a storm each`() async throws {
    try await Self.with { world, caller in
      for number in 0..<12 {
        let answer = try await caller.call(
          "POST", "/v1/devices",
          #"{"deviceToken":"ab\#(number + 10)","member":"ada","bundleID":"\#(Self.other)"}"#)
        #expect(answer.status == 200, "\(answer.text)")
      }
      _ = try await caller.call(
        "POST", "/v1/devices", #"{"deviceToken":"abcdef","member":"ada"}"#)
      let storm = try await caller.outcome(
        of: try await caller.notify(
          #"{"to":{"member":"ada"},"alert":{"body":"Lunch"},"bundleID":"\#(Self.other)"}"#), world)
      #expect(storm["devices"]?["refused"]?.int64 == 12, "\(storm)")
      let calm = try await caller.outcome(
        of: try await caller.notify(#"{"to":{"member":"ada"},"alert":{"body":"Lunch"}}"#), world)
      #expect(calm["devices"]?["dead"]?.int64 == 1, "it is dead, and no storm: \(calm)")
    }
  }
}

@Suite struct `An app that is served in one environment` {
  /// The service's first app is in development, the trip's in production.
  @Test func `has its tokens there where nobody says`() async throws {
    try await World.with { world in
      let store = try await AppStoreSide.start(beside: world, bundleID: "com.example.other")
      try await world.withService({ $0.apps.append(store.app) }) { caller in
        let trip = try await caller.createTrip(
          #"{"name":"Walk","notebook":"Birds","bundleID":"com.example.other"}"#)
        let phone = try await TestPhone.make(
          SystemVersion(17, 4), of: "anna", in: world, at: store.simulator
        ) { $0.bundleID = "com.example.other" }
        try await phone.join(trip.id, caller)
        _ = try await phone.startCard(of: trip, caller)
        try await caller.note("n1", on: trip.id)
        try await phone.waitUntilItShows(1)
        let wrong = try await caller.call(
          "POST", "/v1/activity-tokens",
          #"{"activityToken":"abcd","kind":"push-to-start","bundleID":"com.example.other","#
            + #""environment":"development"}"#)
        #expect(wrong.status == 400 && wrong.problem == "bad-value", "\(wrong.text)")
      }
      await store.simulator.stop()
    }
  }

  /// A service that served both environments, and is started with one of them left out.
  @Test func `says whom it does not reach any more`() async throws {
    try await World.with { world in
      let store = try await AppStoreSide.start(beside: world)
      var trip: TestCaller.Trip?
      try await world.withService({ $0.apps.append(store.app) }) { caller in
        let made = try await caller.createTrip()
        trip = made
        let phone = try await TestPhone.make(
          SystemVersion(17, 4), of: "anna", in: world, at: store.simulator)
        try await phone.join(made.id, caller, #""environment":"production""#)
        let card = try await phone.startCard(of: made, on: nil)
        let token = try await phone.token(of: card)
        let answer = try await caller.call(
          "POST", "/v1/activity-tokens",
          #"{"activityToken":"\#(token)","activityID":"a","member":"anna","trip":"\#(made.id)","#
            + #""environment":"production"}"#)
        #expect(answer.status == 200, "\(answer.text)")
        try await caller.note("n1", on: made.id)
        try await phone.waitUntilItShows(1)
      }
      await store.simulator.stop()
      let id = try #require(trip).id
      try await world.withService(log: .silent) { caller, _ in
        let member = try await caller.call("GET", "/v1/trips/\(id)/members/anna")
        #expect(member.body["reach"]?.string == "none", "\(member.text)")
        #expect(member.body["tokens"]?["unserved"]?.int64 == 1)
        try await caller.note("n2", on: id)
        try await world.waitUntil("it is counted") {
          try await caller.call("GET", "/metrics").text
            .contains("fieldcast_card_pushes_unserved_total 1")
        }
      }
    }
  }
}
