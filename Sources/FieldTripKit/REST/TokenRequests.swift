public import Foundation

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

/// Where a token is good: as the `aps-environment` entitlement of the build that got it says.
public enum PushEnvironment: String, Codable, Hashable, Sendable {
  case development, production
}

/// `POST /v1/devices`: the token by which alerts reach a device, or its widgets are reloaded.
public struct DeviceRegistration: Encodable, Hashable, Sendable {
  public var deviceToken: PushToken
  /// Nil is the device.
  public var kind: Kind?
  /// Whose device it is.
  public var member: String?
  /// Nil as the service is set up.
  public var environment: PushEnvironment?
  public var osVersion: String?
  /// The app that has the token, where the service serves several; nil is its first.
  public var bundleID: String?

  public enum Kind: String, Encodable, Hashable, Sendable {
    case device, widget
  }

  public init(
    deviceToken: PushToken, kind: Kind? = nil, member: String? = nil,
    environment: PushEnvironment? = nil, osVersion: String? = nil, bundleID: String? = nil
  ) {
    self.deviceToken = deviceToken
    self.kind = kind
    self.member = member
    self.environment = environment
    self.osVersion = osVersion
    self.bundleID = bundleID
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
  public var environment: PushEnvironment?
  public var osVersion: String?
  /// The app that has the token, where the service serves several; nil is the trip's, or its first.
  public var bundleID: String?

  /// The update token of one card.
  public static func update(
    _ token: PushToken, activityID: String, member: String? = nil, trip: String? = nil,
    environment: PushEnvironment? = nil, osVersion: String? = nil
  ) -> ActivityTokenRegistration {
    ActivityTokenRegistration(
      activityToken: token, activityID: activityID, kind: nil, member: member, trip: trip,
      environment: environment, osVersion: osVersion)
  }

  public static func pushToStart(
    _ token: PushToken, member: String? = nil, environment: PushEnvironment? = nil,
    osVersion: String? = nil, bundleID: String? = nil
  ) -> ActivityTokenRegistration {
    ActivityTokenRegistration(
      activityToken: token, activityID: nil, kind: "push-to-start", member: member, trip: nil,
      environment: environment, osVersion: osVersion, bundleID: bundleID)
  }
}
