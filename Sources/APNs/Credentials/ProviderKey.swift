package import Clocks
package import Crypto

/// A team's signing key for APNs, as downloaded from Apple's developer portal.
package struct ProviderKey: Sendable {
  package let teamID: AppleID10
  package let keyID: AppleID10
  /// What the key may be used for; a client refuses an app outside of it.
  package let scope: ProviderKeyScope
  let key: P256PrivateKey

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
package struct ProviderToken: Sendable, Hashable, CustomStringConvertible {
  package let text: String
  /// What `iat` says; whole seconds.
  package let issuedAt: UnixTime

  package init(text: String, issuedAt: UnixTime) {
    self.text = text
    self.issuedAt = issuedAt
  }

  package var description: String { "provider token of \(issuedAt.wholeSeconds)" }

  /// Value of the `authorization` field.
  var authorization: String { "bearer \(text)" }
}
