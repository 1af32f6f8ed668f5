package import Clocks
import JSON

/// What is kept of a member of a trip: the system, the tokens of its cards, and how far its card is.
package struct TripMember: Hashable, Sendable {
  package private(set) var osVersion: OSVersion?
  package private(set) var allowsFrequentUpdates: Bool?
  /// Update tokens, one a card; a person with several devices has several.
  package private(set) var tokens = TokenRegistry()
  /// Cards that were followed by newer ones, and are to be ended.
  package private(set) var replaced: Set<String> = []
  /// The member's card, as far as remote starts are concerned.
  package var card = MemberCard()
  /// The person has a push-to-start token: kept here as well, so that the trip can count by reach.
  package var hasStartToken = false

  /// The trip has ended, and its end has yet to reach the member's cards.
  package var awaitsEnd = false

  /// Whether the member's card gets what it shows by the channel, and a push could start another.
  ///
  /// A card on a system without channels that was started by a push has no token at first either.
  package var listensToChannel: Bool {
    hasStartToken && tokens.cards.isEmpty && device.understandsChannels
  }

  /// Whether no card was ever there, as far as the server knows.
  package var neverHadCard: Bool {
    tokens.cards.isEmpty && card.state == .none && !card.wasThere
  }

  package init() {}

  /// Takes what a join brings; what it does not mention stays.
  ///
  /// - Returns: whether there is something to send to the member.
  package mutating func join(
    _ join: JoinRequest, environment: AppID.Environment, isLive: Bool, at now: UnixTime
  ) -> Bool {
    osVersion = join.osVersion ?? osVersion
    allowsFrequentUpdates = join.allowsFrequentUpdates ?? allowsFrequentUpdates
    if join.pushToStartToken != nil { hasStartToken = true }
    // The app has all that its card needs from the reply, so it starts one by itself.
    if isLive, join.startsInApp {
      card.startedInApp(at: now.inMilliseconds)
    }
    guard let token = join.updateToken, let activityID = join.activityID else {
      return isLive && !join.startsInApp
    }
    return register(
      token, of: activityID, environment: join.environment ?? environment,
      osVersion: join.osVersion, at: now)
  }

  /// Notes the token of one of the member's cards.
  ///
  /// - Returns: whether the card is to be sent the newest state: not when the app only names again
  ///   what is known and good.
  @discardableResult
  package mutating func register(
    _ token: PushToken, of activityID: String, environment: AppID.Environment,
    osVersion: OSVersion?, at now: UnixTime
  ) -> Bool {
    let now = now.inMilliseconds
    let earlier = tokens.tokens
    tokens.register(
      .update(activityID: activityID), token, in: environment,
      osVersion: osVersion ?? self.osVersion, at: now)
    self.osVersion = osVersion ?? self.osVersion
    let same = earlier.first { $0.kind == .update(activityID: activityID) }
    if same == nil { confirmCard(at: now, replacing: earlier) }
    return same?.token != token || same?.isUsable == false
  }

  /// A start is about to be sent by this token; see ``MemberCard/starting(at:)``.
  package mutating func starting(by token: RegisteredToken, at now: UnixTime) {
    learn(osVersionOf: token)
    card.starting(at: now)
  }

  /// A card is started by this token: what its device understands, the card does.
  package mutating func learn(osVersionOf token: RegisteredToken) {
    osVersion = token.osVersion ?? osVersion
  }

  /// APNs took the start of a card on the channel: it never has a token, and so never reports.
  package mutating func startedOnChannel(at now: UnixTime) {
    confirmCard(at: now, replacing: tokens.tokens)
  }

  /// A card that follows another is there: the earlier one goes. Another device's younger one stays.
  private mutating func confirmCard(
    at now: UnixTime, replacing earlier: [RegisteredToken]
  ) {
    guard card.confirmed(at: now) != nil, case .running(let since) = card.state else { return }
    // The earlier card's token came some time after its start, from when its age counts.
    let rules = StartRules()
    for token in earlier where token.firstSeen + rules.renewalAge <= since + rules.renewalLead {
      if let activityID = token.activityID { replaced.insert(activityID) }
    }
  }

  /// A card is over: the app said so, or APNs took the end of one that was replaced.
  ///
  /// - Parameters:
  ///   - activityID: nil or unknown for a card on the channel, which has no token.
  ///   - isDismissed: the person swiped it away, so none is started again.
  package mutating func cardEnded(_ activityID: String?, isDismissed: Bool, at now: UnixTime) {
    if let activityID {
      let wasReplaced = replaced.remove(activityID) != nil
      let hadToken = tokens.removeCard(activityID)
      if wasReplaced { return }
      if hadToken {
        guard tokens.tokens.isEmpty else { return }
        return isDismissed ? card.dismissed() : card.lastWithTokenEnded()
      }
    }
    isDismissed ? card.dismissed() : card.unnamedEnded(at: now)
  }

  /// Takes in what APNs said to an update; when the last card is dead, there is none.
  package mutating func answered(
    _ answer: TokenAnswer, to token: PushToken, namedAt: UnixTime? = nil,
    in environment: AppID.Environment, served: Set<AppID.Environment>, isStorm: Bool,
    at now: UnixTime
  ) -> TokenVerdict {
    let known = tokens[token]
    let verdict = tokens.answered(
      answer, to: token, namedAt: namedAt, in: environment, served: served, isStorm: isStorm,
      at: now)
    guard verdict == .retired else { return verdict }
    // That of a card which another one follows says nothing of that one.
    if let activityID = known?.activityID, replaced.remove(activityID) != nil { return verdict }
    guard tokens.tokens.isEmpty else { return verdict }
    if case .dead(let since) = answer {
      card.tokenDied(at: since ?? now, firstSeen: known?.firstSeen, rules: StartRules())
    } else {
      card.lastWithTokenEnded()
    }
    return verdict
  }

  package func reach(channelIsOpen: Bool) -> Reach { device.reach(channelIsOpen: channelIsOpen) }

  package var device: DeviceReach {
    DeviceReach(
      osVersion: osVersion, hasUpdateToken: !tokens.cards.isEmpty,
      hasPushToStartToken: hasStartToken,
      hasDismissed: card.state == .dismissed || card.state == .closed)
  }
}

