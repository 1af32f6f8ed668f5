package import Crypto

/// A signing key as the developer portal lists it.
package struct RegisteredKey: Sendable {
  /// 10 characters.
  package var keyID: String
  package var teamID: String
  package var scope: Scope
  /// Environments that the key may be used in: both for legacy team keys, one for newer ones.
  package var environments: Set<APNsEnvironment>
  /// The other key that may be used on the same connection, for rotation. It counts both ways.
  package var relatedKeyID: String?
  package var isRevoked = false
  package var publicKey: P256PublicKey

  package enum Scope: Sendable, Equatable {
    /// All topics of the team.
    case team
    /// The listed bundle IDs only.
    case topics(Set<String>)
  }

  package init(
    keyID: String, teamID: String, publicKey: P256PublicKey, scope: Scope = .team,
    environments: Set<APNsEnvironment> = Set(APNsEnvironment.allCases)
  ) {
    self.keyID = keyID
    self.teamID = teamID
    self.publicKey = publicKey
    self.scope = scope
    self.environments = environments
  }

  /// Whether a connection that was opened with `self` may go on with `other`.
  ///
  /// A team's keys may follow each other within one environment; a topic key only its related one.
  func mayBeFollowed(by other: RegisteredKey) -> Bool {
    if keyID == other.keyID { return true }
    guard teamID == other.teamID else { return false }
    if relatedKeyID == other.keyID || other.relatedKeyID == keyID { return true }
    return scope == .team && other.scope == .team && environments == other.environments
  }

  func covers(_ bundleID: String) -> Bool {
    switch scope {
    case .team: true
    case .topics(let topics): topics.contains(bundleID)
    }
  }
}
