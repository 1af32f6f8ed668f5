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
    var answers = [TokenPushAnswer](repeating: .said(.unknown), count: tokens.count)
    var known: [(index: Int, token: DeviceToken)] = []
    // One that APNs could never have given is answered as APNs would.
    for (index, token) in tokens.enumerated() {
      if let token = DeviceToken(token.hex) { known.append((index, token)) }
    }
    let results = await client.push(push, to: known.map(\.token))
    for (entry, result) in zip(known, results) { answers[entry.index] = Self.answer(result) }
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

  static func answer(_ result: PushResult) -> TokenPushAnswer {
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
