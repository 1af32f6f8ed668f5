internal import COpenSSL
internal import Glibc

/// A TLS setting that cannot work: a file that is missing, a key that does not fit.
package struct TLSConfigurationError: Error, Sendable, CustomStringConvertible {
  package let description: String
}

/// Whom a client believes.
public enum TLSTrust: Sendable {
  /// The certificate authorities of the machine (`ca-certificates`).
  case system
  /// Those in a PEM file, and no others.
  case file(String)
  /// Those in PEM text, and no others.
  case pem([UInt8])
  /// Those of the machine and those in a PEM file.
  case systemAnd(file: String)
}

/// A certificate chain with its private key, as PEM text.
package struct TLSIdentity: Sendable, Equatable {
  package let certificateChainPEM: [UInt8]
  package let privateKeyPEM: [UInt8]

  package init(certificateChainPEM: [UInt8], privateKeyPEM: [UInt8]) {
    self.certificateChainPEM = certificateChainPEM
    self.privateKeyPEM = privateKeyPEM
  }
}

/// What all TLS connections of one kind share: versions, trust, own certificate, ALPN.
///
/// TLS 1.2 is the oldest version spoken, and peers are always verified: there is no switch that
/// turns that off, only other certificates to trust.
///
/// `@unchecked Sendable` is right because OpenSSL counts and locks its contexts itself, and this
/// one is not changed after its initialiser.
package final class TLSClientContext: @unchecked Sendable {
  let pointer: OpaquePointer
  /// Protocols offered by ALPN, most wanted first; empty offers none.
  package let alpn: [String]

  /// - Throws: ``TLSConfigurationError`` that names the file or key that cannot be used.
  package init(
    trust: TLSTrust, alpn: [String], identity: TLSIdentity? = nil
  ) throws(TLSConfigurationError) {
    self.alpn = alpn
    pointer = try makeContext(TLS_client_method())
    SSL_CTX_set_verify(pointer, SSL_VERIFY_PEER, nil)
    // OpenSSL would ask for 256 bits first, which cost more and protect no better for decades.
    SSL_CTX_set_ciphersuites(
      pointer,
      "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256")
    // An error from here on ends in `deinit`, since every property has its value.
    try Self.apply(trust, to: pointer)
    if let identity { try use(identity, in: pointer) }
    let wire = wireFormat(alpn)
    if !wire.isEmpty { SSL_CTX_set_alpn_protos(pointer, wire, UInt32(wire.count)) }
  }

  deinit { SSL_CTX_free(pointer) }

  private static func apply(
    _ trust: TLSTrust, to context: OpaquePointer
  ) throws(TLSConfigurationError) {
    switch trust {
    case .system: SSL_CTX_set_default_verify_paths(context)
    case .file(let path): try loadFile(path, into: context)
    case .systemAnd(let path):
      SSL_CTX_set_default_verify_paths(context)
      try loadFile(path, into: context)
    case .pem(let bytes): try addTrusted(bytes, to: context)
    }
  }

  private static func loadFile(
    _ path: String, into context: OpaquePointer
  ) throws(TLSConfigurationError) {
    guard SSL_CTX_load_verify_file(context, path) == 1 else {
      let why = openSSLErrors()
      let reason = access(path, R_OK) == 0 ? why : SystemError.text(of: errno)
      throw TLSConfigurationError(
        description: "the trust file \(path) cannot be used: \(reason)")
    }
  }

  private static func addTrusted(
    _ pem: [UInt8], to context: OpaquePointer
  ) throws(TLSConfigurationError) {
    let certificates = certificatesInPEM(pem)
    defer { for certificate in certificates { X509_free(certificate) } }
    guard !certificates.isEmpty else {
      throw TLSConfigurationError(description: "the trusted certificates hold no certificate")
    }
    let store = SSL_CTX_get_cert_store(context)
    for certificate in certificates { X509_STORE_add_cert(store, certificate) }
  }
}

/// What all connections that a listener accepts share.
///
/// `@unchecked Sendable` is right for the same reason as in ``TLSClientContext``.
package final class TLSServerContext: @unchecked Sendable {
  let pointer: OpaquePointer
  private let offered: ALPNChoice

  /// - Parameters:
  ///   - alpn: protocols this server speaks, most wanted first. A client that offers ALPN and none
  ///     of these is refused in the handshake.
  ///   - clientTrust: when given, clients may show a certificate, which is then verified.
  package init(
    identity: TLSIdentity, alpn: [String], clientTrustPEM: [UInt8]? = nil
  ) throws(TLSConfigurationError) {
    pointer = try makeContext(TLS_server_method())
    offered = ALPNChoice(wire: wireFormat(alpn))
    // As above: an error ends in `deinit`.
    try use(identity, in: pointer)
    if let clientTrustPEM {
      let certificates = certificatesInPEM(clientTrustPEM)
      let store = SSL_CTX_get_cert_store(pointer)
      for certificate in certificates {
        X509_STORE_add_cert(store, certificate)
        X509_free(certificate)
      }
      SSL_CTX_set_verify(pointer, SSL_VERIFY_PEER, nil)
      // Without a context of its own OpenSSL resumes no session of a verified client, and fails.
      SSL_CTX_set_session_id_context(pointer, [1], 1)
    }
    if !alpn.isEmpty {
      let context = Unmanaged.passUnretained(offered).toOpaque()
      SSL_CTX_set_alpn_select_cb(pointer, ALPNChoice.select, context)
    }
  }

  deinit { SSL_CTX_free(pointer) }
}

