package import APNs
package import Clocks
package import Crypto

/// The tokens that a benchmark pushes to.
package enum BenchTokens {
  /// As many as are taken by turns, so that the paths differ as those of a fan-out do.
  package static let count = 1_000

  struct Refusal: Sendable, Hashable {
    var status: Int
    var body: [UInt8]

    static let gone = Refusal(
      status: 410, body: Array(#"{"reason":"Unregistered","timestamp":1767225600000}"#.utf8))
    static let unknown = Refusal(status: 400, body: Array(#"{"reason":"BadDeviceToken"}"#.utf8))
  }

  /// Device tokens of 64 digits.
  ///
  /// - Parameter halfBad: whether every second one is to be refused by a server that knows them.
  package static func make(halfBad: Bool) -> [String] {
    (0..<count).map { number in
      let digits = Hexadecimal.encode(Digest.sha256(Array("token \(number)".utf8)))
      let isBad = halfBad && number % 2 == 1
      return digits.dropLast() + (isBad ? (number % 4 == 1 ? "1" : "3") : "0")
    }
  }

  /// How a server refuses a token with this last digit; nil for a good one.
  static func refusal(ofPathEndingIn digit: UInt8) -> Refusal? {
    switch digit {
    case UInt8(ascii: "1"): .gone
    case UInt8(ascii: "3"): .unknown
    default: nil
    }
  }
}

/// What both contenders send: one update of a Live Activity to one device.
package enum BenchRequest {
  package static let bodyBytes = 300
  package static let bundleID = "com.example.fieldtrips"
  package static let priority = "10"
  package static let expiration = "0"

  /// A payload of exactly ``bodyBytes`` bytes.
  package static var body: [UInt8] {
    let start =
      #"{"aps":{"timestamp":1767225600,"event":"update","content-state":{"notesCaptured":143,"#
      + #""lastPlaceName":"Rock pools at the east end"},"stale-date":1767229200,"#
      + #""relevance-score":75},"note":""#
    let end = #""}"#
    let filler = String(repeating: "x", count: bodyBytes - start.utf8.count - end.utf8.count)
    return Array((start + filler + end).utf8)
  }

  /// The fields that `h2load` sends; the engine makes its own, which are the same.
  package static func fields(key: ProviderKey, now: UnixTime) throws(CryptoError) -> [String] {
    [
      "authorization: bearer \(try key.token(issuedAt: now).text)",
      "apns-topic: \(bundleID).push-type.liveactivity", "apns-push-type: liveactivity",
      "apns-priority: \(priority)", "apns-expiration: \(expiration)",
    ]
  }

  /// A key that nobody knows: the servers of a benchmark look at no token.
  package static func makeKey() throws -> ProviderKey {
    try ProviderKey(teamID: "FIELDCAST1", keyID: "BENCHMARK1", key: P256PrivateKey.generate())
  }
}
