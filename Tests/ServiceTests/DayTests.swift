import APNsSimulator
import Clocks
import FieldcastServer
import Foundation
import HTTP
import JSON
import Testing

/// Everyone on one trip: phones of all kinds, a day long, with a service that is stopped and started
/// in between. What every phone shows is compared with the truth.
@Suite struct `A day of a mixed group` {
  @Test func `leaves every phone with the truth`() async throws {
    try await World.with(speed: Day.speed) { world in
      let store = try await AppStoreSide.start(beside: world)
      var day: Day?
      try await world.withService({ $0.apps.append(store.app) }) { caller in
        let group = try await Day.begin(in: world, store, caller)
        try await group.startAll(caller)
        try await group.capture(1...5, caller)
        try await group.expectTruth("in the morning", caller)
        try await group.misfortunes(caller)
        try await group.capture(6...8, caller)
        try await group.expectTruth("before the restart", caller)
        day = group
      }
      let group = try #require(day)
      try await world.withService({ $0.apps.append(store.app) }) { caller in
        try await group.capture(9...12, caller)
        try await group.join(late: "jana", caller)
        try await group.expectTruth("after the restart", caller)
        // Eight hours after its start the system ends a card: by then there is a new one.
        for name in ["anna", "cleo", "dora"] {
          _ = try await group.phone(name).waitForCard(
            2, withToken: name == "dora", upTo: .seconds(60))
        }
        try await world.waitUntil("the first cards are over") {
          try await group.phone("anna").cards().first?.endedAt != nil
        }
        try await group.capture(13...15, caller)
        try await group.expectTruth("in the evening", caller)
        try await group.registerCards(of: "dora", caller)
        _ = try await caller.call("POST", "/v1/trips/\(group.trip.id)/end")
        for phone in group.phones { try await phone.waitForEnd() }
        try await group.expectEnd()
        await world.waitUntilNoChannelIsLeft()
      }
      try group.write()
      await store.simulator.stop()
    }
  }
}

/// The group, and what each phone should show.
private final class Day {
  /// Of the clock: a day in a minute.
  static let speed = 1_200.0

  let world: World
  let trip: TestCaller.Trip
  private(set) var phones: [TestPhone] = []
  private var reach: [String: String] = [:]
  /// Phones that show nothing alive, with the reason.
  private var without: [String: String] = [:]
  private var notes: Int64 = 0
  private var rows: [String] = []

  private init(_ world: World, _ trip: TestCaller.Trip) {
    self.world = world
    self.trip = trip
  }

