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
  private let state = Lock(State())

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
final class BroadcastTemplates: Sendable {
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
/// Most requests need none of that: their credentials are known to be good, there is a connection,
/// and the answer is final. They take a short way, on which nothing is waited for but the answer.
actor AuthorizedExchange {
  enum Answer: Sendable {
    /// A status of 200 to 299.
    case success(HTTPResponse)
    case refused(APNsRefusal)
    case notSent(APNsFailure)
    case unknown(APNsFailure)
  }

  /// What the credentials gave: a token, or none for a certificate.
  private struct Known {
    var token: ProviderToken?
    var until: Moment
  }

  nonisolated let unownedExecutor: UnownedSerialExecutor
  nonisolated let clock: ServiceClock
  private nonisolated let credentials: APNsCredentials
  private nonisolated let loop: EventLoop
  private nonisolated let known = Lock<Known?>(nil)
  private var gate: CredentialGate
  /// Whether APNs accepted the credentials last, so that the gate need not be asked.
  private nonisolated let isGateOpen = Atomic<Bool>(false)
  private var random = SystemRandom()

  init(
    credentials: APNsCredentials, clock: ServiceClock,
    probeInterval: Duration = CredentialGate.probeInterval, loop: EventLoop
  ) {
    gate = CredentialGate(probeInterval: probeInterval)
    self.credentials = credentials
    self.clock = clock
    self.loop = loop
    unownedExecutor = loop.serial.asUnownedSerialExecutor()
  }

  var health: APNsHealth.Credentials { gate.credentials }

  nonisolated var usesTokens: Bool { if case .token = credentials { true } else { false } }

  // MARK: One request

  /// Sends one request; may be called from any task.
  nonisolated func send(
    over pool: ConnectionPool, _ template: CachedTemplate, values: FieldValues, body: [UInt8],
    deadline: Moment, retries: RetryPolicy = .never
  ) async -> Answer {
    var first: (ExchangeReply, ProviderToken?)?
    if let (token, head) = readyHead(template), head.accepts(values) {
      let reply = await pool.attempt(head, values: values, body: body, deadline: deadline)
      switch reply.outcome {
      case .answered(let response) where (200..<300).contains(response.status):
        if !isGateOpen.load(ordering: .relaxed) { await openGate() }
        noteAcceptance(of: token)
        return .success(response)
      case .answered(let response):
        let refusal = APNsRefusal(response, now: clock.wall)
        if refusal.disposition.isFinal { return .refused(refusal) }
        first = (reply, token)
      case .unknown(let failure): return .unknown(.exchange(failure))
      case .notSent(let failure):
        // What another connection may take begins anew.
        if !ConnectionPool.isWorthAnother(failure.kind) { first = (reply, token) }
      }
    }
    return await sendWithCare(
      over: pool, template, values, body, deadline, RepeatBudget(retries), after: first)
  }

  /// The long way.
  ///
  /// - Parameter first: what became of it on the short way, if that is something to act on.
  private func sendWithCare(
    over pool: ConnectionPool, _ template: CachedTemplate, _ values: FieldValues, _ body: [UInt8],
    _ deadline: Moment, _ budget: RepeatBudget, after first: (ExchangeReply, ProviderToken?)?
  ) async -> Answer {
    if first == nil, let refusal = gate.refusal(at: loop.now) {
      return .notSent(.credentialsRefused(refusal))
    }
    var budget = budget
    var first = first
    while true {
      let (reply, token): (ExchangeReply, ProviderToken?)
      if let given = first.take() {
        (reply, token) = given
      } else {
        let head: RequestTemplate
        switch await prepare(template) {
        case .success(let prepared): (token, head) = prepared
        case .failure(let failure): return .notSent(failure)
        }
        guard head.accepts(values) else { return .notSent(.exchange(.unfitValues(head))) }
        reply = await pool.send(head, values: values, body: body, deadline: deadline)
      }
      let answer = answer(reply.outcome, token)
      guard case .refused(let refusal) = answer else { return answer }
      guard let reason = await judge(refusal, token, pool, reply.connection),
        let (wait, _) = budget.take([reason], within: deadline - loop.now, using: &random),
        await pause(wait, until: deadline)
      else { return answer }
    }
  }

  // MARK: Many requests

  /// Sends a batch; what may be repeated of it travels together again.
  func send(
    _ batch: PushBatch, over pool: ConnectionPool, _ template: CachedTemplate, deadline: Moment,
    retries: RetryPolicy = .never
  ) async {
    if let refusal = gate.refusal(at: loop.now) {
      return batch.finishRest(.credentialsRefused(refusal))
    }
    if gate.closedFor != nil {
      // Let pass to see whether APNs has come round: one push will do to learn that.
      batch.keepBackAllButOne()
      await sendAdmitted(batch, over: pool, template, deadline: deadline, RepeatBudget(retries))
      batch.letGo()
      if let refusal = gate.closedFor { return batch.finishRest(.credentialsRefused(refusal)) }
    }
    await sendAdmitted(batch, over: pool, template, deadline: deadline, RepeatBudget(retries))
  }

  private func sendAdmitted(
    _ batch: PushBatch, over pool: ConnectionPool, _ template: CachedTemplate, deadline: Moment,
    _ budget: RepeatBudget
  ) async {
    var budget = budget
    while batch.left > 0 {
      let (token, head): (ProviderToken?, RequestTemplate)
      switch await prepare(template) {
      case .success(let prepared): (token, head) = prepared
      case .failure(let failure): return batch.finishRest(failure)
      }
      await pool.send(batch, head, deadline: deadline)
      if batch.hasAccepted { accepted(token) }
      if let refusal = batch.credentialsRefusal { _ = refused(refusal) }
      var again: [(number: Int, reason: Repetition)] = []
      for doubt in batch.takeDoubts() {
        if let reason = await judge(doubt.refusal, token, pool, doubt.connection) {
          again.append((doubt.number, reason))
        }
      }
      guard
        let (wait, allowed) = budget.take(
          Set(again.map(\.reason)), within: deadline - loop.now, using: &random),
        await pause(wait, until: deadline)
      else { return }
      batch.repeatAll(again.filter { allowed.contains($0.reason) }.map(\.number))
    }
  }

  // MARK: Credentials

  /// The present token and a head with it, if nothing has to be waited for or thought about.
  private nonisolated func readyHead(
    _ template: CachedTemplate
  ) -> (ProviderToken?, RequestTemplate)? {
    guard isGateOpen.load(ordering: .relaxed) else { return nil }
    let now = loop.nowFromAnyThread
    guard let known = known.withLock({ $0 }), now < known.until,
      let head = try? template.template(for: known.token)
    else { return nil }
    return (known.token, head)
  }

  private func accepted(_ token: ProviderToken?) {
    openGate()
    noteAcceptance(of: token)
  }

  private func openGate() {
    gate.accepted()
    isGateOpen.store(true, ordering: .relaxed)
  }

  private nonisolated func noteAcceptance(of token: ProviderToken?) {
    if case .token(let credentials) = credentials, let token { credentials.accepted(token) }
  }

  /// - Returns: whether this closed the gate.
  private func refused(_ refusal: APNsRefusal) -> Bool {
    let wasOpen = gate.refused(refusal, at: loop.now)
    if case .refused = gate.credentials { isGateOpen.store(false, ordering: .relaxed) }
    return wasOpen
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
      if let refusal = failure.goAway?.credentialsRefusal { _ = refused(refusal) }
      return .notSent(APNsFailure(failure))
    case .unknown(let failure): return .unknown(.exchange(failure))
    case .answered(let response):
      if (200..<300).contains(response.status) {
        accepted(token)
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
      known.withLock { $0 = nil }
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
      if refused(refusal) { await pool.retireAll() }
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
    if let known = known.withLock({ $0 }), now < known.until { return known.token }
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
    known.withLock { $0 = Known(token: token, until: now + .seconds(1)) }
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
