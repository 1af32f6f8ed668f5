import COpenSSL

/// A certificate with its chain and private key, as a client shows it in TLS.
package struct CertificateIdentity: Sendable {
  /// The own certificate first, each followed by its issuer as far as given.
  package let chainPEM: [UInt8]
  /// PKCS#8 without a password. A secret.
  package let privateKeyPEM: [UInt8]
  /// What the own certificate says.
  package let certificate: CertificateFacts

  /// Reads PKCS#12, the form in which keychains export: `.p12` or `.pfx`.
  ///
  /// Files in the old ciphers that macOS writes are read too, where OpenSSL's legacy provider is
  /// installed.
  package init(pkcs12 bytes: [UInt8], password: String) throws(IdentityError) {
    defer { OpenSSLErrors.clear() }
    guard let context = OSSL_LIB_CTX_new() else { throw .unusable(OpenSSLErrors.detail()) }
    defer { OSSL_LIB_CTX_free(context) }
    // A context of its own, so that old ciphers are known here and nowhere else.
    let providers = [
      OSSL_PROVIDER_load(context, "default"), OSSL_PROVIDER_load(context, "legacy"),
    ]
    defer { for provider in providers where provider != nil { OSSL_PROVIDER_unload(provider) } }
    var file = PKCS12_init_ex(NID_pkcs7_data, context, nil)
    defer { PKCS12_free(file) }
    let isRead = bytes.withUnsafeBufferPointer { buffer in
      var next = buffer.baseAddress
      return d2i_PKCS12(&file, &next, buffer.count) != nil
    }
    guard isRead else { throw .notPKCS12 }
    ERR_clear_error()
    var (key, own, others): (OpaquePointer?, OpaquePointer?, OpaquePointer?) = (nil, nil, nil)
    guard PKCS12_parse(file, password, &key, &own, &others) == 1 else {
      throw Self.parseFailure(knowsLegacy: providers[1] != nil)
    }
    defer { EVP_PKEY_free(key) }
    var certificates = own.map { [$0] } ?? []
    for index in 0..<max(0, OPENSSL_sk_num(others)) {
      if let other = OPENSSL_sk_value(others, index) { certificates.append(OpaquePointer(other)) }
    }
    OPENSSL_sk_free(others)
    try self.init(taking: certificates, key: key)
  }

  /// Reads PEM text; certificates may stand in any order, also in one text with the key.
  ///
  /// - Parameter password: of the private key, if it has one.
  package init(
    certificatesPEM: [UInt8], privateKeyPEM: [UInt8], password: String? = nil
  ) throws(IdentityError) {
    defer { OpenSSLErrors.clear() }
    let certificates = Self.certificates(in: certificatesPEM)
    let key = Self.privateKey(in: privateKeyPEM, password: password ?? "")
    defer { EVP_PKEY_free(key) }
    if key == nil, String(decoding: privateKeyPEM, as: UTF8.self).contains("ENCRYPTED") {
      for certificate in certificates { X509_free(certificate) }
      throw password == nil ? .needsPassword : .wrongPassword
    }
    try self.init(taking: certificates, key: key)
  }

  /// - Parameter certificates: freed here.
  private init(taking certificates: [OpaquePointer], key: OpaquePointer?) throws(IdentityError) {
    defer { for certificate in certificates { X509_free(certificate) } }
    guard !certificates.isEmpty else { throw .noCertificate }
    guard let key else { throw .noPrivateKey }
    guard let own = certificates.first(where: { X509_check_private_key($0, key) == 1 }) else {
      throw .keyDoesNotFit(certificates: certificates.count)
    }
    do throws(CryptoError) {
      let text = try MemoryBIO()
      for certificate in Self.chain(from: own, among: certificates) {
        guard PEM_write_bio_X509(text.pointer, certificate) == 1 else {
          throw OpenSSLErrors.take("write a certificate")
        }
      }
      let secret = try MemoryBIO()
      guard PEM_write_bio_PKCS8PrivateKey(secret.pointer, key, nil, nil, 0, nil, nil) == 1 else {
        throw OpenSSLErrors.take("write a private key")
      }
      chainPEM = text.bytes
      privateKeyPEM = secret.bytes
    } catch {
      throw .unusable("\(error)")
    }
    self.certificate = CertificateFacts(of: own)
  }

  /// From the own certificate to the last issuer that is there.
  private static func chain(
    from own: OpaquePointer, among certificates: [OpaquePointer]
  ) -> [OpaquePointer] {
    var chain = [own]
    while let last = chain.last,
      let issuer = certificates.first(where: {
        !chain.contains($0) && X509_check_issued($0, last) == X509_V_OK
      })
    {
      chain.append(issuer)
    }
    return chain
  }

  private static func certificates(in pem: [UInt8]) -> [OpaquePointer] {
    guard let bio = BIO_new_mem_buf(pem, Int32(pem.count)) else { return [] }
    defer { BIO_free(bio) }
    var certificates: [OpaquePointer] = []
    while let certificate = PEM_read_bio_X509(bio, nil, nil, nil) {
      certificates.append(certificate)
    }
    return certificates
  }

  private static func privateKey(in pem: [UInt8], password: String) -> OpaquePointer? {
    guard let bio = BIO_new_mem_buf(pem, Int32(pem.count)) else { return nil }
    defer { BIO_free(bio) }
    // Without a function to ask with, OpenSSL takes the last argument for the password; it never
    // asks at the terminal.
    return password.withCString { text in
      PEM_read_bio_PrivateKey(bio, nil, nil, UnsafeMutableRawPointer(mutating: text))
    }
  }

  private static func parseFailure(knowsLegacy: Bool) -> IdentityError {
    let reason = ERR_peek_last_error() & 0x7F_FFFF
    if reason == UInt(PKCS12_R_MAC_VERIFY_FAILURE) { return .wrongPassword }
    let detail = OpenSSLErrors.detail()
    return .unusable(
      knowsLegacy
        ? detail : "\(detail); OpenSSL's legacy provider, which old files need, is not installed")
  }
}

