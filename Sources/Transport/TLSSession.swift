internal import COpenSSL
internal import Glibc

/// One TLS connection as a machine between two byte queues: encrypted bytes in and out, plain
/// bytes in and out. It touches no socket.
///
/// Memory BIOs let a turn's worth of requests leave in one system call, whatever number of records
/// they make.
final class TLSSession {
  enum Progress: Equatable {
    case wantsMore
    case done
    case failed(TLSFailure)
  }

  private let ssl: OpaquePointer
  private let incoming: OpaquePointer
  private let outgoing: OpaquePointer
  private(set) var isEstablished = false
  private let peerName: String
  /// Held since OpenSSL asks it for the protocol, and a listener may have another one by then.
  private let serverContext: TLSServerContext?
  /// The certificate that verification stopped at, in words: OpenSSL forgets it afterwards.
  private var refusedCertificate: String?

  init(client context: TLSClientContext, serverName: String) {
    (ssl, incoming, outgoing) = Self.make(context.pointer)
    peerName = serverName
    serverContext = nil
    SSL_set_ex_data(ssl, 0, Unmanaged.passUnretained(self).toOpaque())
    SSL_set_verify(ssl, SSL_VERIFY_PEER, Self.noteRefusedCertificate)
    SSL_set_connect_state(ssl)
    if Self.isAddress(serverName) {
      X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), serverName)
    } else {
      copenssl_set_server_name(ssl, serverName)
      SSL_set1_host(ssl, serverName)
    }
  }

  init(server context: TLSServerContext) {
    (ssl, incoming, outgoing) = Self.make(context.pointer)
    peerName = ""
    serverContext = context
    SSL_set_accept_state(ssl)
  }

  deinit { SSL_free(ssl) }

  /// What both sides agreed to speak; nil when they agreed on nothing.
  var alpn: String? {
    var data: UnsafePointer<UInt8>?
    var length: UInt32 = 0
    SSL_get0_alpn_selected(ssl, &data, &length)
    guard let data, length > 0 else { return nil }
    return String(decoding: UnsafeBufferPointer(start: data, count: Int(length)), as: UTF8.self)
  }

  /// The subject of the certificate that the peer showed and that was verified.
  var peerSubject: String? {
    guard let certificate = SSL_get1_peer_certificate(ssl) else { return nil }
    defer { X509_free(certificate) }
    return TLSFailure.name(X509_get_subject_name(certificate))
  }

  func feed(_ bytes: UnsafeRawBufferPointer) {
    // A memory BIO takes all that it is given.
    if bytes.count > 0 { BIO_write(incoming, bytes.baseAddress, Int32(bytes.count)) }
  }

  func handshake() -> Progress {
    ERR_clear_error()
    let result = SSL_do_handshake(ssl)
    if result == 1 {
      isEstablished = true
      return .done
    }
    switch SSL_get_error(ssl, result) {
    case SSL_ERROR_WANT_READ, SSL_ERROR_WANT_WRITE: return .wantsMore
    default: return .failed(failure)
    }
  }

  enum Reading: Equatable {
    /// Bytes put into the buffer; 0 when more encrypted bytes are needed first.
    case read(Int)
    case peerClosed
    case failed(TLSFailure)
  }

  /// Decrypts as much as is there and fits.
  func read(into buffer: UnsafeMutableRawBufferPointer) -> Reading {
    var filled = 0
    ERR_clear_error()
    while filled < buffer.count {
      let room = UnsafeMutableRawBufferPointer(rebasing: buffer[filled...])
      let count = SSL_read(ssl, room.baseAddress, Int32(clamping: room.count))
      if count > 0 {
        filled += Int(count)
        continue
      }
      switch SSL_get_error(ssl, count) {
      case SSL_ERROR_WANT_READ, SSL_ERROR_WANT_WRITE: return .read(filled)
      case SSL_ERROR_ZERO_RETURN: return filled > 0 ? .read(filled) : .peerClosed
      default:
        return filled > 0 ? .read(filled) : .failed(failure)
      }
    }
    return .read(filled)
  }

  /// Encrypts all of `bytes` into the outgoing queue.
  func write(_ bytes: UnsafeRawBufferPointer) -> TLSFailure? {
    var done = 0
    ERR_clear_error()
    while done < bytes.count {
      let rest = UnsafeRawBufferPointer(rebasing: bytes[done...])
      let count = SSL_write(ssl, rest.baseAddress, Int32(clamping: rest.count))
      if count <= 0 { return failure }
      done += Int(count)
    }
    return nil
  }

  func sayGoodbye() {
    if isEstablished { SSL_shutdown(ssl) }
  }

  /// Encrypted bytes waiting to be sent, valid until the next call of this session.
  var output: UnsafeRawBufferPointer {
    var data: UnsafeMutablePointer<CChar>?
    let count = copenssl_bio_data(outgoing, &data)
    return UnsafeRawBufferPointer(start: data, count: count)
  }

  var hasOutput: Bool { copenssl_bio_pending(outgoing) > 0 }

  /// Takes the first `count` bytes off ``output``.
  func sent(_ count: Int, discardingInto scratch: UnsafeMutableRawBufferPointer) {
    if count == copenssl_bio_pending(outgoing) {
      BIO_ctrl(outgoing, BIO_CTRL_RESET, 0, nil)
      return
    }
    var left = count
    while left > 0 {
      let step = min(left, scratch.count)
      BIO_read(outgoing, scratch.baseAddress, Int32(step))
      left -= step
    }
  }

  private var failure: TLSFailure {
    TLSFailure(of: ssl, peerName: peerName, certificate: refusedCertificate)
  }

  private static let noteRefusedCertificate: @convention(c) (Int32, OpaquePointer?) -> Int32 = {
    accepted, store in
    if accepted == 1 { return 1 }
    guard let certificate = X509_STORE_CTX_get_current_cert(store),
      let ssl = X509_STORE_CTX_get_ex_data(store, SSL_get_ex_data_X509_STORE_CTX_idx()),
      let session = SSL_get_ex_data(OpaquePointer(ssl), 0)
    else { return 0 }
    Unmanaged<TLSSession>.fromOpaque(session).takeUnretainedValue().refusedCertificate =
      TLSFailure.describe(certificate)
    return 0
  }

  private static func make(
    _ context: OpaquePointer
  ) -> (OpaquePointer, OpaquePointer, OpaquePointer) {
    guard let ssl = SSL_new(context), let incoming = BIO_new(BIO_s_mem()),
      let outgoing = BIO_new(BIO_s_mem())
    else { fatalError("out of memory for a TLS connection") }
    // An empty queue means "later", not "end of file".
    BIO_ctrl(incoming, BIO_C_SET_BUF_MEM_EOF_RETURN, -1, nil)
    BIO_ctrl(outgoing, BIO_C_SET_BUF_MEM_EOF_RETURN, -1, nil)
    SSL_set_bio(ssl, incoming, outgoing)
    return (ssl, incoming, outgoing)
  }

  private static func isAddress(_ name: String) -> Bool {
    var v4 = in_addr()
    var v6 = in6_addr()
    return inet_pton(AF_INET, name, &v4) == 1 || inet_pton(AF_INET6, name, &v6) == 1
  }
}

