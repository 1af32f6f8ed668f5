internal import Clocks
internal import Crypto
internal import FieldTrips
internal import JSON

/// A token of the product's own backend that says which member calls: a JSON Web Token (RFC 7519) in
/// its compact form, signed with ES256 or RS256. Nothing in it is believed before it is checked.
struct MemberToken: Sendable {
  /// Why a token is not taken: a sentence for its holder.
  struct Fault: Error, Sendable, Equatable {
    let reason: String
  }

  let algorithm: JWKSet.Algorithm
  let keyID: String?
  private let claims: JSONValue
  private let signed: [UInt8]
  private let signature: [UInt8]

  static let bytesLimit = 8_192

  /// Whether a bearer's text is such a token: two points are in no other kind.
  static func looksLikeOne(_ text: Substring) -> Bool { text.utf8.count { $0 == 0x2E } == 2 }

  /// Takes a token apart.
  init(_ text: Substring) throws(Fault) {
    guard text.utf8.count <= Self.bytesLimit else {
      throw Fault(reason: "It has more than \(Self.bytesLimit) bytes.")
    }
    let parts = text.utf8.split(separator: 0x2E, omittingEmptySubsequences: false)
    guard parts.count == 3, let head = Self.object(parts[0]), let claims = Self.object(parts[1]),
      let signature = Base64.url.decode(parts[2])
    else { throw Fault(reason: "It is not two JSON objects and a signature in base64url.") }
    guard let algorithm = head["alg"]?.string.flatMap(JWKSet.Algorithm.init) else {
      throw Fault(reason: "It is not signed with ES256 or RS256.")
    }
    // What must be understood (RFC 7515, section 4.1.11) is not understood here.
    guard head["crit"] == nil else { throw Fault(reason: "Its head asks for an extension.") }
    self.algorithm = algorithm
    keyID = head["kid"]?.string
    self.claims = claims
    self.signature = signature
    signed = Array(parts[0]) + [0x2E] + Array(parts[1])
  }

  private static func object(_ part: Substring.UTF8View) -> JSONValue? {
    guard let bytes = Base64.url.decode(part), let value = try? JSONValue.parse(bytes),
      value.object != nil
    else { return nil }
    return value
  }

  func isSigned(byOneOf keys: [JWKSet.Key]) -> Bool {
    keys.contains { $0.algorithm == algorithm && $0.verifies(signature, of: signed) }
  }
}

/// Which tokens are good, and for what.
package struct MemberTokenRules: Sendable {
  /// `iss` must be this.
  package var issuer: String
  /// `aud` must be, or name, this.
  package var audience: String
  /// How far the backend's clock may differ.
  package var skew: Duration

  package init(issuer: String, audience: String, skew: Duration = .seconds(60)) {
    self.issuer = issuer
    self.audience = audience
    self.skew = skew
  }
}

extension MemberToken {
  /// What a token allows its holder.
  struct Grant: Sendable, Equatable {
    let member: MemberID
    let scopes: Set<AccessScope>
  }

  /// No claim gives more: a phone has no business with others' trips.
  static let mostScopes: Set<AccessScope> = [.devices, .notes]

  /// Reads the claims of a token whose signature is good.
  func grant(by rules: MemberTokenRules, at now: UnixTime) throws(Fault) -> Grant {
    guard claims["iss"]?.string == rules.issuer else {
      throw Fault(reason: "Its issuer (iss) is another than this service takes.")
    }
    let audience = claims["aud"]
    guard
      audience?.string == rules.audience
        || audience?.array?.contains(.string(rules.audience)) == true
    else { throw Fault(reason: "Its audience (aud) is another service.") }
    try checkTimes(rules.skew, now)
    guard let subject = claims["sub"]?.string, let member = try? MemberID(subject) else {
      throw Fault(reason: "Its subject (sub) is no member ID.")
    }
    return Grant(member: member, scopes: scopes)
  }

  private func checkTimes(_ skew: Duration, _ now: UnixTime) throws(Fault) {
    let (now, skew) = (now.seconds, skew / .seconds(1))
    guard let end = claims["exp"]?.double else {
      throw Fault(reason: "It has no time of expiry (exp).")
    }
    guard now < end + skew else { throw Fault(reason: "It has expired.") }
    for name in ["nbf", "iat"] {
      guard let claim = claims[name], !claim.isNull else { continue }
      guard let begin = claim.double else { throw Fault(reason: "Its \(name) is no time.") }
      guard now >= begin - skew else {
        throw Fault(reason: "It is not good yet: its \(name) lies ahead.")
      }
    }
  }

  /// `scope` as a text with blanks (RFC 8693), or `scp` as an array; without either, both scopes.
  private var scopes: Set<AccessScope> {
    let words: [String]
    if let text = claims["scope"]?.string {
      words = text.split(separator: " ").map(String.init)
    } else if let list = claims["scp"]?.array {
      words = list.compactMap(\.string)
    } else {
      return Self.mostScopes
    }
    return Set(words.compactMap(AccessScope.init(rawValue:))).intersection(Self.mostScopes)
  }
}
