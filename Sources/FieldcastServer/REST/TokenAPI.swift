internal import Clocks
internal import FieldTrips
internal import HTTP
internal import JSON
internal import TripStore

/// `POST /v1/devices` and `POST /v1/activity-tokens`: tokens of devices, of remote starts, and of
/// cards. Each call adds or renews; none removes another device's token.
struct TokenAPI: Sendable {
  let api: TripAPI

  /// A device's token, for alerts.
  func registerDevice(_ request: HTTPRequest, by caller: Caller) async -> HTTPResponse {
    await api.answering {
      let read = try TokenRegistration.readDevice(try api.parse(request.body))
      return try await registerPerson(try Self.own(read, of: caller))
    }
  }

  /// A card's token, or one by which cards can be started.
  func registerActivityToken(_ request: HTTPRequest, by caller: Caller) async -> HTTPResponse {
    await api.answering {
      let read = try TokenRegistration.readActivityToken(try api.parse(request.body))
      let wanted = try Self.own(read, of: caller)
      guard case .update(let activityID) = wanted.kind else {
        return try await registerPerson(wanted)
      }
      try await api.mayNameCard(activityID, caller)
      return try await registerCard(wanted, activityID: activityID)
    }
  }

  /// A card is over on its phone: nothing more is sent to it.
  ///
  /// - Parameters:
  ///   - query: `reason`, `ended` or `dismissed`; `trip` and `member` for a card that has no token,
  ///     as one on the channel.
  func endActivity(
    _ activityID: String, query: QueryItems, by caller: Caller
  ) async -> HTTPResponse {
    await api.answering {
      guard (1...128).contains(activityID.utf8.count) else {
        throw Refusal(
          Problem(
            .badIdentifier, "A card's ID has 1 to 128 bytes, not \(activityID.utf8.count)."))
      }
      let isDismissed = try Self.isDismissed(query["reason"])
      let owner = try await owner(ofEnded: activityID, query)
      try caller.mayActAs(owner.member)
      let isOpen = try await api.record(of: owner.trip).life.channel.openID != nil
      var isNews = false
      let outcome = try await api.store.changeMember(
        owner.member, of: owner.trip, at: api.clock.wall, announce: isNews
      ) { present in
        guard let present, var member = TripMember(stored: present.body) else { return present }
        member.cardEnded(activityID, isDismissed: isDismissed, at: api.clock.wall)
        isNews = member.card.state == .none
        return MemberRecord(member, channelIsOpen: isOpen)
      }
      if outcome == .unknownTrip { throw ProblemError(.unknownTrip(owner.trip.text)) }
      if isNews { await api.news.changed(owner.trip) }
      // One that was over already is over: told twice is told once.
      return HTTPResponse(status: 204)
    }
  }

  /// What a member registers without a name is its own.
  private static func own(
    _ read: TokenRegistration, of caller: Caller
  ) throws(ProblemError) -> TokenRegistration {
    guard let member = caller.member else { return read }
    try caller.mayActAs(read.member ?? member)
    var wanted = read
    wanted.member = member
    return wanted
  }

  private static func isDismissed(_ reason: String?) throws(Refusal) -> Bool {
    switch reason {
    case "dismissed"?: return true
    case "ended"?, nil: return false
    case let other?:
      throw Refusal(
        Problem(.badValue, "\"reason\" is ended or dismissed, not \(other.prefix(20))."))
    }
  }

  private func owner(
    ofEnded activityID: String, _ query: QueryItems
  ) async throws -> ActivityOwner {
    let trip = try query["trip"].map { try api.tripID($0) }
    let member = try query["member"].map { try api.memberID($0) }
    if let known = try await api.store.owner(ofActivity: activityID) { return known }
    guard let trip, let member else {
      throw Refusal(
        Problem(
          .unknownActivity,
          "This card was not registered before: name its trip and member, as ?trip=…&member=…."))
    }
    return ActivityOwner(trip: trip, member: member)
  }

