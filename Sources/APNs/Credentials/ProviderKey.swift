public import Clocks
package import Crypto

/// A team's signing key for APNs, as downloaded from Apple's developer portal.
public struct ProviderKey: Sendable {
  /// The developer team.
  public let teamID: AppleID10
  /// The key's name in the portal.
  public let keyID: AppleID10
  /// What the key may be used for; a client refuses an app outside of it.
  public let scope: ProviderKeyScope
  let key: P256PrivateKey

  /// - Parameters:
  ///   - pem: what the `.p8` file holds.
  ///   - scope: as chosen in the portal when the key was made.
  /// - Throws: ``InvalidIdentifier`` or ``CryptoError``, which say what is wrong with an ID or with
  ///   the key.
  public init(
    teamID: String, keyID: String, pem: String, scope: ProviderKeyScope = .everything
  ) throws {
    try self.init(
      teamID: teamID, keyID: keyID, key: try P256PrivateKey(pem: pem), scope: scope)
  }

  package init(
    teamID: String, keyID: String, key: P256PrivateKey, scope: ProviderKeyScope = .everything
  ) throws(InvalidIdentifier) {
    self.teamID = try AppleID10(teamID, what: "team ID")
    self.keyID = try AppleID10(keyID, what: "key ID")
    self.key = key
    self.scope = scope
  }

  /// Makes a provider token that says it was issued at `time`, cut to whole seconds.
  ///
  /// The claims are `iss` and `iat` and the header `alg` and `kid`, in this order; Apple documents
  /// no other. All values are plain words, so nothing needs escaping.
  package func token(issuedAt time: UnixTime) throws(CryptoError) -> ProviderToken {
    let header = #"{"alg":"ES256","kid":"\#(keyID.text)"}"#
    let claims = #"{"iss":"\#(teamID.text)","iat":\#(time.wholeSeconds)}"#
    var text = Base64.url.encode(Array(header.utf8))
    text.append(UInt8(ascii: "."))
    text += Base64.url.encode(Array(claims.utf8))
    let signature = try key.signature(of: text)
    text.append(UInt8(ascii: "."))
    text += Base64.url.encode(signature.raw)
    return ProviderToken(
      text: String(decoding: text, as: UTF8.self),
      issuedAt: UnixTime(wholeSeconds: time.wholeSeconds))
  }
}

/// A signed statement that its bearer is a team: the `authorization` of a request. A secret.
public struct ProviderToken: Sendable, Hashable, CustomStringConvertible {
  /// What follows `bearer`. The secret itself.
  public let text: String
  /// What `iat` says; whole seconds.
  public let issuedAt: UnixTime

  /// Takes a token over that another process signed.
  public init(text: String, issuedAt: UnixTime) {
    self.text = text
    self.issuedAt = issuedAt
  }

  public var description: String { "provider token of \(issuedAt.wholeSeconds)" }

  /// Value of the `authorization` field.
  var authorization: String { "bearer \(text)" }
}
