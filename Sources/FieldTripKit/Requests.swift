public import Foundation

/// `POST /v1/trips`.
public struct NewTrip: Encodable, Hashable, Sendable {
  public var name: String
  public var notebook: String
  /// Nil starts at once.
  public var startsAt: Date?
  /// Nil ends after the eight hours that a card lives.
  public var endsAt: Date?
  /// Seconds after which a card that heard nothing says so; nil as the server is set up.
  public var staleAfter: Int?
  public var dismissal: Dismissal?
  public var contentState: FieldTripAttributes.ContentState?

  public init(
    name: String, notebook: String, startsAt: Date? = nil, endsAt: Date? = nil,
    staleAfter: Int? = nil, dismissal: Dismissal? = nil,
    contentState: FieldTripAttributes.ContentState? = nil
  ) {
    self.name = name
    self.notebook = notebook
    self.startsAt = startsAt
    self.endsAt = endsAt
    self.staleAfter = staleAfter
    self.dismissal = dismissal
    self.contentState = contentState
  }
}

/// How long an ended card stays on the Lock Screen.
public enum Dismissal: Encodable, Hashable, Sendable {
  /// As the system likes: up to four hours.
  case systemDefault
  case atOnce
  /// Seconds after the end, 0 to 14,400.
  case after(seconds: Int)

  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    switch self {
    case .systemDefault: try container.encode("default")
    case .atOnce: try container.encode("atOnce")
    case .after(let seconds): try container.encode(seconds)
    }
  }
}

/// `POST /v1/trips/{trip}/members`. Joining again changes what is given and keeps the rest.
public struct Join: Encodable, Hashable, Sendable {
  /// Your own ID of this person's device.
  public var member: String
  /// Such as `18.1`; decides how the server reaches the device.
  public var osVersion: String?
  public var deviceToken: PushToken?
  public var pushToStartToken: PushToken?
  /// The token of the card that `activityID` names.
  public var activityToken: PushToken?
  public var activityID: String?
  /// `ActivityAuthorizationInfo().frequentPushesEnabled`.
  public var frequentUpdates: Bool?
  /// Who starts the card: the app, from the answer, or the server by push. Nil is the app.
  public var start: Start?

  public enum Start: String, Encodable, Hashable, Sendable {
    case app, push
  }

  public init(
    member: String, osVersion: String? = nil, deviceToken: PushToken? = nil,
    pushToStartToken: PushToken? = nil, activityToken: PushToken? = nil,
    activityID: String? = nil, frequentUpdates: Bool? = nil, start: Start? = nil
  ) {
    self.member = member
    self.osVersion = osVersion
    self.deviceToken = deviceToken
    self.pushToStartToken = pushToStartToken
    self.activityToken = activityToken
    self.activityID = activityID
    self.frequentUpdates = frequentUpdates
    self.start = start
  }
}

/// A token as the system hands it out, sent as hex.
public struct PushToken: Encodable, Hashable, Sendable {
  public var bytes: Data

  public init(_ bytes: Data) { self.bytes = bytes }

  public var hex: String {
    bytes.map { byte in
      let digits = String(byte, radix: 16)
      return byte < 16 ? "0" + digits : digits
    }.joined()
  }

  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(hex)
  }
}

/// `POST /v1/trips/{trip}/notes`: a note was captured.
public struct CapturedNote: Encodable, Hashable, Sendable {
  /// Your own ID of the note: sent twice, it counts once.
  public var id: String
  public var member: String?
  public var place: String?
  public var capturedAt: Date?
  /// Shown at once, ahead of the publisher's better moment. Keep these rare.
  public var significant: Bool?
  /// The note's place among all of the trip's, if something counts them.
  public var sequence: Int?

  public init(
    id: String, member: String? = nil, place: String? = nil, capturedAt: Date? = nil,
    significant: Bool? = nil, sequence: Int? = nil
  ) {
    self.id = id
    self.member = member
    self.place = place
    self.capturedAt = capturedAt
    self.significant = significant
    self.sequence = sequence
  }
}

/// `POST /v1/trips/{trip}/end`.
public struct TripEnd: Encodable, Hashable, Sendable {
  /// Nil ends with the state as it is by then.
  public var contentState: FieldTripAttributes.ContentState?
  /// Nil as the trip was created.
  public var dismissal: Dismissal?

  public init(
    contentState: FieldTripAttributes.ContentState? = nil, dismissal: Dismissal? = nil
  ) {
    self.contentState = contentState
    self.dismissal = dismissal
  }
}

/// `POST /v1/devices`: the token by which alerts reach a device.
public struct DeviceRegistration: Encodable, Hashable, Sendable {
  public var deviceToken: PushToken
  /// Whose device it is.
  public var member: String?
  /// `development` or `production`; nil as the server is set up.
  public var environment: String?
  public var osVersion: String?

  public init(
    deviceToken: PushToken, member: String? = nil, environment: String? = nil,
    osVersion: String? = nil
  ) {
    self.deviceToken = deviceToken
    self.member = member
    self.environment = environment
    self.osVersion = osVersion
  }
}

/// `POST /v1/activity-tokens`: a card's token, or a new one for the same card.
public struct ActivityTokenRegistration: Encodable, Hashable, Sendable {
  public var activityToken: PushToken
  /// Nil for a push-to-start token, which belongs to no card.
  public var activityID: String?
  public var kind: String?
  public var member: String?
  public var trip: String?
  public var osVersion: String?

  /// The update token of one card.
  public static func update(
    _ token: PushToken, activityID: String, member: String? = nil, trip: String? = nil,
    osVersion: String? = nil
  ) -> ActivityTokenRegistration {
    ActivityTokenRegistration(
      activityToken: token, activityID: activityID, kind: nil, member: member, trip: trip,
      osVersion: osVersion)
  }

  public static func pushToStart(
    _ token: PushToken, member: String? = nil, osVersion: String? = nil
  ) -> ActivityTokenRegistration {
    ActivityTokenRegistration(
      activityToken: token, activityID: nil, kind: "push-to-start", member: member, trip: nil,
      osVersion: osVersion)
  }
}
