import Clocks
import HTTP
import Transport

/// The head of alike requests, laid out anew only when the provider token changes.
///
/// Belongs to one client; not shared.
final class CachedTemplate {
  private let make: (_ authorization: String) throws(ExchangeFailure) -> RequestTemplate
  private var token: ProviderToken?
  private var template: RequestTemplate?

  init(_ make: @escaping (_ authorization: String) throws(ExchangeFailure) -> RequestTemplate) {
    self.make = make
  }

  func template(for token: ProviderToken) throws(ExchangeFailure) -> RequestTemplate {
    if let template, self.token == token { return template }
    let made = try make(token.authorization)
    self.token = token
    template = made
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
          fields: [
            "authorization": authorization, "apns-push-type": PushType.liveActivity.rawValue,
            "apns-priority": priority.text,
          ],
          volatile: Self.volatile)
      }
    }
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
/// token, and up to three times for a connection that turned out to be over or spoilt.
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

  private static let mostReconnections = 3

  private let credentials: ProviderCredentials
  private let clock: ServiceClock
  private let loop: EventLoop
  private var gate = CredentialGate()

  init(credentials: ProviderCredentials, clock: ServiceClock, loop: EventLoop) {
    self.credentials = credentials
    self.clock = clock
    self.loop = loop
  }

  var health: APNsHealth.Credentials { gate.credentials }

  func send(
    over pool: ConnectionPool, _ template: CachedTemplate, values: [String], body: [UInt8],
    deadline: Moment
  ) async -> Answer {
    if let refusal = gate.refusal(at: loop.now) { return .notSent(.credentialsRefused(refusal)) }
    var hasRenewed = false
    var reconnections = 0
    while true {
      let token: ProviderToken
      let reply: ConnectionPool.Reply
      do {
        token = try await presentToken()
        let head = try template.template(for: token)
        reply = await pool.send(head, values: values, body: body, deadline: deadline)
      } catch let failure as ProviderCredentials.Failure {
        return .notSent(.noProviderToken(failure))
      } catch let failure as ExchangeFailure {
        return .notSent(.exchange(failure))
      } catch {
        preconditionFailure("only two kinds of error are thrown above")
      }
      switch reply.outcome {
      case .notSent(let failure): return .notSent(.exchange(failure))
      case .unknown(let failure): return .unknown(.exchange(failure))
      case .answered(let response):
        if (200..<300).contains(response.status) {
          gate.accepted()
          credentials.accepted(token)
          return .success(response)
        }
        let refusal = APNsRefusal(response, now: clock.wall)
        switch await judge(refusal, token, pool, reply.connection) {
        case .giveUp: return .refused(refusal)
        case .renewed:
          if hasRenewed { return .refused(refusal) }
          hasRenewed = true
        case .reconnect:
          reconnections += 1
          if reconnections > Self.mostReconnections { return .refused(refusal) }
        }
        if loop.now >= deadline { return .refused(refusal) }
      }
    }
  }

  private enum Verdict { case giveUp, renewed, reconnect }

  /// Acts on a refusal, and says whether the request may be repeated.
  private func judge(
    _ refusal: APNsRefusal, _ token: ProviderToken, _ pool: ConnectionPool, _ connection: Int?
  ) async -> Verdict {
    switch refusal.disposition {
    case .newProviderToken:
      credentials.refused(token, refusal)
      return .renewed
    case .keepProviderToken:
      // APNs counts tokens by connection too, and was seen to leave such a one unanswered for an
      // hour: the present token goes on over another connection.
      credentials.refused(token, refusal)
      if let connection { await pool.retire(connection) }
      return .reconnect
    case .reconnect:
      if let connection { await pool.retire(connection) }
      return .reconnect
    case .fixCredentials:
      // The connection is bound to the refused key, so the next probe needs a fresh one.
      if gate.refused(refusal, at: loop.now) { await pool.retireAll() }
      return .giveUp
    case .fixRequest, .enableBroadcasts, .dropToken, .channelGone, .channelQuotaReached, .throttled,
      .retryLater:
      return .giveUp
    }
  }

  private func presentToken() async throws(ProviderCredentials.Failure) -> ProviderToken {
    if let token = credentials.presentToken() { return token }
    return try await credentials.token()
  }
}
