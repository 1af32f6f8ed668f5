internal import Crypto
internal import JSON

/// The parts of a provider token that APNs looks at, before anyone believed them.
struct ProviderToken: Sendable, Equatable {
  var keyID: String
  var teamID: String
  /// Whole seconds since 1970.
  var issuedAtSeconds: Int64
  /// What the signature covers.
  var signedText: [UInt8]
  /// Raw r‖s, or DER: Apple's own shell recipe produces DER.
  var signature: [UInt8]
  /// Parts that Apple does not document, for the log of complaints.
  var undocumented: [String]

  /// - Returns: nil when any part is missing, malformed or not ES256.
  init?(_ text: String) {
    let parts = text.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    guard parts.count == 3, let head = Self.object(parts[0]), let claims = Self.object(parts[1]),
      let signature = Base64.url.decode(parts[2]), !signature.isEmpty
    else { return nil }
    guard head["alg"]?.string == "ES256", let keyID = head["kid"]?.string,
      let teamID = claims["iss"]?.string, let issuedAt = claims["iat"]?.int64,
      keyID.utf8.count == 10, teamID.utf8.count == 10
    else { return nil }
    self.keyID = keyID
    self.teamID = teamID
    issuedAtSeconds = issuedAt
    signedText = Array(parts[0]) + [UInt8(ascii: ".")] + Array(parts[1])
    self.signature = signature
    let extraHead = head.object?.keys.filter { $0 != "alg" && $0 != "kid" } ?? []
    let extraClaims = claims.object?.keys.filter { $0 != "iss" && $0 != "iat" } ?? []
    undocumented = extraHead.map { "header \($0)" } + extraClaims.map { "claim \($0)" }
  }

  private static func object(_ part: Substring.UTF8View) -> JSONValue? {
    guard let bytes = Base64.url.decode(part), let value = try? JSONValue.parse(bytes),
      case .object = value
    else { return nil }
    return value
  }
}