extension TripMember {
  /// Reads what ``written()`` wrote; nil for anything else.
  package init?(stored bytes: [UInt8]) {
    guard let value = try? JSONValue.parse(bytes), value.object != nil else { return nil }
    osVersion = value["osVersion"]?.string.flatMap { try? OSVersion($0) }
    allowsFrequentUpdates = value["frequentUpdates"]?.bool
    tokens = TokenRegistry(value["tokens"])
    card = value["card"].map { MemberCard($0) } ?? MemberCard()
    hasStartToken = value["startToken"]?.bool ?? false
    replaced = Set((value["replaced"]?.array ?? []).compactMap(\.string))
    awaitsEnd = value["awaitsEnd"]?.bool ?? false
  }

  package func written() -> [UInt8] {
    var object: JSONObject = [:]
    if let osVersion { object["osVersion"] = .string("\(osVersion)") }
    if let allowsFrequentUpdates { object["frequentUpdates"] = .bool(allowsFrequentUpdates) }
    if !tokens.tokens.isEmpty { object["tokens"] = tokens.json }
    if card != MemberCard() { object["card"] = card.json }
    if hasStartToken { object["startToken"] = .bool(true) }
    if !replaced.isEmpty { object["replaced"] = .array(replaced.sorted().map { .string($0) }) }
    if awaitsEnd { object["awaitsEnd"] = .bool(true) }
    return JSONValue.object(object).serialized()
  }
}

extension MemberCard {
  /// Reads what ``json`` wrote; of anything else, a card that was never started.
  init(_ value: JSONValue) {
    let time = value["at"]?.storedTime
    let state: State =
      switch (value["state"]?.string, time) {
      case ("asked", let time?): .asked(at: time, following: value["following"]?.storedTime)
      case ("running", let time?): .running(since: time)
      case ("dismissed", _): .dismissed
      case ("closed", _): .closed
      default: .none
      }
    self.init(
      state: state, unconfirmed: Int(clamping: value["unconfirmed"]?.int64 ?? 0),
      lastStart: value["lastStart"]?.storedTime, earlierSince: value["earlier"]?.storedTime,
      wasThere: value["over"]?.bool ?? false)
  }

  var json: JSONValue {
    var object: JSONObject = [:]
    switch state {
    case .none: object["state"] = .string("none")
    case .asked(let at, let following):
      object["state"] = .string("asked")
      object["at"] = JSONValue(stored: at)
      if let following { object["following"] = JSONValue(stored: following) }
    case .running(let since):
      object["state"] = .string("running")
      object["at"] = JSONValue(stored: since)
    case .dismissed: object["state"] = .string("dismissed")
    case .closed: object["state"] = .string("closed")
    }
    if wasThere { object["over"] = .bool(true) }
    if unconfirmed > 0 { object["unconfirmed"] = .number(JSONNumber(Int64(unconfirmed))) }
    if let lastStart { object["lastStart"] = JSONValue(stored: lastStart) }
    if let earlierSince { object["earlier"] = JSONValue(stored: earlierSince) }
    return .object(object)
  }
}