  static func begin(
    in world: World, _ store: AppStoreSide, _ caller: TestCaller
  ) async throws -> Day {
    let starts = (world.clock.wall + .seconds(7_200)).wholeSeconds
    let trip = try await caller.createTrip(
      #"{"name":"Day","notebook":"Birds","dismissal":600,"alertsWithoutActivity":true,"#
        // At this clock's pace a machine that stands still for half a second loses twenty minutes.
        + #""staleAfter":28800,"startsAt":\#(starts),"#
        + #""endsAt":\#(starts + 72 * 3_600)}"#)
    let day = Day(world, trip)
    try await day.add("cleo", SystemVersion(18, 1), "push-to-start, channel")
    try await day.add("dora", SystemVersion(17, 2), "push-to-start, token")
    for name in ["cleo", "dora"] {
      try await day.phone(name).join(trip.id, caller, withStartToken: true)
    }
    try await day.add("anna", SystemVersion(18, 0), "channel")
    try await day.add("bela", SystemVersion(17, 4), "token")
    try await day.add("emil", SystemVersion(16, 0), "alert", without: "no Live Activities")
    let emil = try day.phone("emil")
    let token = try await emil.simulator.run { [number = emil.phone] apns, _ throws(PhoneError) in
      try apns.phone(number).deviceToken
    }
    try await emil.join(trip.id, caller, #""deviceToken":"\#(token)""#)
    try await day.add("fina", SystemVersion(18, 0), "two devices, channel")
    try await day.add("fina's old phone", SystemVersion(17, 4), "two devices, token", of: "fina")
    try await day.add("gert", SystemVersion(17, 4), "wrong environment", at: store.simulator)
    try await day.add("hugo", SystemVersion(17, 4), "dead token")
    try await day.add("ivan", SystemVersion(18, 0), "swiped away")
    return day
  }

  private func add(
    _ name: String, _ system: SystemVersion, _ reach: String, of member: String? = nil,
    without: String? = nil, at simulator: RunningSimulator? = nil
  ) async throws {
    phones.append(try await .make(system, of: member ?? name, in: world, at: simulator))
    names.append(name)
    self.reach[name] = reach
    self.without[name] = without
  }

  private var names: [String] = []

  func phone(_ name: String) throws -> TestPhone {
    phones[try #require(names.firstIndex(of: name))]
  }

  /// The trip begins: those with start tokens get their cards by push, the others start them.
  func startAll(_ caller: TestCaller) async throws {
    _ = try await phone("cleo").waitForCard()
    _ = try await phone("dora").waitForCard(withToken: true)
    try await registerCards(of: "dora", caller)
    for name in ["anna", "fina", "ivan"] {
      let phone = try phone(name)
      try await phone.join(trip.id, caller, withStartToken: name == "anna")
      _ = try await phone.startCard(of: trip, on: trip.channelID, caller)
    }
    for name in ["bela", "fina's old phone", "gert", "hugo"] {
      let phone = try phone(name)
      try await phone.join(trip.id, caller)
      _ = try await phone.startCard(of: trip, caller)
    }
    let emil = try phone("emil")
    let number = emil.phone
    let isAlerted = await emil.simulator.wait(upTo: .seconds(30)) { apns, now in
      apns.advance(to: now)
      return (try? apns.phone(number))?.notifications.isEmpty == false
    }
    #expect(isAlerted, "who can have no card is told of the start")
  }

  func capture(_ numbers: ClosedRange<Int>, _ caller: TestCaller) async throws {
    for number in numbers {
      // By all doors in turn, a quarter of an hour apart.
      let note =
        #"{"trip":"\#(trip.id)","id":"n\#(number)","place":"Pond \#(number)","#
        + #""sequence":\#(number)}"#
      switch number % 3 {
      case 0: try await caller.add(toStream: note)
      case 1: try await caller.publish(note)
      default:
        let answer = try await caller.call("POST", "/v1/trips/\(trip.id)/notes", note)
        #expect(answer.status == 202, "\(answer.text)")
      }
      notes = Int64(number)
      try await world.loop.sleep(for: .seconds(900) / Day.speed)
    }
  }

  /// One phone's token dies, and one person swipes the card away.
  func misfortunes(_ caller: TestCaller) async throws {
    let hugo = try phone("hugo")
    let token = try await hugo.token(of: try await hugo.waitForCard())
    await hugo.simulator.run { apns, now in
      apns.setState(.unregistered(since: now), ofToken: token)
    }
    without["hugo"] = "its token died"
    let ivan = try phone("ivan")
    let card = try await ivan.waitForCard()
    let number = ivan.phone
    try await ivan.simulator.run { apns, now throws(PhoneError) in
      try apns.dismiss(card.activityID, on: number, now: now)
    }
    let answer = try await caller.call(
      "DELETE",
      "/v1/activity-tokens/\(card.name)?reason=dismissed&trip=\(trip.id)&member=ivan")
    #expect(answer.status == 204, "\(answer.text)")
    without["ivan"] = "swiped away"
  }

  func join(late name: String, _ caller: TestCaller) async throws {
    try await add(name, SystemVersion(18, 2), "channel, joined late")
    let joined = try await caller.call(
      "POST", "/v1/trips/\(trip.id)/members", #"{"member":"\#(name)","osVersion":"18.2"}"#)
    let state = try #require(joined.body["contentState"])
    let present = TestCaller.Trip(
      id: trip.id, channelID: trip.channelID,
      contentState: String(decoding: state.serialized(), as: UTF8.self))
    _ = try await phone(name).startCard(of: present, on: trip.channelID, caller)
  }

  /// The app is woken for each card, and hands over its token.
  func registerCards(of name: String, _ caller: TestCaller) async throws {
    let phone = try phone(name)
    try await phone.register(try await phone.waitForCard(withToken: true), of: trip.id, caller)
  }

  /// Whether a phone's card has lived its eight hours, and nobody can start another.
  private func isOver(_ name: String, _ phone: TestPhone) async throws -> Bool {
    guard !Self.renewed.contains(name), let last = try await phone.cards().last else {
      return false
    }
    return world.clock.wall >= last.startedAt + .seconds(8 * 3_600)
  }

  /// Who can be started by push.
  private static let renewed: Set = ["anna", "cleo", "dora"]

  /// That every phone with a living card shows the mapper's result over all notes.
  func expectTruth(_ when: String, _ caller: TestCaller) async throws {
    // The app is woken for each card that follows another, whenever that was.
    try await registerCards(of: "dora", caller)
    for (name, phone) in zip(names, phones) {
      if let reason = without[name] {
        rows.append(row(name, "nothing new: \(reason)", when))
        continue
      }
      var isOver = false
      try await world.waitUntil("\(name) shows \(notes) \(when)") {
        isOver = try await self.isOver(name, phone)
        let state = try await phone.cards().last.map { try JSONValue.parse($0.contentState) }
        return isOver || state?["notesCaptured"]?.int64 == notes
      }
      if isOver {
        rows.append(row(name, "nothing new: eight hours are over, and it has no start token", when))
        continue
      }
      let living = try await phone.liveCards()
      let card = try #require(living.last, "\(name) has no living card \(when)")
      let state = try JSONValue.parse(card.contentState)
      #expect(state["notesCaptured"]?.int64 == notes, "\(name) \(when)")
      #expect(state["lastPlaceName"]?.string == "Pond \(notes)", "\(name) \(when)")
      rows.append(row(name, card.contentState, when))
    }
  }

  /// That every card is over, none came twice, and nobody was troubled without need.
  func expectEnd() async throws {
    for (name, phone) in zip(names, phones) {
      let cards = try await phone.cards()
      // However slow the machine: one card at a time, the next about half an hour before the last dies.
      for (earlier, later) in zip(cards, cards.dropFirst()) {
        #expect(later.startedAt - earlier.startedAt > .seconds(24_000), "\(name)")
      }
      let expected = Self.renewed.contains(name) ? 2...10 : name == "emil" ? 0...0 : 1...1
      #expect(expected.contains(cards.count), "\(name)")
      guard Self.renewed.contains(name), let last = cards.last else { continue }
      let state = try JSONValue.parse(last.contentState)
      #expect(state["notesCaptured"]?.int64 == notes, "\(name) at the end")
      rows.append(row(name, last.contentState, "at the end"))
    }
    let alerts = try await world.simulator.run {
      [number = try phone("emil").phone] apns, _ throws(PhoneError) in
      try apns.phone(number).notifications.count
    }
    #expect(alerts == 1, "and only once")
    let answers = await world.simulator.run { apns, _ in apns.statistics.answers }
    for simulator in [world.simulator, try phone("gert").simulator] {
      let most = await simulator.run { apns, _ in apns.mostPushesToADeadToken }
      #expect(most == 1, "a dead token is sent to once")
    }
    #expect(answers[400] == 1, "the wrong environment is asked once: \(answers)")
    #expect(await world.simulator.run { apns, _ in apns.complaints.count } == 0)
    let ledger = try #require(await world.ledger(of: trip.channelID))
    expectOrder(in: ledger)
  }

  private func row(_ name: String, _ shown: String, _ when: String) -> String {
    "\(name) | \(reach[name] ?? "") | \(shown) | \(when)"
  }

  /// The table of who showed what when, for who wants to see it.
  func write() throws {
    guard let path = ProcessInfo.processInfo.environment["FIELDCAST_DAY_TABLE"] else { return }
    try (rows.joined(separator: "\n") + "\n").write(toFile: path, atomically: true, encoding: .utf8)
  }
}
