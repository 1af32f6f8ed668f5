import APNsSimulator
import Clocks
import FieldcastServer
import JSON
import Testing

/// A virtual phone, and what its app tells the service.
struct TestPhone: Sendable {
  let phone: Int
  let member: String
  let system: SystemVersion
  /// From iOS 17.2 on.
  let startToken: String?
  let world: World
  let simulator: RunningSimulator

  static func make(
    _ system: SystemVersion, of member: String, in world: World,
    at simulator: RunningSimulator? = nil, _ change: (inout PhoneSettings) -> Void = { _ in }
  ) async throws -> TestPhone {
    let simulator = simulator ?? world.simulator
    var settings = PhoneSettings(bundleID: world.bundleID)
    settings.system = system
    change(&settings)
    let made = try await simulator.run { [settings] apns, _ throws(PhoneError) in
      try apns.addPhone(settings)
    }
    return TestPhone(
      phone: made.phone, member: member, system: system, startToken: made.pushToStartToken,
      world: world, simulator: simulator)
  }

  // MARK: What the app does

  /// - Parameter more: further members of the body, as `"start":"push"`.
  func join(
    _ trip: String, _ caller: TestCaller, withStartToken: Bool = false, _ more: String...,
    sourceLocation: SourceLocation = #_sourceLocation
  ) async throws {
    var parts = [#""member":"\#(member)""#, #""osVersion":"\#(system)""#] + more
    if withStartToken, let startToken { parts.append(#""pushToStartToken":"\#(startToken)""#) }
    let joined = try await caller.call(
      "POST", "/v1/trips/\(trip)/members", "{\(parts.joined(separator: ","))}")
    #expect(joined.status == 200, "\(joined.text)", sourceLocation: sourceLocation)
  }

  /// Starts a card in the app: on a channel, or with a token that the app registers.
  func startCard(
    of trip: TestCaller.Trip, on channel: String? = nil, _ caller: TestCaller
  ) async throws -> TestCard {
    let card = try await startCard(of: trip, on: channel)
    if channel == nil { try await register(card, of: trip.id, caller) }
    return card
  }

  /// Starts a card of which the service hears nothing yet.
  func startCard(of trip: TestCaller.Trip, on channel: String?) async throws -> TestCard {
    let state = Array(trip.contentState.utf8)
    let (phone, name) = (phone, member)
    let activity = try await simulator.run { apns, now throws(PhoneError) in
      try apns.startActivity(on: phone, contentState: state, channelID: channel, now: now)
    }
    return TestCard(activityID: activity, name: "\(name)-\(activity)")
  }

  /// Tells the service the token of a card, which the app may have been woken for.
  func register(_ card: TestCard, of trip: String, _ caller: TestCaller) async throws {
    let token = try await token(of: card)
    let answer = try await caller.call(
      "POST", "/v1/activity-tokens",
      #"{"activityToken":"\#(token)","activityID":"\#(card.name)","member":"\#(member)","#
        + #""trip":"\#(trip)"}"#)
    #expect(answer.status == 200, "\(answer.text)")
  }

  func token(of card: TestCard) async throws -> String {
    let phone = phone
    let token = await simulator.run { apns, _ in
      (try? apns.phone(phone))?.activities.first { $0.activityID == card.activityID }?.updateToken
    }
    return try #require(token)
  }

  // MARK: What it shows

  /// Waits until the system has as many cards of the app as that, running or over.
  ///
  /// - Returns: the newest.
  func waitForCard(
    _ number: Int = 1, withToken: Bool = false, upTo limit: Duration = .seconds(30),
    sourceLocation: SourceLocation = #_sourceLocation
  ) async throws -> TestCard {
    let phone = phone
    let isMet = await simulator.wait(upTo: limit) { apns, now in
      apns.advance(to: now)
      guard let activities = (try? apns.phone(phone))?.activities, activities.count >= number
      else { return false }
      return !withToken || activities.last?.updateToken != nil
    }
    #expect(isMet, "\(member) has no card", sourceLocation: sourceLocation)
    let newest = await simulator.run { apns, _ in (try? apns.phone(phone))?.activities.last }
    let activityID = try #require(newest).activityID
    return TestCard(activityID: activityID, name: "\(member)-\(activityID)")
  }

  /// Waits until the newest card shows so many notes.
  func waitUntilItShows(
    _ notes: Int64, sourceLocation: SourceLocation = #_sourceLocation
  ) async throws {
    let phone = phone
    let isMet = await simulator.wait(upTo: .seconds(30)) { apns, now in
      guard let text = (try? apns.cards(of: phone, now: now))?.last?.contentState else {
        return false
      }
      return (try? JSONValue.parse(text))?["notesCaptured"]?.int64 == notes
    }
    #expect(
      isMet, "the card of \(member) does not show \(notes) notes", sourceLocation: sourceLocation)
  }

  /// Waits until no card is active any more.
  func waitForEnd(sourceLocation: SourceLocation = #_sourceLocation) async throws {
    let phone = phone
    let isMet = await simulator.wait(upTo: .seconds(30)) { apns, now in
      (try? apns.cards(of: phone, now: now))?.allSatisfy { $0.endedAt != nil } == true
    }
    #expect(isMet, "a card of \(member) does not end", sourceLocation: sourceLocation)
  }

  func cards() async throws -> [CardView] {
    let phone = phone
    return try await simulator.run { apns, now throws(PhoneError) in
      try apns.cards(of: phone, now: now)
    }
  }

  /// Cards that a person sees, and that are not over.
  func liveCards() async throws -> [CardView] {
    try await cards().filter { $0.phase == .active || $0.phase == .stale }
  }
}

/// One card on a phone.
struct TestCard: Sendable {
  let activityID: Int
  /// As the app names it to the service.
  let name: String
}

extension TestCaller {
  /// Captures a note that goes out at once.
  func note(
    _ id: String, on trip: String, sourceLocation: SourceLocation = #_sourceLocation
  ) async throws {
    let answer = try await call(
      "POST", "/v1/trips/\(trip)/notes", #"{"id":"\#(id)","significant":true}"#)
    #expect(answer.status == 202, "\(answer.text)", sourceLocation: sourceLocation)
  }
}