/// The server's side of ALPN: its own order of preference wins.
private final class ALPNChoice: Sendable {
  let wire: [UInt8]

  init(wire: [UInt8]) { self.wire = wire }

  static let select:
    @convention(c) (
      OpaquePointer?, UnsafeMutablePointer<UnsafePointer<UInt8>?>?, UnsafeMutablePointer<UInt8>?,
      UnsafePointer<UInt8>?, UInt32, UnsafeMutableRawPointer?
    ) -> Int32 = { _, out, outLength, offered, offeredLength, context in
      guard let context, let out, let outLength, let offered else { return SSL_TLSEXT_ERR_NOACK }
      let choice = Unmanaged<ALPNChoice>.fromOpaque(context).takeUnretainedValue()
      var selected: UnsafeMutablePointer<UInt8>?
      let result = choice.wire.withUnsafeBufferPointer { own in
        SSL_select_next_proto(
          &selected, outLength, own.baseAddress, UInt32(own.count), offered, offeredLength)
      }
      // Without overlap the function points at the client's first offer, which must not be used.
      guard result == OPENSSL_NPN_NEGOTIATED else { return SSL_TLSEXT_ERR_ALERT_FATAL }
      out.pointee = UnsafePointer(selected)
      return SSL_TLSEXT_ERR_OK
    }
}

private func makeContext(_ method: OpaquePointer?) throws(TLSConfigurationError) -> OpaquePointer {
  guard let context = SSL_CTX_new(method) else {
    throw TLSConfigurationError(description: "OpenSSL makes no TLS context: \(openSSLErrors())")
  }
  copenssl_set_min_proto_version(context, TLS1_2_VERSION)
  SSL_CTX_set_options(
    context,
    copenssl_no_renegotiation | copenssl_no_compression | copenssl_ignore_unexpected_eof)
  copenssl_set_mode(context, copenssl_partial_write | copenssl_moving_write_buffer)
  return context
}

private func wireFormat(_ protocols: [String]) -> [UInt8] {
  protocols.flatMap { [UInt8($0.utf8.count)] + Array($0.utf8) }
}

private func use(
  _ identity: TLSIdentity, in context: OpaquePointer
) throws(TLSConfigurationError) {
  let chain = certificatesInPEM(identity.certificateChainPEM)
  defer { for certificate in chain { X509_free(certificate) } }
  guard let own = chain.first else {
    throw TLSConfigurationError(description: "the certificate chain holds no certificate")
  }
  guard SSL_CTX_use_certificate(context, own) == 1 else {
    throw TLSConfigurationError(description: "the certificate cannot be used: \(openSSLErrors())")
  }
  for issuer in chain.dropFirst() {
    X509_up_ref(issuer)
    SSL_CTX_ctrl(context, SSL_CTRL_EXTRA_CHAIN_CERT, 0, UnsafeMutableRawPointer(issuer))
  }
  guard let key = privateKeyInPEM(identity.privateKeyPEM) else {
    throw TLSConfigurationError(
      description: "the private key cannot be read (is it encrypted?): \(openSSLErrors())")
  }
  defer { EVP_PKEY_free(key) }
  guard SSL_CTX_use_PrivateKey(context, key) == 1, SSL_CTX_check_private_key(context) == 1 else {
    throw TLSConfigurationError(
      description: "the private key does not belong to the certificate: \(openSSLErrors())")
  }
}

private func certificatesInPEM(_ pem: [UInt8]) -> [OpaquePointer] {
  guard let bio = BIO_new_mem_buf(pem, Int32(pem.count)) else { return [] }
  defer { BIO_free(bio) }
  var certificates: [OpaquePointer] = []
  while let certificate = PEM_read_bio_X509(bio, nil, nil, nil) { certificates.append(certificate) }
  ERR_clear_error()
  return certificates
}

private func privateKeyInPEM(_ pem: [UInt8]) -> OpaquePointer? {
  guard let bio = BIO_new_mem_buf(pem, Int32(pem.count)) else { return nil }
  defer { BIO_free(bio) }
  // An encrypted key would make OpenSSL ask at the terminal; no password is our answer.
  return PEM_read_bio_PrivateKey(bio, nil, { _, _, _, _ in 0 }, nil)
}

/// OpenSSL's queue of errors as one line, emptied.
func openSSLErrors() -> String {
  var reasons: [String] = []
  while true {
    let code = ERR_get_error()
    if code == 0 { break }
    if let reason = ERR_reason_error_string(code) { reasons.append(String(cString: reason)) }
  }
  return reasons.isEmpty ? "no reason given" : reasons.joined(separator: ", ")
}
