internal import Clocks
internal import FieldTrips
internal import Transport

/// How often each caller may ask: a bucket of tokens for each, and no more buckets than fit.
///
/// A caller who is quiet for as long as a bucket takes to fill is forgotten. If there are too many at
/// once, those who come last share one bucket: an attacker with many addresses costs no memory.
final class CallerLimits: Sendable {
  struct Rate: Sendable {
    let interval: Duration
    let burst: Int

    /// - Parameter perSecond: above zero. Ten seconds' worth may come at once.
    init(perSecond: Double) {
      interval = .nanoseconds(max(1, Int64(1e9 / perSecond)))
      burst = max(1, Int(perSecond * 10))
    }
  }

  static let mostCallers = 10_000

  private struct State {
    var buckets: [String: TokenBucket] = [:]
    var shared: TokenBucket?
  }

  /// Of members; nil sets no limit.
  let memberRate: Rate?
  /// Of holders of tokens, and, where there are no tokens, of addresses.
  let callerRate: Rate?
  private let state = Lock(State())

  init(perMember: Double?, perCaller: Double?) {
    memberRate = perMember.map(Rate.init)
    callerRate = perCaller.map(Rate.init)
  }

  /// Takes one of a caller's requests into account.
  ///
  /// - Returns: nil if it may be answered, otherwise how long to wait for the next.
  func delay(of caller: Caller, from address: String, at now: Moment) -> Duration? {
    guard let rate = caller.member == nil ? callerRate : memberRate else { return nil }
    let key = caller.key(from: address)
    return state.withLock { state in
      let fresh = TokenBucket(
        refillInterval: rate.interval, capacity: rate.burst, level: Double(rate.burst), at: now)
      if state.buckets[key] == nil, state.buckets.count >= Self.mostCallers {
        state.buckets = state.buckets.filter { $0.value.full > now }
        guard state.buckets.count < Self.mostCallers else {
          return Self.take(from: &state.shared, fresh, now)
        }
      }
      return Self.take(from: &state.buckets[key], fresh, now)
    }
  }

  private static func take(
    from bucket: inout TokenBucket?, _ fresh: TokenBucket, _ now: Moment
  ) -> Duration? {
    var present = bucket ?? fresh
    defer { bucket = present }
    guard present.ready() <= now else { return present.ready() - now }
    present.spend(at: now)
    return nil
  }
}
