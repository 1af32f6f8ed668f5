package import Clocks
import JSON

/// What is kept of a person beyond single trips: the tokens of devices and of remote starts, and the
/// budget of those.
///
/// The same is kept of a token by itself: of one that was registered without a name, and of each
/// start or device token, who registered it and what it was used for, since one device may be
/// registered under several names.
package struct Person: Hashable, Sendable {
  package private(set) var tokens = TokenRegistry()
  /// Counted by the person, since a device whose token was rotated has no new budget, and by the
  /// token, since a device has one budget under all names.
  package var starts = StartBudget()
  /// Of a token by itself: the members that it was registered for, the one that did it last at the
  /// end.
  package private(set) var holders: [MemberID] = []
  /// The trips joined last, the newest last: their members' reach changes with the start tokens.
  package private(set) var trips: [TripID] = []
  /// The last day, counted from 1970, on which an app or a caller named the person. A day and not a
  /// moment, so that joining again changes nothing.
  package private(set) var lastDay: Int64 = 0

  package static let tripLimit = 32
  package static let holderLimit = 16

  package init() {}

  package mutating func register(
    _ kind: RegisteredToken.Kind, _ token: PushToken, of bundleID: String? = nil,
    in environment: AppID.Environment, osVersion: OSVersion?, at now: UnixTime
  ) {
    tokens.register(
      kind, token, of: bundleID, in: environment, osVersion: osVersion, at: now)
    seen(at: now)
  }

  /// The token that this is kept of was registered for a member.
  package mutating func registered(for member: MemberID, at now: UnixTime) {
    seen(at: now)
    Self.putLast(member, of: &holders, limit: Self.holderLimit)
  }

  /// Counts a start of the device whose token this is kept of, which is remembered as long as one
  /// that was named.
  package mutating func countStartOfDevice(at now: UnixTime) {
    seen(at: now)
    starts.count(at: now)
  }

  package mutating func answered(
    _ answer: TokenAnswer, to token: PushToken, namedAt: UnixTime? = nil,
    in environment: AppID.Environment, served: Set<AppID.Environment>, isStorm: Bool,
    at now: UnixTime
  ) -> TokenVerdict {
    tokens.answered(
      answer, to: token, namedAt: namedAt, in: environment, served: served, isStorm: isStorm,
      at: now)
  }

  package mutating func joined(_ trip: TripID, at now: UnixTime) {
    seen(at: now)
    Self.putLast(trip, of: &trips, limit: Self.tripLimit)
  }

  /// Lets go of tokens that no app has named since a day, counted from 1970.
  package mutating func removeTokens(unseenSince day: Int64) {
    tokens.removeTokens(unseenSince: UnixTime(wholeSeconds: day * 86_400))
  }

  /// The newest stands at the end, and the oldest goes.
  private static func putLast<ID: Equatable>(_ id: ID, of list: inout [ID], limit: Int) {
    list.removeAll { $0 == id }
    list.append(id)
    if list.count > limit { list.removeFirst() }
  }

  private mutating func seen(at now: UnixTime) { lastDay = max(lastDay, Self.day(of: now)) }

  /// Days since 1970.
  package static func day(of time: UnixTime) -> Int64 { time.wholeSeconds / 86_400 }

  package mutating func left(_ trip: TripID) { trips.removeAll { $0 == trip } }
}

extension Person {
  /// Reads what ``written()`` wrote; of anything else, a person of whom nothing is known.
  package init(stored bytes: [UInt8]) {
    guard let value = try? JSONValue.parse(bytes) else { return }
    tokens = TokenRegistry(value["tokens"])
    starts = StartBudget(
      starts: (value["starts"]?.array ?? []).compactMap(\.storedTime))
    lastDay = value["day"]?.int64 ?? 0
    trips = (value["trips"]?.array ?? []).compactMap { $0.string.flatMap { try? TripID($0) } }
    holders = (value["holders"]?.array ?? []).compactMap {
      $0.string.flatMap { try? MemberID($0) }
    }
  }

  package func written() -> [UInt8] {
    var object: JSONObject = [:]
    if !tokens.tokens.isEmpty { object["tokens"] = tokens.json }
    if !starts.starts.isEmpty {
      object["starts"] = .array(
        starts.starts.map(JSONValue.init(stored:)))
    }
    if lastDay > 0 { object["day"] = .number(JSONNumber(lastDay)) }
    if !trips.isEmpty { object["trips"] = .array(trips.map { .string($0.text) }) }
    if !holders.isEmpty { object["holders"] = .array(holders.map { .string($0.text) }) }
    return JSONValue.object(object).serialized()
  }
}