/// Why TLS did not come about, with the certificate's names where it was to blame.
package struct TLSFailure: Error, Sendable, Equatable, CustomStringConvertible {
  package let description: String
  /// True when the peer's certificate was not believed: expired, unknown issuer, wrong host.
  package let isCertificateProblem: Bool

  init(of ssl: OpaquePointer, peerName: String, certificate: String?) {
    let verdict = SSL_get_verify_result(ssl)
    let reason = openSSLErrors()
    guard verdict != Int(X509_V_OK) else {
      isCertificateProblem = false
      description = "TLS: \(reason)"
      return
    }
    isCertificateProblem = true
    var text = String(cString: X509_verify_cert_error_string(verdict))
    if let certificate { text += "; \(certificate)" }
    if !peerName.isEmpty { text += "; expected host \(peerName)" }
    description = "TLS certificate refused: \(text)"
  }

  static func describe(_ certificate: OpaquePointer) -> String {
    "the certificate of \(name(X509_get_subject_name(certificate)))"
      + ", issued by \(name(X509_get_issuer_name(certificate)))"
      + ", is valid from \(date(X509_get0_notBefore(certificate)))"
      + " to \(date(X509_get0_notAfter(certificate)))"
  }

  static func name(_ name: OpaquePointer?) -> String {
    guard let name, let line = X509_NAME_oneline(name, nil, 0) else { return "(no name)" }
    defer { CRYPTO_free(line, nil, 0) }
    return String(cString: line)
  }

  private static func date(_ time: UnsafePointer<ASN1_TIME>?) -> String {
    var parts = tm()
    guard let time, ASN1_TIME_to_tm(time, &parts) == 1 else { return "an unreadable date" }
    func two(_ number: Int32) -> String { number < 10 ? "0\(number)" : "\(number)" }
    return "\(parts.tm_year + 1900)-\(two(parts.tm_mon + 1))-\(two(parts.tm_mday))"
  }
}
