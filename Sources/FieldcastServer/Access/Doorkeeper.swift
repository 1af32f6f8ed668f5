internal import Clocks
internal import FieldTrips
internal import HTTP
internal import Transport

/// Who calls, as far as what follows has to know.
enum Caller: Sendable, Equatable {
  /// Whoever reaches a service that asks for no token.
  case anyone
  /// The holder of a token of the list, by name.
  case holder(String)
  /// A member's own phone.
  case member(MemberID)

  var member: MemberID? { if case .member(let member) = self { member } else { nil } }

  /// By what one caller is told from others; `address` where nobody is asked who it is.
  func key(from address: String) -> String {
    switch self {
    case .anyone: "a " + address
    case .holder(let name): "h " + name
    case .member(let member): "m " + member.text
    }
  }

  /// - Throws: 403 where a member speaks for somebody else.
  func mayActAs(_ member: MemberID) throws(ProblemError) {
    guard case .member(let own) = self, own != member else { return }
    throw ProblemError(
      ProblemDocument(.notYourself, "The token is of \(own), who cannot act for \(member)."))
  }
}

/// Judges each request before it is looked at: who calls, whether they may, and not too often.
struct Doorkeeper: Sendable {
  enum Verdict: Sendable {
    case admitted(Caller)
    case refused(HTTPResponse)
  }

  /// Holders of tokens; nil where there is no list.
  let list: AccessList?
  /// Members with tokens of the product's backend; nil where they are not taken.
  let members: MemberGate?
  let limits: CallerLimits

  /// - Parameters:
  ///   - scopes: one of these is enough.
  ///   - membersMay: whether it is something that a member can do for itself.
  func admit(
    _ routed: RoutedRequest, for scopes: Set<AccessScope>, membersMay: Bool
  ) async -> Verdict {
    let caller: Caller
    switch await identify(routed, scopes, membersMay) {
    case .refused(let response): return .refused(response)
    case .admitted(let known): caller = known
    }
    let context = routed.context
    guard
      let delay = limits.delay(
        of: caller, from: context.peerAddress, at: context.receivedAt)
    else {
      return .admitted(caller)
    }
    let seconds = max(1, Int((delay / .seconds(1)).rounded(.up)))
    return .refused(
      ProblemDocument(
        .tooManyRequests,
        "You ask more often than this service lets you. Ask again in \(seconds) s.",
        retryAfter: seconds
      ).response)
  }

  private func identify(
    _ routed: RoutedRequest, _ scopes: Set<AccessScope>, _ membersMay: Bool
  ) async -> Verdict {
    guard list != nil || members != nil else { return .admitted(.anyone) }
    guard let token = Self.bearer(routed.request.fields["authorization"]) else {
      return .refused(Self.unauthorized(nil))
    }
    if let members, MemberToken.looksLikeOne(token) {
      switch await members.judge(token) {
      case .good(let grant):
        guard membersMay, !grant.scopes.isDisjoint(with: scopes) else {
          return .refused(Self.wrongScope("\(grant.member)", scopes, toMembers: membersMay))
        }
        return .admitted(.member(grant.member))
      case .bad(let fault): return .refused(Self.unauthorized(fault.reason))
      case .cannotTell:
        return .refused(
          ProblemDocument(
            .keysUnavailable, "The keys by which tokens are checked cannot be read.", retryAfter: 10
          ).response)
      }
    }
    switch list?.judge(token, for: scopes) ?? .stranger {
    case .allowed(let holder): return .admitted(.holder(holder))
    case .outOfScope(let holder): return .refused(Self.wrongScope(holder, scopes, toMembers: true))
    case .stranger:
      return .refused(
        Self.unauthorized("It is not on this service's list. Was it mistyped, or taken off?"))
    }
  }

  static func bearer(_ field: String?) -> Substring? {
    let words = field?.split(separator: " ") ?? []
    return words.count == 2 && words[0].lowercased() == "bearer" ? words[1] : nil
  }

  private static func wrongScope(
    _ holder: String, _ scopes: Set<AccessScope>, toMembers: Bool
  ) -> HTTPResponse {
    let wanted = scopes.map(\.rawValue).sorted().joined(separator: " or ")
    let detail =
      toMembers
      ? "The token of \(holder) lacks the scope \(wanted)."
      : "The token is of the member \(holder), and this is not for members."
    return ProblemDocument(.wrongScope, detail).response
  }

  /// - Parameter fault: of the token that came; nil if none did.
  private static func unauthorized(_ fault: String?) -> HTTPResponse {
    let hint = "Send a token as authorization: Bearer TOKEN. fieldcast token makes one."
    var response = ProblemDocument(
      .unauthorized, fault.map { "The token cannot be used. \($0)" } ?? hint
    ).response
    response.fields["www-authenticate"] =
      #"Bearer realm="fieldcast""# + (fault == nil ? "" : #", error="invalid_token""#)
    return response
  }
}

extension Doorkeeper {
  init(
    _ configuration: ServiceConfiguration, log: ServiceLog, loop: EventLoop
  ) throws(StartFailure) {
    list = configuration.access
    members = try configuration.members.map { access throws(StartFailure) in
      MemberGate(
        rules: access.rules, keys: try MemberKeys(access, log: log, loop: loop),
        clock: configuration.clock)
    }
    limits = CallerLimits(
      perMember: configuration.memberRate, perCaller: configuration.callerRate)
  }
}

/// Judges members' tokens.
struct MemberGate: Sendable {
  enum Verdict: Sendable {
    case good(MemberToken.Grant)
    case bad(MemberToken.Fault)
    /// There are no keys at the moment.
    case cannotTell
  }

  let rules: MemberTokenRules
  let keys: MemberKeys
  let clock: ServiceClock

  func judge(_ text: Substring) async -> Verdict {
    do throws(MemberToken.Fault) {
      let token = try MemberToken(text)
      guard let fitting = await keys.keys(for: token) else { return .cannotTell }
      guard token.isSigned(byOneOf: fitting) else {
        throw MemberToken.Fault(reason: "It is not signed by a key of the members' backend.")
      }
      return .good(try token.grant(by: rules, at: clock.wall))
    } catch {
      return .bad(error)
    }
  }
}