  private func registerPerson(_ wanted: TokenRegistration) async throws -> HTTPResponse {
    var trip: TripRecord?
    if let id = wanted.trip { trip = try await api.record(of: id) }
    let bundleID = try api.bundleID(of: wanted, on: trip)
    let environment = try api.served(wanted.environment, of: bundleID)
    let now = api.clock.wall
    let stored = try await api.store.changePerson(PersonID(wanted)) {
      $0.register(
        wanted.kind, wanted.token, of: bundleID, in: environment, osVersion: wanted.osVersion,
        at: now)
    }
    if let member = wanted.member {
      try await api.store.noteHolder(member, of: wanted.token, at: now)
    }
    if let member = wanted.member, wanted.kind == .pushToStart {
      try await api.noteStartToken(of: member, stored)
    }
    return reply(
      stored.tokens[wanted.token], of: PersonID(wanted), trip: nil, reach: nil,
      warning: wanted.member == nil && wanted.kind == .pushToStart ? Self.unnamed : nil)
  }

  private static let unnamed =
    "Cards are started for members: this token starts none until it is registered with a \"member\"."

  private func registerCard(
    _ wanted: TokenRegistration, activityID: String
  ) async throws -> HTTPResponse {
    let owner = try await owner(of: wanted, activityID: activityID)
    let record = try await api.record(of: owner.trip)
    let environment = try api.served(
      wanted.environment, of: try api.bundleID(of: wanted, on: record))
    // First, since a rotated token may come at once and name its card alone.
    try await api.store.noteActivity(activityID, owner)
    let isOpen = record.life.channel.openID != nil
    var isNews = false
    let outcome = try await api.store.changeMember(
      owner.member, of: owner.trip, at: api.clock.wall, announce: isNews
    ) { present in
      guard let present, var member = TripMember(stored: present.body) else { return nil }
      isNews = member.register(
        wanted.token, of: activityID, environment: environment, osVersion: wanted.osVersion,
        at: api.clock.wall)
      return MemberRecord(member, channelIsOpen: isOpen)
    }
    switch outcome {
    case .stored(let stored?):
      if isNews { await api.news.changed(owner.trip) }
      let tokens = TripMember(stored: stored.body)?.tokens
      return reply(
        tokens?[wanted.token], of: .member(owner.member), trip: owner.trip, reach: stored.reach)
    case .unknownTrip: throw ProblemError(.unknownTrip(owner.trip.text))
    case .stored(nil), .unchanged, .ended, .full:
      throw Refusal(
        Problem(
          .unknownMember, at: "/member",
          "\(owner.member) is no member of the trip \(owner.trip): join first."))
    }
  }

  /// Whose card it is: as the request says, or as it was registered before.
  private func owner(
    of wanted: TokenRegistration, activityID: String
  ) async throws -> ActivityOwner {
    if let trip = wanted.trip, let member = wanted.member {
      return ActivityOwner(trip: trip, member: member)
    }
    guard let known = try await api.store.owner(ofActivity: activityID) else {
      guard wanted.trip == nil, wanted.member == nil else {
        let missing = wanted.trip == nil ? "trip" : "member"
        throw Refusal(
          Problem(
            .missingField, at: "/\(missing)",
            "\"\(missing)\" is required with a card that was not registered before."))
      }
      throw Refusal(
        Problem(
          .unknownActivity, at: "/activityID",
          "This card was not registered before: name its \"trip\" and \"member\" once."))
    }
    guard wanted.trip == nil || wanted.trip == known.trip else {
      throw Refusal(
        Problem(
          .wrongTrip, at: "/trip", "This card was registered for the trip \(known.trip) before."))
    }
    return ActivityOwner(trip: known.trip, member: wanted.member ?? known.member)
  }

