package import Clocks
import JSON

/// A token as the registry holds it: where it is good, since when it is known, and what APNs said.
package struct RegisteredToken: Hashable, Sendable {
  package typealias Kind = TokenRegistration.Kind

  package let kind: Kind
  package let token: PushToken
  /// The app that has it. Nil is the trip's, of a card; else the service's first app, as where no
  /// one said: so it is of tokens that were stored before apps were told apart.
  package internal(set) var bundleID: String?
  /// Where it is sent to.
  package internal(set) var environment: AppID.Environment
  /// Of the device that has it, where that is known.
  package internal(set) var osVersion: OSVersion?
  /// Of a card: of its first token.
  package let firstSeen: UnixTime
  /// The last time that the app named it: an older 410 does not count.
  package internal(set) var lastSeen: UnixTime
  /// Where APNs has accepted it.
  package internal(set) var acceptedIn: Set<AppID.Environment> = []
  /// Where APNs has said that it does not know it, since the app named it last.
  package internal(set) var refusedIn: Set<AppID.Environment> = []
  /// Nothing is sent to it since then, until the app names it again: it is quarantined or held; see
  /// ``TokenVerdict``.
  package internal(set) var restingSince: UnixTime?

  init(
    _ kind: Kind, _ token: PushToken, of bundleID: String?, _ environment: AppID.Environment,
    osVersion: OSVersion?, firstSeen: UnixTime, lastSeen: UnixTime
  ) {
    self.kind = kind
    self.token = token
    self.bundleID = bundleID
    self.environment = environment
    self.osVersion = osVersion
    self.firstSeen = firstSeen
    self.lastSeen = lastSeen
  }

  /// The card whose token it is; nil for another kind.
  package var activityID: String? {
    if case .update(let activityID) = kind { activityID } else { nil }
  }

  /// Whether pushes may go to it.
  package var isUsable: Bool { restingSince == nil }

  /// Whether it is one of an app's.
  package func belongs(to app: TokenApp) -> Bool {
    bundleID.map { $0 == app.bundleID } ?? app.isFirst
  }
}

/// An app whose tokens are wanted: those of another are unknown to its topic.
package struct TokenApp: Hashable, Sendable {
  package let bundleID: String
  /// Whether it is the one that tokens are of which name none.
  package let isFirst: Bool

  /// - Parameter first: the service's first app.
  package init(_ bundleID: String, first: String) {
    self.bundleID = bundleID
    isFirst = bundleID == first
  }
}

extension RegisteredToken {
  /// Reads what ``json`` wrote; nil for anything else.
  init?(_ value: JSONValue) {
    guard let text = value["token"]?.string, let token = try? PushToken(text),
      let word = value["environment"]?.string, let environment = AppID.Environment(rawValue: word),
      let first = value["first"]?.storedTime, let last = value["last"]?.storedTime
    else { return nil }
    switch value["kind"]?.string {
    case "device": kind = .device
    case "widget": kind = .widget
    case "push-to-start": kind = .pushToStart
    case "update":
      guard let card = value["activityID"]?.string else { return nil }
      kind = .update(activityID: card)
    default: return nil
    }
    self.token = token
    bundleID = value["app"]?.string
    self.environment = environment
    osVersion = value["osVersion"]?.string.flatMap { try? OSVersion($0) }
    firstSeen = first
    lastSeen = last
    acceptedIn = Self.environments(value["accepted"])
    refusedIn = Self.environments(value["refused"])
    restingSince = value["quarantined"]?.storedTime
  }

  var json: JSONValue {
    var object: JSONObject = ["kind": .string(kind.name)]
    if case .update(let activityID) = kind { object["activityID"] = .string(activityID) }
    object["token"] = .string(token.hex)
    if let bundleID { object["app"] = .string(bundleID) }
    object["environment"] = .string(environment.rawValue)
    if let osVersion { object["osVersion"] = .string("\(osVersion)") }
    object["first"] = JSONValue(stored: firstSeen)
    object["last"] = JSONValue(stored: lastSeen)
    if !acceptedIn.isEmpty { object["accepted"] = Self.json(acceptedIn) }
    if !refusedIn.isEmpty { object["refused"] = Self.json(refusedIn) }
    if let restingSince { object["quarantined"] = JSONValue(stored: restingSince) }
    return .object(object)
  }

  private static func environments(_ value: JSONValue?) -> Set<AppID.Environment> {
    Set((value?.array ?? []).compactMap { $0.string.flatMap(AppID.Environment.init(rawValue:)) })
  }

  private static func json(_ environments: Set<AppID.Environment>) -> JSONValue {
    .array(environments.map(\.rawValue).sorted().map { .string($0) })
  }
}

extension TokenRegistration.Kind {
  /// `device`, `widget`, `update` or `push-to-start`, as callers write it.
  package var name: String {
    switch self {
    case .device: "device"
    case .widget: "widget"
    case .update: "update"
    case .pushToStart: "push-to-start"
    }
  }
}
