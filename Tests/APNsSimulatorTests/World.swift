import APNsSimulator
import Clocks
import Crypto
import JSON
import Testing

/// One simulated environment with an app, a key and a connection to each port; time stands still
/// until a test moves it.
struct World {
  static let bundleID = "com.example.trains"
  static let teamID = "TEAM123456"
  static let keyID = "KEY1234567"

  var apns: SimulatedAPNs
  var push: ConnectionMemory
  var management: ConnectionMemory
  var now = UnixTime(wholeSeconds: 1_790_000_000)
  let signer: ProviderSigner
  private let tokens = Tokens()

  private final class Tokens {
    var byTime: [Int64: String] = [:]
  }

  init(_ change: (inout SimulatorConfiguration) -> Void = { _ in }) throws {
    var configuration = SimulatorConfiguration()
    configuration.apps = [.init(bundleID: Self.bundleID, teamID: Self.teamID)]
    configuration.delivery = .constant(.milliseconds(100))
    change(&configuration)
    apns = try SimulatedAPNs(configuration)
    push = ConnectionMemory(configuration.connections)
    management = ConnectionMemory(configuration.connections)
    signer = ProviderSigner(
      key: try P256PrivateKey.generate(), keyID: Self.keyID, teamID: Self.teamID)
    apns.register(signer.registered)
  }

  /// A token that is renewed every 50 minutes. Signing anew makes another token, so it is kept.
  var bearer: String {
    get throws {
      let issuedAt = now.wholeSeconds / 3000 * 3000
      if let token = tokens.byTime[issuedAt] { return "bearer \(token)" }
      let token = try signer.token(issuedAt)
      tokens.byTime[issuedAt] = token
      return "bearer \(token)"
    }
  }

  mutating func wait(_ seconds: Double) { now = now + .nanoseconds(Int64(seconds * 1e9)) }

  mutating func send(_ request: SimulatedRequest) -> SimulatedAnswer {
    apns.answer(request, on: .push, connection: &push, now: now)
  }

  mutating func manage(_ request: SimulatedRequest) -> SimulatedAnswer {
    apns.answer(request, on: .management, connection: &management, now: now)
  }

  /// A request as it should be, for a test to spoil.
  func management(
    _ method: String, _ name: String = "channels", channelID: String? = nil, body: String = ""
  ) throws -> SimulatedRequest {
    var request = SimulatedRequest(
      method: method, path: "/1/apps/\(Self.bundleID)/\(name)",
      fields: [.init("authorization", try bearer)], body: Array(body.utf8))
    if let channelID { request.fields.append(.init("apns-channel-id", channelID)) }
    return request
  }

  mutating func createChannel(policy: Int = 1) throws -> String {
    let answer = manage(
      try management(
        "POST", body: #"{"message-storage-policy":\#(policy),"push-type":"LiveActivity"}"#))
    return try #require(answer.value("apns-channel-id"))
  }

  func broadcast(
    _ channelID: String, _ body: String, priority: String = "10", expiration: String = "0"
  ) throws -> SimulatedRequest {
    SimulatedRequest(
      method: "POST", path: "/4/broadcasts/apps/\(Self.bundleID)",
      fields: [
        .init("authorization", try bearer), .init("apns-channel-id", channelID),
        .init("apns-push-type", "liveactivity"), .init("apns-priority", priority),
        .init("apns-expiration", expiration),
      ], body: Array(body.utf8))
  }

  /// An update with a count in its content-state.
  func update(_ timestamp: Int64, notes: Int) -> String {
    #"{"aps":{"timestamp":\#(timestamp),"event":"update","content-state":{"notesCaptured":\#(notes)}}}"#
  }

  func end(_ timestamp: Int64, notes: Int, dismissal: Int64? = nil) -> String {
    let date = dismissal.map { #","dismissal-date":\#($0)"# } ?? ""
    return
      #"{"aps":{"timestamp":\#(timestamp),"event":"end","content-state":{"notesCaptured":\#(notes)}\#(date)}}"#
  }

  /// Broadcasts an update stamped with now.
  mutating func publish(_ notes: Int, on channelID: String, expiration: String = "0") throws {
    let answer = send(
      try broadcast(channelID, update(now.wholeSeconds, notes: notes), expiration: expiration))
    try #require(answer.status == 200, "\(answer.text)")
  }

  func device(
    _ token: String, _ body: String, type: String = "liveactivity", topic: String? = nil,
    more: [SimulatedField] = []
  ) throws -> SimulatedRequest {
    let suffix = type == "liveactivity" ? ".push-type.liveactivity" : ""
    return SimulatedRequest(
      method: "POST", path: "/3/device/\(token)",
      fields: [
        .init("authorization", try bearer), .init("apns-push-type", type),
        .init("apns-topic", topic ?? Self.bundleID + suffix),
      ] + more, body: Array(body.utf8))
  }

  mutating func onlyCard(of phone: Int) throws -> CardView {
    let cards = try apns.cards(of: phone, now: now)
    try #require(cards.count == 1)
    return cards[0]
  }
}

/// Makes provider tokens, right ones and wrong ones.
struct ProviderSigner {
  let key: P256PrivateKey
  var keyID: String
  var teamID: String

  var registered: RegisteredKey {
    RegisteredKey(keyID: keyID, teamID: teamID, publicKey: key.publicKey)
  }

  func token(
    _ issuedAt: Int64, head: String? = nil, claims: String? = nil, asDER: Bool = false
  ) throws -> String {
    let head = head ?? #"{"alg":"ES256","kid":"\#(keyID)"}"#
    let claims = claims ?? #"{"iss":"\#(teamID)","iat":\#(issuedAt)}"#
    let text =
      Base64.url.encodeText(head.utf8) + "." + Base64.url.encodeText(claims.utf8)
    let signature = try key.signature(of: Array(text.utf8))
    return text + "." + Base64.url.encodeText(asDER ? signature.der : signature.raw)
  }
}

extension SimulatedAnswer {
  /// The reason in the body, as it travels.
  var reasonText: String? { (try? JSONValue.parse(body))?["reason"]?.string }
}

extension SimulatedRequest {
  func with(_ name: String, _ value: String?) -> SimulatedRequest {
    var changed = self
    changed.fields.removeAll { $0.name == name }
    if let value { changed.fields.append(.init(name, value)) }
    return changed
  }

  func with(path: String) -> SimulatedRequest {
    var changed = self
    changed.path = path
    return changed
  }

  func with(method: String) -> SimulatedRequest {
    var changed = self
    changed.method = method
    return changed
  }

  func with(body: String) -> SimulatedRequest {
    var changed = self
    changed.body = Array(body.utf8)
    return changed
  }
}
