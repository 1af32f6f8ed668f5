import Clocks
import HTTP
import Synchronization
import Transport

/// The head of alike requests, laid out anew only when the provider token changes.
final class CachedTemplate: Sendable {
  private struct State {
    var token: ProviderToken?
    var template: RequestTemplate?
  }

  private let make: @Sendable (_ authorization: String?) throws(ExchangeFailure) -> RequestTemplate
  private let state = Mutex(State())

  init(
    _ make:
      @escaping @Sendable (_ authorization: String?) throws(ExchangeFailure) -> RequestTemplate
  ) {
    self.make = make
  }

  /// - Parameter token: nil for a connection with a certificate, which has no `authorization`.
  func template(for token: ProviderToken?) throws(ExchangeFailure) -> RequestTemplate {
    let known = state.withLock { $0.token == token ? $0.template : nil }
    if let known { return known }
    let made = try make(token?.authorization)
    state.withLock { $0 = State(token: token, template: made) }
    return made
  }
}

/// Heads of broadcasts: one for each priority, everything else comes with the request.
final class BroadcastTemplates {
  /// Names of the values that each request brings, in this order.
  static let volatile = ["apns-channel-id", "apns-expiration", "apns-request-id"]

  private let templates: [CachedTemplate]

  init(app: BundleID, authority: String) {
    templates = PushPriority.allCases.map { priority in
      CachedTemplate { authorization throws(ExchangeFailure) in
        try RequestTemplate(
          method: "POST", authority: authority, path: "/4/broadcasts/apps/\(app.text)",
          fields: Self.fields(priority, authorization), volatile: Self.volatile)
      }
    }
  }

  private static func fields(_ priority: PushPriority, _ authorization: String?) -> HTTPFields {
    var fields: HTTPFields = [
      "apns-push-type": PushType.liveActivity.rawValue, "apns-priority": priority.text,
    ]
    fields["authorization"] = authorization
    return fields
  }

  func template(_ priority: PushPriority) -> CachedTemplate {
    switch priority {
    case .immediate: templates[0]
    case .considerate: templates[1]
    case .idle: templates[2]
    }
  }
}

/// Sends one request in the name of a team, and acts on what concerns the team or the connection.
///
/// Repeated are only requests that APNs said it did not act on: once for an expired provider
/// token, up to three times for a connection that turned out to be over or spoilt, and after a wait
/// as the ``RetryPolicy`` says.
///
/// Belongs to one client and runs on its actor.
final class AuthorizedExchange {
  enum Answer: Sendable {
    /// A status of 200 to 299.
    case success(HTTPResponse)
    case refused(APNsRefusal)
    case notSent(APNsFailure)
    case unknown(APNsFailure)
  }

  private let credentials: APNsCredentials
  private let clock: ServiceClock
  private let loop: EventLoop
  private var gate = CredentialGate()
  /// What the credentials gave last: a token, or none for a certificate.
  private var known: (token: ProviderToken?, until: Moment)?
  private var random = SystemRandom()

  init(credentials: APNsCredentials, clock: ServiceClock, loop: EventLoop) {
    self.credentials = credentials
    self.clock = clock
    self.loop = loop
  }

  var health: APNsHealth.Credentials { gate.credentials }

  var usesTokens: Bool { if case .token = credentials { true } else { false } }

  func send(
    over pool: ConnectionPool, _ template: CachedTemplate, values: FieldValues, body: [UInt8],
    deadline: Moment, retries: RetryPolicy = .never
  ) async -> Answer {
    if let refusal = gate.refusal(at: loop.now) { return .notSent(.credentialsRefused(refusal)) }
    var budget = RepeatBudget(retries)
    while true {
      let (token, head): (ProviderToken?, RequestTemplate)
      switch await prepare(template) {
      case .success(let prepared): (token, head) = prepared
      case .failure(let failure): return .notSent(failure)
      }
      let reply = await pool.send(head, values: values, body: body, deadline: deadline)
      let answer = answer(reply.outcome, token)
      guard case .refused(let refusal) = answer else { return answer }
      guard let reason = await judge(refusal, token, pool, reply.connection),
        let (wait, _) = budget.take([reason], within: deadline - loop.now, using: &random),
        await pause(wait, until: deadline)
      else { return answer }
    }
  }

