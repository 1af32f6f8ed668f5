package import JSON

/// A checked `POST /v1/trips/{trip}/members`.
package struct JoinRequest: Sendable, Equatable {
  package let member: MemberID
  package let osVersion: OSVersion?
  /// Nil takes the trip's.
  package let environment: AppID.Environment?
  package let deviceToken: PushToken?
  package let pushToStartToken: PushToken?
  package let updateToken: PushToken?
  /// The phone's own ID of the card that `updateToken` belongs to.
  package let activityID: String?
  /// Whether the person allows frequent updates; nil when the app did not say.
  package let allowsFrequentUpdates: Bool?
  /// Whether the caller is the app, which starts its card by itself from the reply; otherwise the
  /// card is started by push.
  package let startsInApp: Bool

  /// Reads `{"member", "osVersion"?, "environment"?, "deviceToken"?, "pushToStartToken"?,
  /// "activityToken"?, "activityID"?, "frequentUpdates"?, "start"?}`.
  package static func read(_ value: JSONValue) throws(Refusal) -> JoinRequest {
    var reader = ObjectReader(value)
    let member = reader.id("member", as: MemberID.self, isRequired: true)
    let osVersion = reader.osVersion()
    let environment = reader.environment()
    let deviceToken = reader.token("deviceToken")
    let pushToStartToken = reader.token("pushToStartToken")
    let updateToken = reader.token("activityToken")
    let activityID = reader.string("activityID", bytes: 1...128)
    let frequentUpdates = reader.bool("frequentUpdates")
    let start = reader.choice("start", among: ["app", "push"]) ?? "app"
    if reader.has("activityToken"), !reader.has("activityID") {
      reader.add(
        .missingField, "activityID", "\"activityID\" must say which card the token belongs to.")
    }
    if let refusal = Refusal(reader.finish()) { throw refusal }
    guard let member else {
      preconditionFailure("a join without problems has a member")
    }
    return JoinRequest(
      member: member, osVersion: osVersion, environment: environment, deviceToken: deviceToken,
      pushToStartToken: pushToStartToken, updateToken: updateToken, activityID: activityID,
      allowsFrequentUpdates: frequentUpdates, startsInApp: start == "app")
  }
}

extension ObjectReader {
  mutating func osVersion() -> OSVersion? {
    identifier("osVersion") { (text) throws(IdentifierError) in try OSVersion(text) }
  }

  mutating func token(_ key: String, isRequired: Bool = false) -> PushToken? {
    identifier(key, isRequired: isRequired) { (text) throws(IdentifierError) in
      try PushToken(text)
    }
  }
}
