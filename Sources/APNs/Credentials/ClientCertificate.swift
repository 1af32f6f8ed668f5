public import Clocks
public import Crypto
import Transport

/// An "Apple Push Notification service SSL" certificate with its private key.
///
/// It is for one app, for a year, and for a part of the push types. Tokens can do more; this is for
/// those who have certificates already.
///
/// - SeeAlso: Apple, "Establishing a certificate-based connection to APNs".
public struct ClientCertificate: Sendable {
  /// The certificate's common name, for messages.
  public let name: String
  /// The app's bundle ID, and the topics of its extensions such as `com.example.app.voip`.
  public let topics: [String]
  /// Where it is accepted; both where it says nothing of it.
  public let environments: Set<APNsEnvironment>
  /// Not to be used before.
  public let validFrom: UnixTime
  /// Not to be used from here on.
  public let expires: UnixTime
  let identity: TLSIdentity

  /// Reads a `.p12` file's content, as a keychain exports it.
  public init(pkcs12 bytes: [UInt8], password: String) throws(IdentityError) {
    self.init(try CertificateIdentity(pkcs12: bytes, password: password))
  }

  /// Reads PEM text: the certificate, its issuers if there are any, and the private key. All three
  /// may stand in one text, which is then given twice.
  public init(
    certificatesPEM: [UInt8], privateKeyPEM: [UInt8], password: String? = nil
  ) throws(IdentityError) {
    self.init(
      try CertificateIdentity(
        certificatesPEM: certificatesPEM, privateKeyPEM: privateKeyPEM, password: password))
  }

  private init(_ source: CertificateIdentity) {
    let facts = source.certificate
    identity = TLSIdentity(
      certificateChainPEM: source.chainPEM, privateKeyPEM: source.privateKeyPEM)
    name = facts.commonName
    validFrom = UnixTime(wholeSeconds: facts.notBeforeSeconds)
    expires = UnixTime(wholeSeconds: facts.notAfterSeconds)
    var topics = facts.userID.map { [$0] } ?? []
    for identifier in [AppleExtension.topics, AppleExtension.voipTopics] {
      for topic in TopicList.read(facts.extensions[identifier] ?? [])
      where !topics.contains(topic) { topics.append(topic) }
    }
    self.topics = topics
    var environments: Set<APNsEnvironment> = []
    if facts.extensions[AppleExtension.development] != nil { environments.insert(.development) }
    if facts.extensions[AppleExtension.production] != nil { environments.insert(.production) }
    // Those that say nothing of it are known for both.
    self.environments = environments.isEmpty ? Set(APNsEnvironment.allCases) : environments
  }

  func checkDates(at now: UnixTime) throws(APNsSetupError) {
    if now < validFrom { throw .certificateNotYetValid(name: name, from: validFrom) }
    if now >= expires { throw .certificateExpired(name: name, at: expires) }
  }
}

/// Apple's extensions of push certificates.
private enum AppleExtension {
  static let development = "1.2.840.113635.100.6.3.1"
  static let production = "1.2.840.113635.100.6.3.2"
  static let voipTopics = "1.2.840.113635.100.6.3.4"
  static let topics = "1.2.840.113635.100.6.3.6"
}

/// Reads the extension that lists topics: a sequence in which each topic is followed by a sequence
/// of words about it, such as `voip`.
enum TopicList {
  private static let sequence: UInt8 = 0x30
  private static let utf8String: UInt8 = 0x0C

  /// - Returns: the topics; none if the bytes are something else.
  static func read(_ der: [UInt8]) -> [String] {
    var outer = der[...]
    guard let (tag, list) = element(&outer), tag == sequence else { return [] }
    var topics: [String] = []
    var rest = list
    while let (tag, content) = element(&rest) {
      if tag == utf8String { topics.append(String(decoding: content, as: UTF8.self)) }
    }
    return topics
  }

  /// Takes the next DER element off.
  private static func element(
    _ bytes: inout ArraySlice<UInt8>
  ) -> (tag: UInt8, content: ArraySlice<UInt8>)? {
    guard let tag = bytes.popFirst(), let first = bytes.popFirst() else { return nil }
    var length = Int(first)
    if first >= 0x80 {
      // An extension is far below 64 KB, so two bytes of length are enough.
      guard (0x81...0x82).contains(first) else { return nil }
      length = 0
      for _ in 0..<(first & 0x7F) {
        guard let byte = bytes.popFirst() else { return nil }
        length = length << 8 | Int(byte)
      }
    }
    guard length <= bytes.count else { return nil }
    defer { bytes = bytes.dropFirst(length) }
    return (tag, bytes.prefix(length))
  }
}
