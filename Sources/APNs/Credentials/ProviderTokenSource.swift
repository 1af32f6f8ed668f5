package import Clocks

/// When a new provider token is due, and when one must not be made.
///
/// APNs refuses tokens older than an hour, and answers 429 to teams that change theirs more often
/// than every 20 minutes. So: a first token at first use, a new one 50 minutes later, never two
/// within 20 minutes. One exception: a token that APNs calls expired is replaced at once, once in
/// 20 minutes, since with it every request fails.
///
/// Ages count on the monotonic clock, from the age that a token had when it was obtained; a wall
/// clock that was stepped since makes a renewal due, since `iat` is then wrong by that step.
package struct ProviderTokenSource: Sendable {
  package enum Need: Sendable, Equatable {
    case use(ProviderToken)
    /// Send with this one, and begin a renewal meanwhile.
    case useAndRenew(ProviderToken)
    /// There is no token to send with: begin a renewal and wait for it.
    case renew
    /// Somebody else began one: wait for it.
    case wait
    /// APNs called the token expired, and it was replaced less than 20 minutes ago. Another one
    /// now would only earn a 429: the clock of this machine or of APNs is wrong, or one of APNs'
    /// hosts disagrees with the others. A request now and then is let through to find out.
    case exhausted(until: Moment)
  }

  private struct Held: Sendable {
    var token: ProviderToken
    /// When it was obtained, and its age then.
    var obtainedAt: Moment
    var ageThen: Duration
    /// APNs said `ExpiredProviderToken` about it.
    var isRefused = false

    func age(now: Moment) -> Duration { ageThen + (now - obtainedAt) }
  }

  /// Apple's limit is 60 minutes; 10 are left for hosts that count differently.
  package static let renewalAge = Duration.seconds(50 * 60)
  /// Apple: "no more than once every 20 minutes".
  package static let leastRenewalInterval = Duration.seconds(20 * 60)
  /// Behind it a token is useless, whatever else holds.
  package static let lifetime = Duration.seconds(60 * 60)
  /// How often a token that was called expired is tried again while it must not be replaced.
  package static let trialInterval = Duration.seconds(10)
  /// More than clocks drift apart in an hour, less than matters to APNs.
  private static let toleratedStep = Duration.seconds(300)

  private var held: Held?
  private var isRenewing = false
  /// No renewal by age before this moment.
  private var noRenewalBefore = Moment.distantPast
  /// No renewal because of an expiry before this moment.
  private var noReplacementBefore = Moment.distantPast
  /// When a token that was called expired may be tried again.
  private var nextTrial = Moment.distantPast

  package init() {}

  /// Whether APNs called the present token expired.
  package var isRefused: Bool { held?.isRefused ?? false }

  /// The token of the last renewal, whatever became of it.
  package var present: ProviderToken? { held?.token }

  /// A request is about to be sent.
  package mutating func need(now: Moment, wall: UnixTime) -> Need {
    guard let held else { return beginOrWait() }
    if held.isRefused || held.age(now: now) >= Self.lifetime {
      if isRenewing { return .wait }
      if held.isRefused, now < noReplacementBefore {
        if now < nextTrial { return .exhausted(until: noReplacementBefore) }
        nextTrial = now + Self.trialInterval
        return .use(held.token)
      }
      if held.isRefused { noReplacementBefore = now + Self.leastRenewalInterval }
      return beginOrWait()
    }
    if isDue(held, now: now, wall: wall), !isRenewing, now >= noRenewalBefore {
      isRenewing = true
      return .useAndRenew(held.token)
    }
    return .use(held.token)
  }

  /// A renewal ended with this token: made here, or by another node that was quicker.
  package mutating func renewed(_ token: ProviderToken, now: Moment, wall: UnixTime) {
    isRenewing = false
    let age = min(max(wall - token.issuedAt, .zero), Self.lifetime)
    held = Held(token: token, obtainedAt: now, ageThen: age)
    noRenewalBefore = max(noRenewalBefore, now - age + Self.leastRenewalInterval)
  }

  /// A renewal failed; the next need begins another one.
  package mutating func renewalFailed() { isRenewing = false }

  /// APNs answered `ExpiredProviderToken` to a request with `token`.
  ///
  /// Nothing happens for a token that was replaced since: its request only has to be repeated.
  package mutating func refusedAsExpired(_ token: ProviderToken, now: Moment) {
    guard let held, held.token == token, !held.isRefused else { return }
    self.held?.isRefused = true
    nextTrial = now + Self.trialInterval
  }

  /// APNs accepted `token`.
  ///
  /// Its hosts do not agree at once: what one of them called expired, another accepts.
  package mutating func accepted(_ token: ProviderToken) {
    if held?.token == token { held?.isRefused = false }
  }

  /// APNs answered `TooManyProviderTokenUpdates`: the present token stays for 20 minutes more.
  package mutating func refusedAsTooMany(now: Moment) {
    noRenewalBefore = max(noRenewalBefore, now + Self.leastRenewalInterval)
    noReplacementBefore = max(noReplacementBefore, now + Self.leastRenewalInterval)
  }

  private func isDue(_ held: Held, now: Moment, wall: UnixTime) -> Bool {
    let age = held.age(now: now)
    let step = (wall - held.token.issuedAt) - age
    return age >= Self.renewalAge || step > Self.toleratedStep || step < .zero - Self.toleratedStep
  }

  private mutating func beginOrWait() -> Need {
    if isRenewing { return .wait }
    isRenewing = true
    return .renew
  }
}
