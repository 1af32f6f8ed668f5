package import JSON

/// A checked `POST /v1/devices` or `POST /v1/activity-tokens`.
package struct TokenRegistration: Sendable, Equatable {
  package enum Kind: Sendable, Hashable {
    case device
    /// Of a device's widgets, which reload by it.
    case widget
    /// Of one card; another token for the same card supersedes it.
    case update(activityID: String)
    case pushToStart
  }

  package let kind: Kind
  package let token: PushToken
  /// Whose device it is, where the caller says so.
  package var member: MemberID?
  package let trip: TripID?
  /// The app that has the token; nil takes the trip's, where one is named, or the service's first.
  package let bundleID: String?
  package let environment: AppID.Environment?
  package let osVersion: OSVersion?

  /// Reads `{"deviceToken", "kind"?, "member"?, "bundleID"?, "environment"?, "osVersion"?}`.
  package static func readDevice(_ value: JSONValue) throws(Refusal) -> TokenRegistration {
    var reader = ObjectReader(value)
    let token = reader.token("deviceToken", isRequired: true)
    let kind = reader.choice("kind", among: ["device", "widget"]) ?? "device"
    return try finish(reader, token, kind == "widget" ? .widget : .device)
  }

  /// Reads `{"activityToken", "activityID"}` or `{"activityToken", "kind": "push-to-start"}`, each
  /// with `"member"?`, `"trip"?`, `"bundleID"?`, `"environment"?` and `"osVersion"?`.
  package static func readActivityToken(_ value: JSONValue) throws(Refusal) -> TokenRegistration {
    var reader = ObjectReader(value)
    let token = reader.token("activityToken", isRequired: true)
    let kind = reader.choice("kind", among: ["update", "push-to-start"]) ?? "update"
    if kind == "push-to-start" {
      if reader.has("activityID") {
        reader.add(
          .badValue, "activityID", "A push-to-start token belongs to no card: leave this out.")
      }
      _ = reader.value("activityID")
      return try finish(reader, token, .pushToStart)
    }
    let activityID = reader.string("activityID", isRequired: true, bytes: 1...128)
    return try finish(reader, token, .update(activityID: activityID ?? ""))
  }

  private static func finish(
    _ reader: consuming ObjectReader, _ token: PushToken?, _ kind: Kind
  ) throws(Refusal) -> TokenRegistration {
    let member = reader.id("member", as: MemberID.self)
    let trip = reader.identifier("trip") { (text) throws(IdentifierError) in try TripID(text) }
    let bundleID = reader.string("bundleID", bytes: 1...155)
    let environment = reader.environment()
    let osVersion = reader.osVersion()
    if let refusal = Refusal(reader.finish()) { throw refusal }
    guard let token else { preconditionFailure("a registration without problems has a token") }
    return TokenRegistration(
      kind: kind, token: token, member: member, trip: trip, bundleID: bundleID,
      environment: environment, osVersion: osVersion)
  }
}
