import APNsSimulator
import Clocks
import FieldcastServer
import HTTP
import JSON
import Testing

@Suite struct `Members without channels` {
  /// Phones on the channel and phones with tokens, a token that dies and one that is rotated: all
  /// cards show the same in the end, and then the same end.
  @Test func `see the same as those with them`() async throws {
    try await World.with { world in
      try await world.withService { caller in
        let trip = try await caller.createTrip()
        try await world.addPhones(20, to: trip.channelID, showing: trip.contentState)
        var phones: [TokenPhone] = []
        for name in ["anna", "bela", "cleo", "dora"] {
          phones.append(try await .join(trip, as: name, caller, world))
        }
        try await note("n1", on: trip, caller)
        try await world.waitForPhones(on: trip.channelID) { $0["notesCaptured"]?.int64 == 1 }
        for phone in phones { try await phone.waitUntilItShows(1, world) }

        // One phone's card is gone, and another's token is rotated.
        let (dead, rotated) = (phones[0], phones[1])
        await world.simulator.run { apns, now in
          apns.setState(.unregistered(since: now), ofToken: dead.token)
        }
        let fresh = try await world.simulator.run { apns, now throws(PhoneError) in
          try apns.rotateUpdateToken(rotated.activityID, on: rotated.phone, now: now)
        }
        let answer = try await caller.call(
          "POST", "/v1/activity-tokens",
          #"{"activityToken":"\#(fresh)","activityID":"\#(rotated.card)"}"#)
        #expect(answer.status == 200, "\(answer.text)")
        for number in 2...4 {
          try await note("n\(number)", on: trip, caller)
          try await world.waitForBroadcast(on: trip.channelID, notes: Int64(number))
          for phone in phones[1...] { try await phone.waitUntilItShows(Int64(number), world) }
        }
        let answers = await world.simulator.run { apns, _ in apns.statistics.answers }
        #expect(answers[410] == 1, "a dead token is sent to once: \(answers)")
        let read = try await caller.call("GET", "/v1/trips/\(trip.id)")
        #expect(read.body["members"]?["updateToken"]?.int64 == 3, "\(read.text)")

        _ = try await caller.call("POST", "/v1/trips/\(trip.id)/end")
        for phone in phones[1...] { try await phone.waitForEnd(world) }
        await world.waitUntilNoChannelIsLeft()
        #expect(await world.simulator.run { apns, _ in apns.complaints.count } == 0)
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
        let phone = try await TokenPhone.join(trip, as: "anna", caller, world)
        for number in 1...3 {
          try await note("n\(number)", on: trip, caller)
          try await phone.waitUntilItShows(Int64(number), world)
        }
        _ = try await caller.call("POST", "/v1/trips/\(id)/end")
        try await phone.waitForEnd(world)
        try await world.waitUntil("the trip has ended") {
          try await caller.call("GET", "/v1/trips/\(id)").body["phase"]?.string == "ended"
        }
      }
    }
  }

  /// An app that was built for the App Store and says nothing of it.
  @Test func `are found where their tokens are good`() async throws {
    try await World.with { world in
      var configuration = SimulatorConfiguration()
      configuration.environment = .production
      // Keys of one name and team are taken for one key.
      configuration.apps = [SimulatedAppSettings(bundleID: world.bundleID, teamID: "FIELDCAST2")]
      let store = try await Simulator.start(
        configuration, clock: world.clock, loop: world.loop,
        folder: world.folder.appendingPathComponent("store").path)
      let app = try AppConfiguration(of: store, environment: .production)
      try await world.withService({ $0.apps.append(app) }) { caller in
        let trip = try await caller.createTrip()
        let phone = try await TokenPhone.join(trip, as: "anna", caller, world, at: store)
        for number in 1...3 {
          try await note("n\(number)", on: trip, caller)
          try await phone.waitUntilItShows(Int64(number), world, at: store)
        }
        let refused = await world.simulator.run { apns, _ in apns.statistics.answers[400] }
        #expect(refused == 1, "the wrong environment is asked once")
      }
      await store.stop()
    }
  }

  @Test func `keep their tokens when APNs suddenly knows none of them`() async throws {
    try await World.with { world in
      try await world.withService { caller in
        let trip = try await caller.createTrip()
        var phones: [TokenPhone] = []
        for number in 0..<3 {
          phones.append(try await .join(trip, as: "m\(number)", caller, world))
        }
        try await note("n1", on: trip, caller)
        for phone in phones { try await phone.waitUntilItShows(1, world) }
        let tokens = phones.map(\.token)
        await world.simulator.run { apns, _ in
          for token in tokens { apns.setState(.wrongEnvironment, ofToken: token) }
        }
        try await note("n2", on: trip, caller)
        try await world.waitUntil("nobody is reached by token") {
          let read = try await caller.call("GET", "/v1/trips/\(trip.id)")
          return read.body["members"]?["updateToken"]?.int64 == 0
        }
        // Quarantined, not struck off: the next word of the app is enough.
        await world.simulator.run { apns, _ in
          for token in tokens { apns.setState(.active, ofToken: token) }
        }
        let answer = try await caller.call(
          "POST", "/v1/activity-tokens",
          #"{"activityToken":"\#(tokens[0])","activityID":"\#(phones[0].card)"}"#)
        #expect(answer.body["reach"]?.string == "updateToken", "\(answer.text)")
        #expect(answer.body["firstSeen"]?.string != answer.body["lastSeen"]?.string)
        try await phones[0].waitUntilItShows(2, world)
      }
    }
  }

  private func note(
    _ id: String, on trip: TestCaller.Trip, _ caller: TestCaller
  ) async throws {
    let answer = try await caller.call(
      "POST", "/v1/trips/\(trip.id)/notes", #"{"id":"\#(id)","significant":true}"#)
    #expect(answer.status == 202, "\(answer.text)")
  }
}

/// A phone whose card has a token of its own.
struct TokenPhone: Sendable {
  let phone: Int
  let activityID: Int
  /// The phone's own ID of the card.
  let card: String
  let token: String

  /// A phone that joins in the app, starts its card, and registers the card's token.
  static func join(
    _ trip: TestCaller.Trip, as member: String, _ caller: TestCaller, _ world: World,
    at simulator: RunningSimulator? = nil
  ) async throws -> TokenPhone {
    let joined = try await caller.call(
      "POST", "/v1/trips/\(trip.id)/members", #"{"member":"\#(member)","osVersion":"17.4"}"#)
    #expect(joined.status == 200, "\(joined.text)")
    var settings = PhoneSettings(bundleID: world.bundleID)
    settings.system = SystemVersion(17, 4)
    let state = Array(trip.contentState.utf8)
    let made = try await (simulator ?? world.simulator).run {
      [settings] apns, now throws(PhoneError) in
      let phone = try apns.addPhone(settings)
      let activity = try apns.startActivity(
        on: phone.phone, contentState: state, channelID: nil, now: now)
      let token = try apns.phone(phone.phone).activities.first?.updateToken ?? ""
      return (phone: phone.phone, activity: activity, token: token)
    }
    let card = "card-\(member)"
    let answer = try await caller.call(
      "POST", "/v1/activity-tokens",
      #"{"activityToken":"\#(made.token)","activityID":"\#(card)","member":"\#(member)","#
        + #""trip":"\#(trip.id)"}"#)
    #expect(answer.status == 200, "\(answer.text)")
    return TokenPhone(
      phone: made.phone, activityID: made.activity, card: card, token: made.token)
  }

  func waitUntilItShows(
    _ notes: Int64, _ world: World, at simulator: RunningSimulator? = nil,
    sourceLocation: SourceLocation = #_sourceLocation
  ) async throws {
    let phone = phone
    let isMet = await (simulator ?? world.simulator).wait(upTo: .seconds(30)) { apns, now in
      guard let text = (try? apns.cards(of: phone, now: now))?.first?.contentState else {
        return false
      }
      return (try? JSONValue.parse(text))?["notesCaptured"]?.int64 == notes
    }
    #expect(isMet, "a card does not show \(notes) notes", sourceLocation: sourceLocation)
  }

  func waitForEnd(
    _ world: World, sourceLocation: SourceLocation = #_sourceLocation
  ) async throws {
    let phone = phone
    let isMet = await world.simulator.wait(upTo: .seconds(30)) { apns, now in
      (try? apns.cards(of: phone, now: now))?.first?.endedAt != nil
    }
    #expect(isMet, "a card does not end", sourceLocation: sourceLocation)
  }
}
