internal import Clocks
internal import FieldTrips
internal import HTTP
internal import JSON
internal import TripStore

extension TripAPI {
  // MARK: POST /v1/trips/{trip}/members

  /// Lets a member join; the answer has all that the app needs to start its card at once and right.
  ///
  /// Joining again changes what is new and keeps the rest.
  func join(_ request: HTTPRequest, trip text: String, by caller: Caller) async -> HTTPResponse {
    await answering {
      let trip = try tripID(text)
      let wanted = try JoinRequest.read(try parse(request.body))
      try caller.mayActAs(wanted.member)
      try await mayNameCard(wanted.activityID, caller)
      let before = try await record(of: trip)
      let type = try type(of: before)
      let environment = try environment(of: wanted, on: before)
      let canStart = try await noteTokens(of: wanted, environment: environment, joining: before)
      let isOpen = before.life.channel.openID != nil
      var isNews = false
      let outcome = try await store.changeMember(
        wanted.member, of: trip, at: clock.wall, announce: isNews
      ) { present in
        var member = present.flatMap { TripMember(stored: $0.body) } ?? TripMember()
        isNews = member.join(
          wanted, environment: environment, isLive: before.life.phase == .live, at: clock.wall)
        member.hasStartToken = canStart
        return MemberRecord(member, channelIsOpen: isOpen)
      }
      switch outcome {
      case .stored, .unchanged: break
      case .unknownTrip: throw ProblemError(.unknownTrip(text))
      case .ended:
        throw Refusal(
          Problem(.endedTrip, "The trip \(trip) has ended: nobody can join it any more."))
      case .full(let count):
        throw ProblemError(
          ProblemDocument(
            .tripFull, "The trip has \(count) members, as many as it may have."))
      }
      if isNews { await news.changed(trip) }
      if !canStart { try await noteTokenMeanwhile(of: wanted.member) }
      // Read after joining: a state that changed meanwhile is either in this reply or comes by the
      // channel, never neither.
      let record = try await record(of: trip)
      let member = try await store.member(wanted.member, of: trip)
      return .json(200, try reply(record, type, wanted.member, member))
    }
  }

  /// - Throws: a problem where this node cannot say what the app needs.
  private func type(of trip: TripRecord) throws(ProblemError) -> ActivityType {
    let name = trip.definition.typeName
    if let type = settings.type(named: name) { return type }
    throw ProblemError(
      ProblemDocument(
        .typeNotHere,
        "The trip is of the activity type \(name), which is not configured here. Ask again: "
          + "another node may have it.",
        retryAfter: 5))
  }

  /// A trip's members have their tokens where the trip's app is, unless they say otherwise.
  private func environment(
    of wanted: JoinRequest, on trip: TripRecord
  ) throws(Refusal) -> AppID.Environment {
    let app = trip.definition.app
    return try wanted.environment.map { (said) throws(Refusal) in
      try served(said, of: app.bundleID)
    } ?? app.environment
  }

  /// Keeps what a join brings that belongs to the person and not to the trip.
  ///
  /// - Returns: whether the person has a token to start cards with.
  private func noteTokens(
    of wanted: JoinRequest, environment: AppID.Environment, joining trip: TripRecord
  ) async throws -> Bool {
    if wanted.updateToken != nil, let activityID = wanted.activityID {
      try await store.noteActivity(
        activityID, ActivityOwner(trip: trip.id, member: wanted.member))
    }
    let now = clock.wall
    let bundleID = trip.definition.app.bundleID
    let tokens: [(kind: RegisteredToken.Kind, token: PushToken)] = [
      wanted.deviceToken.map { (.device, $0) }, wanted.pushToStartToken.map { (.pushToStart, $0) },
    ].compactMap(\.self)
    let person = try await store.changePerson(.member(wanted.member)) { person in
      person.joined(trip.id, at: now)
      for (kind, token) in tokens {
        person.register(
          kind, token, of: bundleID, in: environment, osVersion: wanted.osVersion, at: now)
      }
    }
    for (_, token) in tokens { try await store.noteHolder(wanted.member, of: token, at: now) }
    return !person.tokens.usable(.pushToStart, of: settings.tokenApp(bundleID)).isEmpty
  }

