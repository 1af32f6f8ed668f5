import Clocks
public import Crypto
import Synchronization
package import Transport

/// Where nodes agree on one provider token, since APNs counts a team's tokens, not its servers.
public protocol ProviderTokenStore: Sendable {
  /// Offers a new token and takes the one that all use.
  ///
  /// An implementation answers with the stored token if it is newer than `previous` and has an age
  /// under ``ProviderTokenSource/renewalAge``; otherwise it stores `candidate` and answers that.
  ///
  /// - Throws: when the store cannot be reached; the candidate is then used by this node alone.
  func agree(on candidate: ProviderToken, replacing previous: ProviderToken?) async throws
    -> ProviderToken
}

/// The one provider token of a team's key, shared by every connection that speaks for it.
///
/// Make one for each key and give it to every client: environments, apps and connections share it.
public final class ProviderCredentials: Sendable {
  /// Why there is no token to send with.
  public enum Failure: Error, Sendable, Equatable, CustomStringConvertible {
    /// OpenSSL could not sign.
    case cannotSign(CryptoError)
    /// APNs calls fresh tokens expired. `offBySeconds` is this machine's clock less APNs' clock
    /// where an answer told it.
    case alwaysExpired(offBySeconds: Int64?)

    public var description: String {
      switch self {
      case .cannotSign(let error): return "No provider token could be signed: \(error)"
      case .alwaysExpired(let seconds?) where seconds != 0:
        let direction = seconds > 0 ? "ahead of" : "behind"
        return "APNs calls a new provider token expired: this machine's clock is "
          + "\(seconds.magnitude) s \(direction) APNs'. Set the clock right (NTP)."
      case .alwaysExpired:
        return "APNs calls a new provider token expired. Compare this machine's clock with the "
          + "true time."
      }
    }
  }

  fileprivate struct State {
    var source = ProviderTokenSource()
    /// The renewal that began last: waited for by those who have no token to send with.
    var renewal: Task<Void, Never>?
    var signingFailure: CryptoError?
    var sharingFailure: (any Error)?
    var clockOffSeconds: Int64?
    var signed = 0
  }

  /// The key that signs.
  public let key: ProviderKey
  private let clock: ServiceClock
  private let renewer: TokenRenewer
  /// Spares the lock on every acceptance; a stale value only makes one more or one less look.
  private let hasRefusal = Atomic<Bool>(false)

  /// - Parameter store: where nodes agree; nil for a single process.
  public convenience init(key: ProviderKey, store: (any ProviderTokenStore)? = nil) {
    self.init(key: key, clock: ServiceClock(), store: store)
  }

  /// - Parameters:
  ///   - clock: its wall time goes into tokens.
  ///   - store: where nodes agree; nil for a single node.
  package init(key: ProviderKey, clock: ServiceClock, store: (any ProviderTokenStore)? = nil) {
    self.key = key
    self.clock = clock
    renewer = TokenRenewer(key: key, clock: clock, store: store)
  }

  deinit { renewer.state.withLock { $0.renewal?.cancel() } }

  /// How many tokens this process signed; for metrics.
  public var signedCount: Int { renewer.state.withLock { $0.signed } }

  /// Why the last token was not agreed on with the other nodes, so that this node uses its own and
  /// APNs sees more tokens than it should; nil while all share one.
  public var sharingFailure: (any Error)? { renewer.state.withLock { $0.sharingFailure } }

  /// The token to send with, if nothing has to be waited for. Renews meanwhile where that is due.
  package func presentToken() -> ProviderToken? {
    switch need() {
    case .use(let token), .useAndRenew(let token): token
    case .renew, .wait, .exhausted: nil
    }
  }

  /// The token to send with; waits while one is being made.
  package func token() async throws(Failure) -> ProviderToken {
    while true {
      switch need() {
      case .use(let token), .useAndRenew(let token): return token
      case .renew, .wait: await renewer.state.withLock { $0.renewal }?.value
      case .exhausted:
        throw .alwaysExpired(offBySeconds: renewer.state.withLock { $0.clockOffSeconds })
      }
      if let failure = renewer.state.withLock({ $0.signingFailure }) { throw .cannotSign(failure) }
    }
  }

  /// What a request needs now; a renewal that is due has begun.
  private func need() -> ProviderTokenSource.Need {
    let (now, wall) = (clock.now, clock.wall)
    return renewer.state.withLock { state in
      let need = state.source.need(now: now, wall: wall)
      switch need {
      case .useAndRenew, .renew:
        let present = state.source.present
        // It holds the renewer and not these credentials, whose end cancels it.
        state.renewal = Task { [renewer] in await renewer.renew(replacing: present) }
      case .use, .wait, .exhausted: break
      }
      return need
    }
  }

  /// APNs answered a request that carried `token` with this refusal.
  package func refused(_ token: ProviderToken, _ refusal: APNsRefusal) {
    let (now, wall) = (clock.now, clock.wall)
    renewer.state.withLock { state in
      if let date = refusal.serverDate {
        state.clockOffSeconds = wall.wholeSeconds - date.wholeSeconds
      }
      switch refusal.reason {
      case .expiredProviderToken: state.source.refusedAsExpired(token, now: now)
      case .tooManyProviderTokenUpdates: state.source.refusedAsTooMany(now: now)
      default: break
      }
      hasRefusal.store(state.source.isRefused, ordering: .relaxed)
    }
  }

  /// APNs accepted a request that carried `token`.
  package func accepted(_ token: ProviderToken) {
    guard hasRefusal.load(ordering: .relaxed) else { return }
    renewer.state.withLock { $0.source.accepted(token) }
    hasRefusal.store(false, ordering: .relaxed)
  }
}

/// Makes the tokens of ``ProviderCredentials``, and holds what is known of them.
private final class TokenRenewer: Sendable {
  let state = Lock(ProviderCredentials.State())
  private let key: ProviderKey
  private let clock: ServiceClock
  private let store: (any ProviderTokenStore)?

  init(key: ProviderKey, clock: ServiceClock, store: (any ProviderTokenStore)?) {
    self.key = key
    self.clock = clock
    self.store = store
  }

  /// Signs a candidate and agrees on it with the other nodes. Called once per renewal.
  func renew(replacing previous: ProviderToken?) async {
    let result = Result { () throws(CryptoError) in try key.token(issuedAt: clock.wall) }
    var agreed: ProviderToken?
    var sharingFailure: (any Error)?
    if case .success(let candidate) = result {
      agreed = candidate
      do {
        if let store { agreed = try await store.agree(on: candidate, replacing: previous) }
      } catch {
        sharingFailure = error
      }
    }
    let (now, wall) = (clock.now, clock.wall)
    state.withLock { state in
      if let agreed {
        state.source.renewed(agreed, now: now, wall: wall)
        state.signingFailure = nil
        state.sharingFailure = sharingFailure
        state.signed += 1
      } else if case .failure(let error) = result {
        state.source.renewalFailed()
        state.signingFailure = error
      }
    }
  }
}
