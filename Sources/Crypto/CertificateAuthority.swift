import COpenSSL

/// A self-made certificate authority, for servers on this machine that must speak TLS: the
/// simulator and tests. Not for anything that strangers reach.
///
/// `@unchecked Sendable`: the certificate is complete when `init` returns and is only read after.
package final class CertificateAuthority: @unchecked Sendable {
  /// When a certificate holds, in whole seconds since 1970.
  package struct Validity: Sendable {
    package var notBeforeSeconds: Int64
    package var notAfterSeconds: Int64

    package init(notBeforeSeconds: Int64, notAfterSeconds: Int64) {
      self.notBeforeSeconds = notBeforeSeconds
      self.notAfterSeconds = notAfterSeconds
    }

    /// From an hour before `seconds`, since clocks differ, for so many days.
    package static func days(_ days: Int64, fromSeconds seconds: Int64) -> Validity {
      Validity(notBeforeSeconds: seconds - 3_600, notAfterSeconds: seconds + days * 86_400)
    }
  }

  package enum SubjectName: Sendable, Equatable {
    case dns(String)
    case ip(String)
  }

  package enum Usage: Sendable {
    case server
    case client
  }

  /// A certificate for one server or client. ``privateKeyPEM`` is a secret.
  package struct Issued: Sendable {
    /// The certificate, then the authority's.
    package let chainPEM: [UInt8]
    package let privateKeyPEM: [UInt8]
  }

  private let key: P256PrivateKey
  private let certificate: Certificate

  package init(commonName: String, validity: Validity) throws(CryptoError) {
    key = try P256PrivateKey.generate()
    certificate = try Certificate(commonName: commonName, publicKey: key, validity: validity)
    try certificate.add(NID_basic_constraints, "critical,CA:TRUE", issuer: certificate)
    try certificate.add(NID_key_usage, "critical,keyCertSign,cRLSign", issuer: certificate)
    try certificate.add(NID_subject_key_identifier, "hash", issuer: certificate)
    try certificate.sign(by: key, issuer: certificate)
  }

  /// The authority's own certificate: what a client must trust.
  package func certificatePEM() throws(CryptoError) -> [UInt8] { try certificate.pem() }

  /// Makes a key and a certificate for it.
  ///
  /// - Parameter names: at least one for a server; the first one is the common name too.
  package func issue(
    _ usage: Usage, names: [SubjectName], validity: Validity
  ) throws(CryptoError) -> Issued {
    let alternatives = try names.map { name throws(CryptoError) in try Self.text(of: name) }
    let commonName = alternatives.first.map { String($0.drop { $0 != ":" }.dropFirst()) } ?? "none"
    let ownKey = try P256PrivateKey.generate()
    let issued = try Certificate(commonName: commonName, publicKey: ownKey, validity: validity)
    try issued.add(NID_basic_constraints, "critical,CA:FALSE", issuer: certificate)
    try issued.add(NID_key_usage, "critical,digitalSignature", issuer: certificate)
    let purpose = usage == .server ? "serverAuth" : "clientAuth"
    try issued.add(NID_ext_key_usage, purpose, issuer: certificate)
    if !alternatives.isEmpty {
      let list = alternatives.joined(separator: ",")
      try issued.add(NID_subject_alt_name, list, issuer: certificate)
    }
    try issued.add(NID_authority_key_identifier, "keyid", issuer: certificate)
    try issued.sign(by: key, issuer: certificate)
    return Issued(
      chainPEM: try issued.pem() + certificatePEM(), privateKeyPEM: try ownKey.pkcs8PEM())
  }

  /// Makes a key and a client's certificate that names its holder by a user ID, as those are that
  /// Apple issues for push notifications.
  package func issueClient(
    commonName: String, userID: String, validity: Validity
  ) throws(CryptoError) -> Issued {
    let ownKey = try P256PrivateKey.generate()
    let issued = try Certificate(commonName: commonName, publicKey: ownKey, validity: validity)
    try issued.name("UID", userID)
    try issued.add(NID_basic_constraints, "critical,CA:FALSE", issuer: certificate)
    try issued.add(NID_key_usage, "critical,digitalSignature", issuer: certificate)
    try issued.add(NID_ext_key_usage, "clientAuth", issuer: certificate)
    try issued.sign(by: key, issuer: certificate)
    return Issued(
      chainPEM: try issued.pem() + certificatePEM(), privateKeyPEM: try ownKey.pkcs8PEM())
  }

  /// `DNS:…` or `IP:…`; the list is separated by commas, so a name must not hold one.
  private static func text(of name: SubjectName) throws(CryptoError) -> String {
    let (prefix, value) =
      switch name {
      case .dns(let host): ("DNS:", host)
      case .ip(let address): ("IP:", address)
      }
    let isPlain = value.utf8.allSatisfy { byte in
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."),
        UInt8(ascii: "*"), UInt8(ascii: ":"):
        true
      default: false
      }
    }
    guard isPlain, !value.isEmpty, value.utf8.count <= 64 else { throw .unusableName(value) }
    return prefix + value
  }
}

/// One X.509 certificate in the making.
private final class Certificate {
  let pointer: OpaquePointer

  init(
    commonName: String, publicKey: P256PrivateKey, validity: CertificateAuthority.Validity
  ) throws(CryptoError) {
    guard let pointer = X509_new() else { throw OpenSSLErrors.take("make a certificate") }
    self.pointer = pointer
    // A positive serial number of 63 random bits; version 3 is written as 2.
    let serial = RandomBytes.make(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) } >> 1
    guard X509_set_version(pointer, 2) == 1,
      ASN1_INTEGER_set_uint64(X509_get_serialNumber(pointer), serial | 1) == 1,
      ASN1_TIME_set(X509_getm_notBefore(pointer), Int(validity.notBeforeSeconds)) != nil,
      ASN1_TIME_set(X509_getm_notAfter(pointer), Int(validity.notAfterSeconds)) != nil,
      X509_set_pubkey(pointer, publicKey.pointer) == 1
    else { throw OpenSSLErrors.take("make a certificate") }
    try name("CN", commonName)
  }

  deinit { X509_free(pointer) }

  /// Adds a part to the subject.
  func name(_ attribute: String, _ value: String) throws(CryptoError) {
    let bytes = Array(value.utf8)
    let added = X509_NAME_add_entry_by_txt(
      X509_get_subject_name(pointer), attribute, MBSTRING_UTF8, bytes, Int32(bytes.count), -1, 0)
    guard added == 1 else { throw .unusableName(value) }
  }

  func add(_ identifier: Int32, _ value: String, issuer: Certificate) throws(CryptoError) {
    guard copenssl_add_extension(pointer, issuer.pointer, identifier, value) == 1 else {
      throw OpenSSLErrors.take("add \(value) to a certificate")
    }
  }

  func sign(by key: P256PrivateKey, issuer: Certificate) throws(CryptoError) {
    guard X509_set_issuer_name(pointer, X509_get_subject_name(issuer.pointer)) == 1,
      X509_sign(pointer, key.pointer, EVP_sha256()) > 0
    else { throw OpenSSLErrors.take("sign a certificate") }
  }

  func pem() throws(CryptoError) -> [UInt8] {
    let buffer = try MemoryBIO()
    guard PEM_write_bio_X509(buffer.pointer, pointer) == 1 else {
      throw OpenSSLErrors.take("write a certificate")
    }
    return buffer.bytes
  }
}
