import COpenSSL
import Crypto
import Testing

@Suite struct `A self-made authority` {
  private let now: Int64 = 1_790_000_000

  @Test func `issues a chain that the openssl library verifies for name, address and date`() throws
  {
    let authority = try CertificateAuthority(
      commonName: "Fieldcast test CA", validity: .days(10, fromSeconds: now))
    let server = try authority.issue(
      .server, names: [.dns("localhost"), .dns("api.push.example"), .ip("127.0.0.1"), .ip("::1")],
      validity: .days(5, fromSeconds: now))
    let trusted = try authority.certificatePEM()
    #expect(
      verdict(server.chainPEM, trusting: trusted, at: now, host: "api.push.example") == X509_V_OK)
    #expect(verdict(server.chainPEM, trusting: trusted, at: now, host: "localhost") == X509_V_OK)
    #expect(
      verdict(server.chainPEM, trusting: trusted, at: now, host: "other.example")
        == X509_V_ERR_HOSTNAME_MISMATCH)
    #expect(
      verdict(server.chainPEM, trusting: trusted, at: now + 6 * 86_400, host: "localhost")
        == X509_V_ERR_CERT_HAS_EXPIRED)
    let stranger = try CertificateAuthority(
      commonName: "Stranger", validity: .days(10, fromSeconds: now))
    #expect(
      verdict(server.chainPEM, trusting: try stranger.certificatePEM(), at: now, host: "localhost")
        == X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY)
    #expect(try P256PrivateKey(pem: server.privateKeyPEM).pkcs8PEM() == server.privateKeyPEM)
  }

  @Test(arguments: ["a,DNS:evil", "", "a b", "a\u{0}b", "ü.example"])
  func `refuses a name that would smuggle in another`(name: String) throws {
    let authority = try CertificateAuthority(
      commonName: "test", validity: .days(1, fromSeconds: now))
    #expect(throws: CryptoError.unusableName(name)) {
      try authority.issue(.server, names: [.dns(name)], validity: .days(1, fromSeconds: now))
    }
  }

  private func verdict(
    _ chain: [UInt8], trusting authority: [UInt8], at seconds: Int64, host: String
  ) -> Int32 {
    let store = X509_STORE_new()
    let context = X509_STORE_CTX_new()
    let issuer = certificate(authority)
    let leaf = certificate(chain)
    defer {
      X509_STORE_CTX_free(context)
      X509_STORE_free(store)
      X509_free(issuer)
      X509_free(leaf)
    }
    X509_STORE_add_cert(store, issuer)
    X509_STORE_CTX_init(context, store, leaf, nil)
    let parameters = X509_STORE_CTX_get0_param(context)
    X509_VERIFY_PARAM_set_time(parameters, Int(seconds))
    X509_VERIFY_PARAM_set1_host(parameters, host, 0)
    X509_VERIFY_PARAM_set_purpose(parameters, X509_PURPOSE_SSL_SERVER)
    X509_verify_cert(context)
    return X509_STORE_CTX_get_error(context)
  }

  private func certificate(_ pem: [UInt8]) -> OpaquePointer? {
    let buffer = BIO_new_mem_buf(pem, Int32(pem.count))
    defer { BIO_free(buffer) }
    return PEM_read_bio_X509(buffer, nil, nil, nil)
  }
}