  /// Sends many requests; those that may be repeated travel together again.
  ///
  /// - Returns: an answer for each item, in the order of the items.
  func sendAll(
    over pool: ConnectionPool, _ template: CachedTemplate, _ items: [BatchItem], deadline: Moment,
    retries: RetryPolicy = .never
  ) async -> [Answer] {
    if let refusal = gate.refusal(at: loop.now) {
      return items.map { _ in .notSent(.credentialsRefused(refusal)) }
    }
    var answers = [Answer?](repeating: nil, count: items.count)
    var open = Array(items.indices)
    var budget = RepeatBudget(retries)
    while !open.isEmpty {
      let (token, head): (ProviderToken?, RequestTemplate)
      switch await prepare(template) {
      case .success(let prepared): (token, head) = prepared
      case .failure(let failure):
        for index in open { answers[index] = .notSent(failure) }
        return answers.compactMap { $0 }
      }
      let replies = await pool.sendAll(head, items, indices: open, deadline: deadline)
      var again: [(index: Int, reason: Repetition)] = []
      for (index, reply) in zip(open, replies) {
        let answer = answer(reply.outcome, token)
        answers[index] = answer
        guard case .refused(let refusal) = answer else { continue }
        if let reason = await judge(refusal, token, pool, reply.connection) {
          again.append((index, reason))
        }
      }
      guard
        let (wait, allowed) = budget.take(
          Set(again.map(\.reason)), within: deadline - loop.now, using: &random),
        await pause(wait, until: deadline)
      else { break }
      open = again.filter { allowed.contains($0.reason) }.map(\.index)
    }
    return answers.compactMap { $0 }
  }

  private func prepare(
    _ template: CachedTemplate
  ) async -> Result<(ProviderToken?, RequestTemplate), APNsFailure> {
    do throws(APNsFailure) {
      let token = try await presentToken()
      do throws(ExchangeFailure) {
        return .success((token, try template.template(for: token)))
      } catch {
        return .failure(.exchange(error))
      }
    } catch {
      return .failure(error)
    }
  }

  private func answer(_ outcome: ExchangeOutcome, _ token: ProviderToken?) -> Answer {
    switch outcome {
    case .notSent(let failure):
      if let refusal = failure.goAway?.credentialsRefusal {
        _ = gate.refused(refusal, at: loop.now)
        return .notSent(.credentialsRefused(refusal))
      }
      return .notSent(.exchange(failure))
    case .unknown(let failure): return .unknown(.exchange(failure))
    case .answered(let response):
      if (200..<300).contains(response.status) {
        gate.accepted()
        if case .token(let credentials) = credentials, let token { credentials.accepted(token) }
        return .success(response)
      }
      return .refused(APNsRefusal(response, now: clock.wall))
    }
  }

  /// Waits before a repetition, unless that would take longer than the deadline allows.
  ///
  /// - Returns: whether there is still time for it, and somebody who wants it.
  private func pause(_ wait: Duration, until deadline: Moment) async -> Bool {
    guard loop.now + wait < deadline else { return false }
    if wait == .zero { return true }
    return (try? await loop.sleep(until: loop.now + wait)) != nil
  }

  /// Acts on a refusal.
  ///
  /// - Returns: why the request may be repeated; nil when it may not.
  private func judge(
    _ refusal: APNsRefusal, _ token: ProviderToken?, _ pool: ConnectionPool, _ connection: Int?
  ) async -> Repetition? {
    switch refusal.disposition {
    case .newProviderToken:
      // Nothing would be different the second time for a certificate.
      guard case .token(let credentials) = credentials, let token else { return nil }
      credentials.refused(token, refusal)
      known = nil
      return .renewed
    case .keepProviderToken:
      // APNs counts tokens by connection too, and was seen to leave such a one unanswered for an
      // hour: the present token goes on over another connection.
      if case .token(let credentials) = credentials, let token {
        credentials.refused(token, refusal)
      }
      if let connection { await pool.retire(connection) }
      return .reconnect
    case .reconnect:
      if let connection { await pool.retire(connection) }
      return .reconnect
    case .fixCredentials:
      // The connection is bound to the refused key, so the next probe needs a fresh one.
      if gate.refused(refusal, at: loop.now) { await pool.retireAll() }
      return nil
    case .throttled, .retryLater:
      return refusal.mayHaveActed ? nil : .later(asked: refusal.retryAfter)
    case .fixRequest, .enableBroadcasts, .dropToken, .channelGone, .channelQuotaReached: return nil
    }
  }

  /// Asks the credentials once a second, since that takes a lock and two looks at clocks.
  ///
  /// - Returns: nil where a certificate stands for the token.
  private func presentToken() async throws(APNsFailure) -> ProviderToken? {
    let now = loop.now
    if let known, now < known.until { return known.token }
    let token: ProviderToken?
    switch credentials {
    case .token(let credentials): token = try await Self.token(of: credentials)
    case .certificate(let certificate):
      do throws(APNsSetupError) {
        try certificate.checkDates(at: clock.wall)
      } catch {
        throw .setup(error)
      }
      token = nil
    }
    known = (token, now + .seconds(1))
    return token
  }

  private static func token(
    of credentials: ProviderCredentials
  ) async throws(APNsFailure) -> ProviderToken {
    if let present = credentials.presentToken() { return present }
    do throws(ProviderCredentials.Failure) {
      return try await credentials.token()
    } catch {
      throw .noProviderToken(error)
    }
  }
}
