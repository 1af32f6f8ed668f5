public import Foundation

/// `POST /v1/trips`.
public struct NewTrip<Attributes: CardAttributes>: Encodable, Hashable, Sendable {
  /// The kind of card, as the service names it.
  public let type = Attributes.activityType
  public var name: String
  /// Required by a field trip, unknown to the other kinds.
  public var notebook: String?
  /// Nil starts at once.
  public var startsAt: Date?
  /// Nil ends after the hours that a card of this kind lives.
  public var endsAt: Date?
  /// Seconds after which a card that heard nothing says so, 60 to 28,800; nil as the service is set
  /// up.
  public var staleAfter: Int?
  public var dismissal: Dismissal?
  /// Members whose phones show no card get the start's alert as an ordinary push.
  public var alertsWithoutActivity: Bool?
  /// Nil begins as the kind of card does.
  public var contentState: Attributes.ContentState?

  public init(
    name: String, notebook: String? = nil, startsAt: Date? = nil, endsAt: Date? = nil,
    staleAfter: Int? = nil, dismissal: Dismissal? = nil, alertsWithoutActivity: Bool? = nil,
    contentState: Attributes.ContentState? = nil
  ) {
    self.name = name
    self.notebook = notebook
    self.startsAt = startsAt
    self.endsAt = endsAt
    self.staleAfter = staleAfter
    self.dismissal = dismissal
    self.alertsWithoutActivity = alertsWithoutActivity
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
  /// Your own ID of this person's device, 1 to 128 bytes.
  public var member: String
  /// Such as `18.1`; decides how the service reaches the device.
  public var osVersion: String?
  /// Nil as the trip's app.
  public var environment: PushEnvironment?
  public var deviceToken: PushToken?
  public var pushToStartToken: PushToken?
  /// The token of the card that `activityID` names.
  public var activityToken: PushToken?
  public var activityID: String?
  /// `ActivityAuthorizationInfo().frequentPushesEnabled`.
  public var frequentUpdates: Bool?
  /// Who starts the card: the app, from the answer, or the service by push. Nil is the app.
  public var start: Start?

  public enum Start: String, Encodable, Hashable, Sendable {
    case app, push
  }

  public init(
    member: String, osVersion: String? = nil, environment: PushEnvironment? = nil,
    deviceToken: PushToken? = nil, pushToStartToken: PushToken? = nil,
    activityToken: PushToken? = nil, activityID: String? = nil, frequentUpdates: Bool? = nil,
    start: Start? = nil
  ) {
    self.member = member
    self.osVersion = osVersion
    self.environment = environment
    self.deviceToken = deviceToken
    self.pushToStartToken = pushToStartToken
    self.activityToken = activityToken
    self.activityID = activityID
    self.frequentUpdates = frequentUpdates
    self.start = start
  }
}

/// `POST /v1/trips/{trip}/end`.
public struct TripEnd<Attributes: CardAttributes>: Encodable, Hashable, Sendable {
  /// Your own ID of this end: sent twice, it counts once.
  public let id: String
  /// Nil ends with the state as it is by then.
  public var contentState: Attributes.ContentState?
  /// Nil as the trip was created.
  public var dismissal: Dismissal?

  public init(
    id: String = UUID().uuidString, contentState: Attributes.ContentState? = nil,
    dismissal: Dismissal? = nil
  ) {
    self.id = id
    self.contentState = contentState
    self.dismissal = dismissal
  }
}