  /// A start token that was registered while its member joined found nobody to be noted with.
  private func noteTokenMeanwhile(of member: MemberID) async throws(StoreError) {
    let person = try await store.people([.member(member)])[0].get()
    guard !person.tokens.usable({ $0 == .pushToStart }).isEmpty else { return }
    try await noteStartToken(of: member, person)
  }

  // MARK: GET /v1/trips/{trip}/members/{member}

  /// How one member is reached, how its card is, and why none is started.
  func readMember(
    trip text: String, member name: String, by caller: Caller
  ) async -> HTTPResponse {
    await answering {
      let member = try memberID(name)
      try caller.mayActAs(member)
      let trip = try await record(of: try tripID(text))
      guard let record = try await store.member(member, of: trip.id),
        let known = TripMember(stored: record.body)
      else {
        throw Refusal(Problem(.unknownMember, "\(member) is no member of the trip \(trip.id)."))
      }
      let person = try await store.people([.member(member)])[0].get()
      let app = trip.definition.app
      var document = MemberDocument(
        trip: trip, member: member, reach: record.reach, known: known, person: person,
        app: settings.tokenApp(app.bundleID),
        served: Set(settings.environments(of: app.bundleID)), now: clock.wall)
      if let token = document.starts.first?.token {
        let device = try await store.people([.device(of: token)])[0].get()
        document.deviceShowsAnother = try await store.showsCard(
          ofOthersThan: member, among: device.holders, by: token, of: document.app, on: trip.id,
          at: clock.wall)
      }
      return .json(200, document.written())
    }
  }

  // MARK: DELETE /v1/trips/{trip}/members/{member}

  func leave(trip text: String, member name: String, by caller: Caller) async -> HTTPResponse {
    await answering {
      let trip = try tripID(text)
      let member = try memberID(name)
      try caller.mayActAs(member)
      var left: MemberRecord?
      let outcome = try await store.changeMember(
        member, of: trip, at: clock.wall, announce: false
      ) { present in
        left = present
        return nil
      }
      if outcome == .unknownTrip { throw ProblemError(.unknownTrip(text)) }
      try await store.changePerson(.member(member)) { $0.left(trip) }
      if let left { await owner.endCards(of: member, left, on: try await record(of: trip)) }
      // Who is no member already has left: leaving twice is leaving once.
      return HTTPResponse(status: 204)
    }
  }

  private func reply(
    _ record: TripRecord, _ type: ActivityType, _ name: MemberID, _ member: MemberRecord?
  ) throws(ProblemError) -> [UInt8] {
    let now = clock.wall
    let known = member.flatMap { TripMember(stored: $0.body) }
    let (attributes, state): (JSONText, ContentState)
    do throws(Refusal) {
      attributes = type.attributes(
        try JSONText(stored: record.definition.attributes), startingAt: now)
      state = try record.contentState(as: type)
    } catch {
      throw ProblemError(
        ProblemDocument(
          .unfitTrip,
          "What is kept of the trip would not decode on a phone, as its activity type is "
            + "now: \(error)"))
    }
    var writer = JSONWriter(reservingCapacity: 1_024)
    writer.object {
      $0.member("trip", record.id.text)
      $0.member("member", name.text)
      $0.member("reach", (member?.reach ?? .none).rawValue)
      if let card = known?.tokens.cards.first?.activityID { $0.member("activityID", card) }
      if let channel = record.life.channel.openID { $0.member("channelID", channel.text) }
      $0.member("attributesType", type.attributesType)
      $0.member("attributes", attributes)
      $0.member("contentState", state.text)
      $0.member("revision", record.revision.number)
      if let stale = record.life.times.staleDate(sentAt: now) {
        $0.member("staleDate", stale.wholeSeconds)
      }
      $0.member("endsAt", DateText.format(record.life.times.endsAt))
    }
    return writer.finish()
  }
}
