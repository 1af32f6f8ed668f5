package import Clocks

/// Bearer tokens of one host, by turns. One that the host refuses rests, and the next one is used.
package struct CredentialPool: Sendable {
  private let tokens: [String]
  private var restUntil: [UnixTime]
  private var next = 0

  /// A refused token may have been let in again by then.
  static let restAfterRefusal = Duration.seconds(900)
  /// After 429, where the host does not say how long.
  static let restAfterThrottling = Duration.seconds(60)

  package init(_ tokens: [String]) {
    self.tokens = tokens
    restUntil = tokens.map { _ in UnixTime(nanoseconds: .min) }
  }

  package enum Choice: Sendable, Equatable {
    /// The host asks for none.
    case none
    case token(String, index: Int)
    /// All of them rest.
    case allResting(until: UnixTime)
  }

  package mutating func pick(at now: UnixTime) -> Choice {
    guard !tokens.isEmpty else { return .none }
    for offset in tokens.indices {
      let index = (next + offset) % tokens.count
      guard restUntil[index] <= now else { continue }
      next = (index + 1) % tokens.count
      return .token(tokens[index], index: index)
    }
    return .allResting(until: restUntil.min() ?? now)
  }

  /// - Returns: whether the status speaks of the token, so that another one may do better.
  package mutating func answered(
    _ status: Int, to index: Int, retryAfter: Duration?, at now: UnixTime
  ) -> Bool {
    switch status {
    case 401, 403: restUntil[index] = now + Self.restAfterRefusal
    case 429:
      // A host cannot take a token away for longer than a day.
      let span = min(max(retryAfter ?? Self.restAfterThrottling, .seconds(1)), .seconds(86_400))
      restUntil[index] = now + span
    default: return false
    }
    return true
  }
}