  /// Never the token itself: what is sent back may end in a log.
  private func reply(
    _ token: RegisteredToken?, of person: PersonID, trip: TripID?, reach: Reach?,
    warning: String? = nil
  ) -> HTTPResponse {
    var writer = JSONWriter(reservingCapacity: 256)
    writer.object {
      switch person {
      case .member(let member): $0.member("member", member.text)
      // By it the device can be sent notifications.
      case .device(let digest): $0.member("device", DeviceID(digest: digest).text)
      }
      if let trip { $0.member("trip", trip.text) }
      if let reach { $0.member("reach", reach.rawValue) }
      if let warning {
        $0.key("warnings")
        $0.array { $0.string(warning) }
      }
      guard let token else { return }
      $0.member("kind", token.kind.name)
      if case .update(let activityID) = token.kind { $0.member("activityID", activityID) }
      if let bundleID = token.bundleID { $0.member("bundleID", bundleID) }
      $0.member("environment", token.environment.rawValue)
      if let osVersion = token.osVersion { $0.member("osVersion", "\(osVersion)") }
      $0.member("firstSeen", DateText.format(token.firstSeen))
      $0.member("lastSeen", DateText.format(token.lastSeen))
    }
    return .json(200, writer.finish())
  }
}

extension TripAPI {
  /// - Throws: 403 where a member names a card that another one registered.
  func mayNameCard(_ activityID: String?, _ caller: Caller) async throws {
    guard caller.member != nil, let activityID,
      let owner = try await store.owner(ofActivity: activityID)
    else { return }
    try caller.mayActAs(owner.member)
  }

  /// The app that a token is said to be of: the trip's, where one is named. Nil when nobody says.
  func bundleID(
    of wanted: TokenRegistration, on trip: TripRecord?
  ) throws(Refusal) -> String? {
    let ofTrip = trip?.definition.app.bundleID
    guard let bundleID = wanted.bundleID else { return ofTrip }
    if let ofTrip, ofTrip != bundleID {
      throw Refusal(Problem(.badValue, at: "/bundleID", "The trip is of the app \(ofTrip)."))
    }
    guard !settings.environments(of: bundleID).isEmpty else {
      throw Refusal(
        Problem(.badValue, at: "/bundleID", "No app of that bundle ID is configured here."))
    }
    return bundleID
  }

  /// The environment that a caller named, or else the first one that the app has here.
  ///
  /// - Parameter bundleID: nil means the service's first app.
  func served(
    _ environment: AppID.Environment?, of bundleID: String?
  ) throws(Refusal) -> AppID.Environment {
    let bundleID = bundleID ?? settings.firstBundleID
    let served = settings.environments(of: bundleID)
    // A trip of an app that is configured no more keeps what is said of its tokens.
    guard let first = served.first else { return environment ?? .production }
    guard let environment else { return first }
    guard served.contains(environment) else {
      throw Refusal(
        Problem(
          .badValue, at: "/environment",
          "This service sends to \(first.rawValue) only for the app \(bundleID), not to "
            + "\(environment.rawValue)."))
    }
    return environment
  }

  /// Lets a member's trips know that cards can be started there from here, and live ones that one
  /// may have to be.
  ///
  /// - Parameter person: the member, with the token.
  func noteStartToken(of member: MemberID, _ person: Person) async throws(StoreError) {
    for (trip, life) in zip(person.trips, await store.lives(of: person.trips)) {
      guard let life = try life.get(), try await canStart(on: trip, person) else { continue }
      let isOpen = life.channel.openID != nil
      let isNews = life.phase == .live
      let outcome = try await store.changeMember(
        member, of: trip, at: clock.wall, announce: isNews
      ) {
        guard let present = $0, var known = TripMember(stored: present.body),
          !known.hasStartToken
        else { return $0 }
        known.hasStartToken = true
        return MemberRecord(known, channelIsOpen: isOpen)
      }
      if isNews, case .stored = outcome { await news.changed(trip) }
    }
  }

  /// Whether a person has a start token of a trip's app.
  private func canStart(on trip: TripID, _ person: Person) async throws(StoreError) -> Bool {
    let first = settings.firstBundleID
    var bundleID: String? = first
    // One app needs no look at the trip.
    if settings.apps.contains(where: { $0.bundleID != first }) {
      bundleID = try await store.trip(trip)?.definition.app.bundleID
    }
    guard let bundleID else { return false }
    return !person.tokens.usable(.pushToStart, of: settings.tokenApp(bundleID)).isEmpty
  }
}

extension PersonID {
  init(_ wanted: TokenRegistration) {
    if let member = wanted.member {
      self = .member(member)
    } else {
      self = .device(of: wanted.token)
    }
  }
}
