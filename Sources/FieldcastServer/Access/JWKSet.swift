internal import Crypto
internal import JSON

/// The public keys by which member tokens are checked, as a JSON Web Key Set (RFC 7517).
struct JWKSet: Sendable {
  enum Algorithm: String, Sendable {
    case es256 = "ES256"
    case rs256 = "RS256"
  }

  /// A key is for one algorithm, which follows from what it is: what a token says of itself cannot
  /// make another use of it.
  struct Key: Sendable {
    enum Numbers: Sendable {
      case p256(P256PublicKey)
      case rsa(RSAPublicKey)
    }

    let id: String?
    let numbers: Numbers

    var algorithm: Algorithm {
      switch numbers {
      case .p256: .es256
      case .rsa: .rs256
      }
    }

    func verifies(_ signature: [UInt8], of message: [UInt8]) -> Bool {
      switch numbers {
      case .p256(let key):
        guard let raw = ECDSASignature(raw: signature) else { return false }
        return key.verifies(raw, of: message)
      case .rsa(let key): return key.verifies(signature, of: message)
      }
    }
  }

  let keys: [Key]

  static let bytesLimit = 65_536
  /// Each that fits is tried for a token that names none.
  static let keysLimit = 16

  /// Reads `{"keys": [{"kty": "EC", "crv": "P-256", "x", "y", "kid"?}, {"kty": "RSA", "n", "e"}]}`.
  ///
  /// Keys for other algorithms and uses are passed over, since a set may serve others too.
  ///
  /// - Throws: a sentence, where nothing in it can be used.
  init(_ bytes: [UInt8]) throws(JWKSetError) {
    let value: JSONValue
    do throws(JSONError) {
      value = try JSONValue.parse(bytes, limits: JSONLimits(maxBytes: Self.bytesLimit))
    } catch {
      throw JWKSetError(reason: "it is not JSON: \(error.message)")
    }
    guard let list = value["keys"]?.array else {
      throw JWKSetError(reason: "it has no array \"keys\"")
    }
    keys = Array(list.compactMap(Self.key).prefix(Self.keysLimit))
    guard !keys.isEmpty else {
      throw JWKSetError(
        reason: "none of its \(list.count) keys is for ES256 (P-256) or RS256 (2,048 to 8,192 bits)"
      )
    }
  }

  /// The keys that a token may have been signed with.
  ///
  /// - Parameter id: what the token names; nil tries all of the algorithm.
  func keys(for algorithm: Algorithm, id: String?) -> [Key] {
    keys.filter { $0.algorithm == algorithm && (id == nil || $0.id == id) }
  }

  private static func key(_ value: JSONValue) -> Key? {
    func number(_ name: String) -> [UInt8]? {
      value[name]?.string.flatMap { Base64.url.decode($0) }
    }
    guard value["use"]?.string ?? "sig" == "sig" else { return nil }
    let numbers: Key.Numbers?
    switch (value["kty"]?.string, value["crv"]?.string) {
    case ("EC", "P-256"):
      guard let x = number("x"), let y = number("y") else { return nil }
      numbers = P256PublicKey(x: x, y: y).map { .p256($0) }
    case ("RSA", _):
      guard let n = number("n"), let e = number("e") else { return nil }
      numbers = RSAPublicKey(modulus: n, exponent: e).map { .rsa($0) }
    default: numbers = nil
    }
    guard let numbers else { return nil }
    let key = Key(id: value["kid"]?.string, numbers: numbers)
    let isMeant = value["alg"]?.string.map { $0 == key.algorithm.rawValue } ?? true
    return isMeant ? key : nil
  }
}

struct JWKSetError: Error, Sendable {
  let reason: String
}
