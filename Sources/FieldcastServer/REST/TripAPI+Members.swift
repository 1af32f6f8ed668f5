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
  func join(_ request: HTTPRequest, trip text: String) async -> HTTPResponse {
    await answering {
      let trip = try tripID(text)
      let wanted = try JoinRequest.read(try parse(request.body))
      let before = try await record(of: trip)
      let isOpen = before.life.channel.openID != nil
      let outcome = try await store.changeMember(
        wanted.member, of: trip, at: clock.wall, announce: false
      ) { present in
        var member = present.flatMap { MemberBody(stored: $0.body) } ?? MemberBody()
        member.merge(wanted)
        return MemberRecord(reach: member.reach(channelIsOpen: isOpen), body: member.written())
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
            status: 409, kind: "trip-full", title: "The trip is full",
            detail: "The trip has \(count) members, as many as it may have."))
      }
      // Read after joining: a state that changed meanwhile is either in this reply or comes by the
      // channel, never neither.
      let record = try await record(of: trip)
      let member = try await store.member(wanted.member, of: trip)
      return .json(200, reply(record, member: wanted.member, reach: member?.reach ?? .none))
    }
  }

  // MARK: DELETE /v1/trips/{trip}/members/{member}

  func leave(trip text: String, member name: String) async -> HTTPResponse {
    await answering {
      let trip = try tripID(text)
      let member: MemberID
      do throws(IdentifierError) { member = try MemberID(name) } catch {
        throw Refusal(Problem(.badIdentifier, error.message))
      }
      let outcome = try await store.changeMember(
        member, of: trip, at: clock.wall, announce: false
      ) { _ in nil }
      if outcome == .unknownTrip { throw ProblemError(.unknownTrip(text)) }
      // Who is no member already has left: leaving twice is leaving once.
      return HTTPResponse(status: 204, fields: [:], body: [])
    }
  }

  private func reply(_ record: TripRecord, member: MemberID, reach: Reach) -> [UInt8] {
    let type = settings.type(named: record.definition.typeName)
    let now = clock.wall
    var writer = JSONWriter(reservingCapacity: 1_024)
    writer.object {
      $0.member("trip", record.id.text)
      $0.member("member", member.text)
      $0.member("reach", reach.rawValue)
      if let channel = record.life.channel.openID { $0.member("channelID", channel.text) }
      if let type { $0.member("attributesType", type.attributesType) }
      $0.key("attributes")
      $0.rawOrNull(record.definition.attributes)
      $0.key("contentState")
      $0.rawOrNull(record.contentState)
      $0.member("revision", record.revision.number)
      if let stale = record.life.times.staleDate(sentAt: now) {
        $0.member("staleDate", stale.wholeSeconds)
      }
      $0.member("endsAt", DateText.format(record.life.times.endsAt))
    }
    return writer.finish()
  }
}

/// What the service keeps of a member: its system and its tokens, as far as they were given.
struct MemberBody {
  private var object: JSONObject = [:]

  init() {}

  init?(stored bytes: [UInt8]) {
    guard let value = try? JSONValue.parse(bytes), let object = value.object else { return nil }
    self.object = object
  }

  /// Takes what a join brings; what it does not mention stays.
  mutating func merge(_ join: JoinRequest) {
    set("osVersion", join.osVersion.map { "\($0)" })
    set("environment", join.environment?.rawValue)
    set("deviceToken", join.deviceToken?.hex)
    set("pushToStartToken", join.pushToStartToken?.hex)
    set("updateToken", join.updateToken?.hex)
    set("activityID", join.activityID)
    if let allowed = join.allowsFrequentUpdates { object["frequentUpdates"] = .bool(allowed) }
  }

  func reach(channelIsOpen: Bool) -> Reach {
    let device = DeviceReach(
      osVersion: object["osVersion"]?.string.flatMap { try? OSVersion($0) },
      hasUpdateToken: object["updateToken"] != nil,
      hasPushToStartToken: object["pushToStartToken"] != nil)
    return device.reach(channelIsOpen: channelIsOpen)
  }

  func written() -> [UInt8] { JSONValue.object(object).serialized() }

  private mutating func set(_ key: String, _ value: String?) {
    if let value { object[key] = .string(value) }
  }
}
