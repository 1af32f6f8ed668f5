internal import Clocks

/// Judges the `authorization` of a request by the keys of the portal and by what its connection
/// did before.
struct ProviderTokenCheck: Sendable {
  let settings: ProviderTokenSettings
  let environment: APNsEnvironment
  var keys: [String: RegisteredKey] = [:]
  /// Tokens whose signature was found good: the same token comes with every request.
  private var verified: [String: ProviderToken] = [:]
  /// Verifying is 50 µs, so tokens of a flood of forged ones must not push the good one out fast.
  private static let verifiedLimit = 256

  init(settings: ProviderTokenSettings, environment: APNsEnvironment) {
    self.settings = settings
    self.environment = environment
  }

  enum Verdict {
    case accepted(RegisteredKey, complaints: [String])
    case refused(Reason)
  }

  /// - Parameters:
  ///   - connection: changed only when the token is accepted.
  ///   - expiry: an age at which tokens expire earlier than they should.
  mutating func check(
    _ authorization: String?, connection: inout ConnectionMemory, now: UnixTime,
    expiry: Duration? = nil
  ) -> Verdict {
    guard let authorization, authorization.hasPrefix("bearer ") else {
      return .refused(.missingProviderToken)
    }
    let text = String(authorization.dropFirst("bearer ".count))
    guard !text.isEmpty else { return .refused(.missingProviderToken) }
    guard let token = verifiedToken(text), let key = keys[token.keyID],
      key.teamID == token.teamID
    else { return .refused(.invalidProviderToken) }
    if let reason = refusal(token, key, now: now) { return .refused(reason) }
    if let expiry, now - UnixTime(wholeSeconds: token.issuedAtSeconds) >= expiry {
      return .refused(.expiredProviderToken)
    }
    if let reason = refusal(token, text, key, connection, now: now) { return .refused(reason) }
    remember(token, text, key, in: &connection, now: now)
    return .accepted(
      key, complaints: token.undocumented.map { "provider token carries undocumented \($0)" })
  }

  /// Forgets cached verdicts, after a key was changed.
  mutating func keysChanged() { verified.removeAll(keepingCapacity: true) }

  private mutating func verifiedToken(_ text: String) -> ProviderToken? {
    if let token = verified[text] { return token }
    guard let token = ProviderToken(text), let key = keys[token.keyID],
      key.publicKey.verifies(rawOrDER: token.signature, of: token.signedText)
    else { return nil }
    if verified.count >= Self.verifiedLimit { verified.removeAll(keepingCapacity: true) }
    verified[text] = token
    return token
  }

  /// What is wrong with the token itself, at this time.
  private func refusal(_ token: ProviderToken, _ key: RegisteredKey, now: UnixTime) -> Reason? {
    // Seen in the field after a key was revoked; Apple's table only says "not allowed".
    if key.isRevoked { return .forbidden }
    if !key.environments.contains(environment) { return .badEnvironmentKeyID }
    let lifetimeSeconds = settings.lifetime.wholeNanoseconds / 1_000_000_000
    let age = now.wholeSeconds.subtractingReportingOverflow(token.issuedAtSeconds)
    guard !age.overflow else { return .invalidProviderToken }
    if age.partialValue > lifetimeSeconds { return .expiredProviderToken }
    if age.partialValue < -lifetimeSeconds { return .invalidProviderToken }
    return nil
  }

  /// What is wrong with the token on this connection.
  private func refusal(
    _ token: ProviderToken, _ text: String, _ key: RegisteredKey, _ connection: ConnectionMemory,
    now: UnixTime
  ) -> Reason? {
    guard let first = connection.firstKey else { return nil }
    if first.teamID != key.teamID { return .invalidProviderToken }
    if !first.mayBeFollowed(by: key) { return .unrelatedKeyID }
    guard let last = connection.tokens[key.keyID], last.text != text else { return nil }
    let interval = settings.changeInterval
    let mintedApart = Duration.seconds(abs(token.issuedAtSeconds - last.issuedAtSeconds))
    if mintedApart < interval { return .tooManyProviderTokenUpdates }
    if let changed = last.changedAt, now - changed < interval {
      return .tooManyProviderTokenUpdates
    }
    return nil
  }

  private func remember(
    _ token: ProviderToken, _ text: String, _ key: RegisteredKey,
    in connection: inout ConnectionMemory, now: UnixTime
  ) {
    let last = connection.tokens[key.keyID]
    if last?.text == text { return }
    if connection.firstKey == nil { connection.firstKey = key }
    connection.tokens[key.keyID] = .init(
      text: text, issuedAtSeconds: token.issuedAtSeconds, changedAt: last == nil ? nil : now)
  }
}
