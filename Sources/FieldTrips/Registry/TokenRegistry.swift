package import Clocks
import JSON

/// What APNs said to a push, as far as it concerns the token.
package enum TokenAnswer: Hashable, Sendable {
  case accepted
  /// 410: dead since then, by APNs' clock; nil when the answer did not say.
  case dead(since: UnixTime?)
  /// `BadDeviceToken` or one of another topic: this environment does not know it.
  case unknown
}

/// What becomes of a token by an answer.
package enum TokenVerdict: Hashable, Sendable {
  case kept
  /// To be tried there, once; the registry has it there from now on.
  case moved(to: AppID.Environment)
  /// Struck off: never to be sent to again.
  case retired
  /// Kept, and not sent to: this looks like a wrong key or environment, not like a dead phone.
  case quarantined
  /// Kept, and not sent to until its app names it again: APNs gave it up before its app named it
  /// last, so it may have come back, and who is dead is sent to once.
  case held
  /// It was struck off or superseded meanwhile.
  case gone
}

/// The tokens of one person, or of one person's cards on a trip.
///
/// A value: registrations and APNs' answers go in. A new token is added and never replaces another,
/// but for a card's, which supersedes the earlier one of the same card.
package struct TokenRegistry: Hashable, Sendable {
  /// In the order in which they came.
  package private(set) var tokens: [RegisteredToken] = []

  /// More than a person's devices can have at a time. Beyond it, the one not heard of for longest
  /// goes: apps that rotate tokens leave dead ones behind.
  package static let limit = 24

  package init() {}

  /// Notes that an app has this token. Naming it again renews it.
  ///
  /// - Parameters:
  ///   - bundleID: nil when nobody said: then what was said before stays.
  ///   - environment: as the app said. Where APNs has accepted the token only in the other one,
  ///     that stays.
  package mutating func register(
    _ kind: RegisteredToken.Kind, _ token: PushToken, of bundleID: String? = nil,
    in environment: AppID.Environment, osVersion: OSVersion?, at now: UnixTime
  ) {
    let now = now.inMilliseconds
    if let index = tokens.firstIndex(where: { $0.kind == kind && $0.token == token }) {
      var known = tokens[index]
      known.bundleID = bundleID ?? known.bundleID
      known.lastSeen = max(known.lastSeen, now)
      known.osVersion = osVersion ?? known.osVersion
      if known.acceptedIn.isEmpty || known.acceptedIn.contains(environment) {
        known.environment = environment
      }
      known.refusedIn = []
      known.restingSince = nil
      tokens[index] = known
      return
    }
    var firstSeen = now
    if case .update = kind {
      // A rotated token makes the card no younger.
      for earlier in tokens where earlier.kind == kind {
        firstSeen = min(firstSeen, earlier.firstSeen)
      }
      tokens.removeAll { $0.kind == kind }
    }
    tokens.append(
      RegisteredToken(
        kind, token, of: bundleID, environment, osVersion: osVersion, firstSeen: firstSeen,
        lastSeen: now))
    guard tokens.count > Self.limit,
      let oldest = tokens.indices.min(by: { tokens[$0].lastSeen < tokens[$1].lastSeen })
    else { return }
    tokens.remove(at: oldest)
  }

  /// Strikes off what no app has named since a time: APNs may go on to accept such tokens for weeks
  /// after the app is gone.
  package mutating func removeTokens(unseenSince time: UnixTime) {
    tokens.removeAll { $0.lastSeen < time }
  }

  /// Strikes off the token of a card that is over.
  ///
  /// - Returns: whether there was one.
  package mutating func removeCard(_ activityID: String) -> Bool {
    let count = tokens.count
    tokens.removeAll { $0.kind == .update(activityID: activityID) }
    return tokens.count < count
  }

  /// Takes in what APNs said to a push.
  ///
  /// - Parameters:
  ///   - environment: where it was sent.
  ///   - namedAt: when the app had named the token last, as the push was sent; nil when that is
  ///     what is known here.
  ///   - served: environments that pushes can be sent to.
  ///   - isStorm: many tokens fail just now, so the fault is elsewhere.
  package mutating func answered(
    _ answer: TokenAnswer, to token: PushToken, namedAt: UnixTime? = nil,
    in environment: AppID.Environment, served: Set<AppID.Environment>, isStorm: Bool,
    at now: UnixTime
  ) -> TokenVerdict {
    guard let index = tokens.firstIndex(where: { $0.token == token }) else { return .gone }
    switch answer {
    case .accepted:
      tokens[index].acceptedIn.insert(environment)
      tokens[index].refusedIn.remove(environment)
      return .kept
    case .dead(let since):
      guard let since, since < tokens[index].lastSeen else {
        tokens.remove(at: index)
        return .retired
      }
      // An answer to what was sent before the app named it again says nothing of it now.
      if let namedAt, namedAt < tokens[index].lastSeen { return .kept }
      tokens[index].restingSince = now.inMilliseconds
      return .held
    case .unknown:
      return refused(index, in: environment, served: served, isStorm: isStorm, at: now)
    }
  }

  private mutating func refused(
    _ index: Int, in environment: AppID.Environment, served: Set<AppID.Environment>,
    isStorm: Bool, at now: UnixTime
  ) -> TokenVerdict {
    tokens[index].refusedIn.insert(environment)
    let known = tokens[index]
    if !known.acceptedIn.contains(environment) {
      let untried = served.subtracting(known.refusedIn)
      if let other = untried.first {
        tokens[index].environment = other
        return .moved(to: other)
      }
      if !isStorm && known.acceptedIn.isEmpty {
        tokens.remove(at: index)
        return .retired
      }
    }
    tokens[index].restingSince = now.inMilliseconds
    return .quarantined
  }

  /// Those of a kind that pushes may go to, the one heard of last first.
  package func usable(_ isWanted: (RegisteredToken.Kind) -> Bool) -> [RegisteredToken] {
    tokens.filter { $0.isUsable && isWanted($0.kind) }.sorted { $0.lastSeen > $1.lastSeen }
  }

  package var cards: [RegisteredToken] { usable { if case .update = $0 { true } else { false } } }

  /// Those of one kind that an app has and pushes may go to, the one heard of last first.
  package func usable(_ kind: RegisteredToken.Kind, of app: TokenApp) -> [RegisteredToken] {
    usable { $0 == kind }.filter { $0.belongs(to: app) }
  }

  package subscript(token: PushToken) -> RegisteredToken? { tokens.first { $0.token == token } }
}

extension TokenRegistry {
  /// Reads what ``json`` wrote. A token that cannot be read is left out: the app names it again.
  init(_ value: JSONValue?) {
    tokens = (value?.array ?? []).compactMap(RegisteredToken.init)
  }

  var json: JSONValue { .array(tokens.map(\.json)) }
}