/// Why a certificate with its key cannot be used. Holds nothing of the key.
public enum IdentityError: Error, Sendable, Equatable, CustomStringConvertible {
  case notPKCS12
  case wrongPassword
  case needsPassword
  case noCertificate
  case noPrivateKey
  case keyDoesNotFit(certificates: Int)
  case unusable(String)

  public var description: String {
    switch self {
    case .notPKCS12: "The bytes are no PKCS#12 file (.p12)."
    case .wrongPassword: "The password of the certificate's private key is wrong."
    case .needsPassword: "The certificate's private key is encrypted, and no password was given."
    case .noCertificate: "There is no certificate in it."
    case .noPrivateKey:
      "There is no private key in it. Export the certificate together with its key."
    case .keyDoesNotFit(let count):
      "The private key belongs to none of the \(count) certificates."
    case .unusable(let detail): "The certificate and its key cannot be read: \(detail)."
    }
  }
}

/// What stands in an X.509 certificate.
package struct CertificateFacts: Sendable, Equatable {
  package let commonName: String
  /// The subject's user ID (`UID`), where Apple puts an app's topic.
  package let userID: String?
  /// Whole seconds since 1970.
  package let notBeforeSeconds: Int64
  package let notAfterSeconds: Int64
  /// DER of the extensions, by object identifier, such as `2.5.29.17`.
  package let extensions: [String: [UInt8]]

  init(of certificate: OpaquePointer) {
    let subject = X509_get_subject_name(certificate)
    commonName = Self.text(subject, NID_commonName) ?? ""
    userID = Self.text(subject, NID_userId)
    notBeforeSeconds = Self.seconds(X509_get0_notBefore(certificate))
    notAfterSeconds = Self.seconds(X509_get0_notAfter(certificate))
    var extensions: [String: [UInt8]] = [:]
    for index in 0..<X509_get_ext_count(certificate) {
      guard let entry = X509_get_ext(certificate, index),
        let name = Self.identifier(X509_EXTENSION_get_object(entry)),
        let value = X509_EXTENSION_get_data(entry), let start = ASN1_STRING_get0_data(value)
      else { continue }
      let bytes = UnsafeBufferPointer(start: start, count: Int(ASN1_STRING_length(value)))
      extensions[name] = Array(bytes)
    }
    self.extensions = extensions
  }

  private static func text(_ name: OpaquePointer?, _ field: Int32) -> String? {
    var buffer = [CChar](repeating: 0, count: 512)
    let count = X509_NAME_get_text_by_NID(name, field, &buffer, Int32(buffer.count))
    guard count >= 0 else { return nil }
    return String(decoding: buffer.prefix(Int(count)).map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  private static func identifier(_ object: OpaquePointer?) -> String? {
    var buffer = [CChar](repeating: 0, count: 128)
    let count = OBJ_obj2txt(&buffer, Int32(buffer.count), object, 1)
    guard (1..<Int32(buffer.count)).contains(count) else { return nil }
    return String(decoding: buffer.prefix(Int(count)).map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  private static func seconds(_ time: UnsafePointer<ASN1_TIME>?) -> Int64 {
    guard let epoch = ASN1_TIME_set(nil, 0) else { return 0 }
    defer { ASN1_STRING_free(epoch) }
    var (days, seconds): (Int32, Int32) = (0, 0)
    guard ASN1_TIME_diff(&days, &seconds, epoch, time) == 1 else { return 0 }
    return Int64(days) * 86_400 + Int64(seconds)
  }
}
