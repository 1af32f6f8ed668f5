import Clocks
import Crypto
import FieldcastServer
import Foundation
import HTTP
import JSON

/// A product's backend that gives its members tokens, with a key of its own.
struct MemberBackend: Sendable {
  static let issuer = "https://backend.example"
  let key: P256PrivateKey
  let keyID: String

  init(keyID: String = "ec-1") throws {
    key = try .generate()
    self.keyID = keyID
  }

  /// Its public key as a JSON Web Key.
  var jwk: String {
    get throws {
      let pem = String(decoding: try key.publicKey.spkiPEM(), as: UTF8.self)
      let body = pem.split(separator: "\n").filter { !$0.hasPrefix("-") }.joined()
      let der = Base64.standard.decode(body) ?? []
      let (x, y) = (Base64.url.encodeText(der.suffix(64).prefix(32)), der.suffix(32))
      return #"{"kty":"EC","crv":"P-256","kid":"\#(keyID)","use":"sig","#
        + #""x":"\#(x)","y":"\#(Base64.url.encodeText(y))"}"#
    }
  }

  /// A token; both parts as JSON.
  func token(head: String, claims: String) throws -> String {
    let signed = Self.unsigned(head: head, claims: claims)
    return signed + "." + Base64.url.encodeText(try key.signature(of: Array(signed.utf8)).raw)
  }

  static func unsigned(head: String, claims: String) -> String {
    Base64.url.encodeText(head.utf8) + "." + Base64.url.encodeText(claims.utf8)
  }

  var head: String { #"{"alg":"ES256","kid":"\#(keyID)"}"# }

  /// A good token of a member.
  ///
  /// - Parameters:
  ///   - life: seconds until it expires.
  ///   - more: further claims, each behind a comma.
  func token(of member: String, life: Double = 600, at now: UnixTime, more: String = "") throws
    -> String
  {
    try token(
      head: head,
      claims: #"{"iss":"\#(Self.issuer)","aud":"fieldcast","sub":"\#(member)","#
        + #""exp":\#(now.seconds + life)\#(more)}"#)
  }

  func bearer(_ member: String, at now: UnixTime, more: String = "") throws -> HTTPFields {
    ["authorization": "Bearer \(try token(of: member, at: now, more: more))"]
  }
}

/// A backend's RSA key, of which only the public part was kept, and a token that it signed: of anna,
/// for the audiences other and fieldcast, good until 2100.
enum RSABackend {
  static let jwk = #"{"kty":"RSA","kid":"rsa-1","alg":"RS256","n":"\#(modulus)","e":"AQAB"}"#
  static let modulus = """
    oroNWFyjNTSVtjJURCcYd5Uf2fjA8EFEChGAOHKu51AwzywRTL0eZ1phJ6VzotpSrS7n0LnSTi97-ZC-cSAeyJ_Ebg\
    Wi6puTZLrgFIlmTY0PXEui_zPp8p_CxLolh-OIHLB-iUrpcJDkRpZb714BDmcYhJ37Jopniap9Pjgv5nDgKSvxqpbn\
    YdQjY0OpMBTXKJZhaqjHPXhGEWI2g1SotV1qaFga8M4_TQ1Vxl5H1O2XELCTM6C4JAewGIxGQfukwLV1Kw_9_KGiuE\
    isvKKafeDpwfDE-RUjQz7hj-fq3czfWk2jXzpH29-PBO6oXfzDQYy51YI-84eMKKSfnZvGoQ
    """
  static let token = """
    eyJhbGciOiJSUzI1NiIsInR5cCI6IkpXVCIsImtpZCI6InJzYS0xIn0.eyJpc3MiOiJodHRwczovL2JhY2tlbmQuZX\
    hhbXBsZSIsImF1ZCI6WyJvdGhlciIsImZpZWxkY2FzdCJdLCJzdWIiOiJhbm5hIiwiZXhwIjo0MTAyNDQ0ODAwfQ.l\
    66EQ8EUM9g99GtOTIL5Af0iLvuyeWJc4rbWb0ZXxkLy7SNwdmGF2XrrQauY1g_qjkePzprLZde8yRTA3Ls87jgBxaD\
    Hq-CPf3sAespMYwvsHxcRupnp9Sgp3uV_O-SfZcHVzzHyuFmcum2fGtmTfiGW8il4azqzJGZNED1lZVfPer4L2CKIp\
    LzthRPMR9DGcXbWsbl9Paz54buNcSDnZw7Xs8jOQkLNFVfJKfNgwRpqLw_gOBCyGw_CRrAfCmYQshfR5GY99WBGKkn\
    1iWI5HT2KLHQi358-en-qYM1As5yMK8k6q1WHPVGCcg-ax6BVvs0ZpghwBdU-PMzwo-x_9w
    """
}

extension JWKFile {
  /// Rules that these backends' tokens follow.
  func access(pause: Duration = .zero) -> MemberAccess {
    var access = MemberAccess(
      rules: MemberTokenRules(issuer: MemberBackend.issuer, audience: "fieldcast"),
      keys: .file(path))
    access.leastPause = pause
    return access
  }
}

/// A key set in a file.
struct JWKFile: Sendable {
  let path: String

  init(_ keys: String..., in world: World) throws {
    path = world.folder.appendingPathComponent("members.json").path
    try write(keys)
  }

  func write(_ keys: [String]) throws {
    try #"{"keys":[\#(keys.joined(separator: ","))]}"#.write(
      toFile: path, atomically: true, encoding: .utf8)
  }
}
