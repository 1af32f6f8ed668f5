internal import APNs
internal import Clocks
internal import FieldTrips
internal import JSON
internal import TripStore

/// A state for the cards that are reached one by one, the same for all of them.
struct CardUpdate: Sendable {
  var isEnd: Bool
  var priority: Int
  /// What it carries, and when its dates are counted from.
  var state: ReservedState
  var alert: AlertText?
  var sentAt: UnixTime
  /// Of an end; nil takes the trip's.
  var dismissal: Dismissal?

  var timestampSeconds: Int64 { state.timestampSeconds }
}

/// What became of a push to a token.
enum TokenPushAnswer: Sendable, Equatable {
  /// APNs' word on the token.
  case said(TokenAnswer)
  /// Not now: send the newest state later.
  case later(retryAfter: Duration?)
  /// APNs may have it: another update does no harm, another start may make a second card.
  case unsure
  /// A fault of ours, or of the app's credentials: the token is not what is wrong.
  case defect(String)
}

extension AppGateway {
  /// Sends one update to many cards, over the connections for device pushes.
  ///
  /// - Returns: an answer for each token, in their order.
  func update(
    _ update: CardUpdate, of type: ActivityType, to tokens: [PushToken]
  ) async -> [TokenPushAnswer] {
    do {
      let payload = try Self.payload(update, of: type).encoded()
      let options = try PushOptions(
        .liveActivity, priority: PushPriority(rawValue: UInt8(update.priority)),
        expiration: .until(update.sentAt + LiveActivityLimits.activeLife))
      return await send(payload, options, to: tokens)
    } catch {
      return tokens.map { _ in .defect("\(error)") }
    }
  }

  /// - Parameter payload: of a Live Activity.
  func send(
    _ payload: [UInt8], _ options: PushOptions, to tokens: [PushToken]
  ) async -> [TokenPushAnswer] {
    let push = Push(options, payload: payload)
    return await answers(to: tokens) { known, _ in
      await client.push(push, to: known, deadline: Self.pushes)
    }
  }

  /// Sends to those tokens that APNs may have given; the others are answered as APNs would.
  ///
  /// - Parameter push: gets the tokens to send to and their places among all, and answers each.
  /// - Returns: an answer for each token, in their order.
  func answers(
    to tokens: [PushToken], _ push: ([DeviceToken], [Int]) async -> [PushResult]
  ) async -> [TokenPushAnswer] {
    var answers = [TokenPushAnswer](repeating: .said(.unknown), count: tokens.count)
    var known: [DeviceToken] = []
    var places: [Int] = []
    for (place, token) in tokens.enumerated() {
      guard let token = DeviceToken(token.hex) else { continue }
      known.append(token)
      places.append(place)
    }
    for (place, result) in zip(places, await push(known, places)) {
      answers[place] = Self.answer(result)
    }
    return answers
  }

  private static func payload(_ update: CardUpdate, of type: ActivityType) throws
    -> LiveActivityPayload
  {
    let times = update.state.life.times
    let state = try JSONText(stored: update.state.contentState)
    let alert = update.alert.map {
      LiveActivityAlert(title: .plain($0.title), body: .plain($0.body), sound: $0.sound)
    }
    return LiveActivityPayload(
      update.isEnd
        ? .end(
          dismissalDate: (update.dismissal ?? times.dismissal).date(endingAt: update.sentAt))
        : .update(staleDate: times.staleDate(sentAt: update.sentAt)),
      timestampSeconds: update.timestampSeconds,
      contentState: type.definition.envelope.wrap(state), alert: alert)
  }

  private static func answer(_ result: PushResult) -> TokenPushAnswer {
    switch result {
    case .accepted: return .said(.accepted)
    case .refused(let refusal): return answer(refusal)
    case .notSent(.payload(let error)): return .defect("\(error)")
    case .notSent(.rule(let error)): return .defect("\(error)")
    case .notSent: return .later(retryAfter: nil)
    case .unknown: return .unsure
    }
  }

  private static func answer(_ refusal: APNsRefusal) -> TokenPushAnswer {
    if refusal.mayHaveActed { return .unsure }
    switch refusal.disposition {
    case .dropToken:
      return .said(refusal.status == 410 ? .dead(since: refusal.invalidSince) : .unknown)
    case .throttled, .retryLater, .reconnect, .newProviderToken, .keepProviderToken:
      return .later(retryAfter: refusal.retryAfter)
    case .fixRequest, .fixCredentials, .enableBroadcasts, .channelGone, .channelQuotaReached:
      return .defect("\(refusal)")
    }
  }
}
