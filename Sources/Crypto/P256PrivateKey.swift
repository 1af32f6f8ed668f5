import COpenSSL

/// A private key on the curve P-256, which signs provider tokens.
///
/// Its text form exists only on request, and no description shows it.
///
/// `@unchecked Sendable`: OpenSSL counts references to a key atomically and never changes it after
/// it was made; each signature has a context of its own.
package final class P256PrivateKey: @unchecked Sendable {
  let pointer: OpaquePointer

  init(owning pointer: OpaquePointer) { self.pointer = pointer }

  deinit { EVP_PKEY_free(pointer) }

  /// Reads a `.p8` file's content, in any form that is unambiguous; see ``KeyText``.
  ///
  /// Never asks for a password: an encrypted key is an error.
  package convenience init(pem: [UInt8]) throws(CryptoError) {
    let text = try KeyText(pem)
    switch text.label {
    case nil, "PRIVATE KEY", "EC PRIVATE KEY": break
    case "ENCRYPTED PRIVATE KEY": throw .encryptedKey
    case "PUBLIC KEY", "RSA PUBLIC KEY": throw .publicKey
    case "CERTIFICATE", "X509 CERTIFICATE", "TRUSTED CERTIFICATE": throw .certificate
    case "RSA PRIVATE KEY": throw .wrongAlgorithm("RSA")
    case "DSA PRIVATE KEY": throw .wrongAlgorithm("DSA")
    case let label?: throw .notAKey(found: "it is labelled \(label.prefix(40))")
    }
    self.init(owning: try Self.decode(text.der))
  }

  package convenience init(pem: String) throws(CryptoError) {
    try self.init(pem: Array(pem.utf8))
  }

  package static func generate() throws(CryptoError) -> P256PrivateKey {
    guard let pointer = copenssl_generate_p256() else { throw OpenSSLErrors.take("make a key") }
    return P256PrivateKey(owning: pointer)
  }

  /// The key as a `.p8` file holds it. A secret.
  package func pkcs8PEM() throws(CryptoError) -> [UInt8] {
    let buffer = try MemoryBIO()
    guard PEM_write_bio_PKCS8PrivateKey(buffer.pointer, pointer, nil, nil, 0, nil, nil) == 1 else {
      throw OpenSSLErrors.take("write a private key")
    }
    return buffer.bytes
  }

  package var publicKey: P256PublicKey {
    EVP_PKEY_up_ref(pointer)
    return P256PublicKey(owning: pointer)
  }

  /// ES256: ECDSA over the SHA-256 of `message`.
  package func signature(of message: [UInt8]) throws(CryptoError) -> ECDSASignature {
    guard let context = EVP_MD_CTX_new() else { throw OpenSSLErrors.take("sign") }
    defer { EVP_MD_CTX_free(context) }
    var der = [UInt8](repeating: 0, count: 80)
    var count = der.count
    guard EVP_DigestSignInit(context, nil, EVP_sha256(), nil, pointer) == 1,
      EVP_DigestSign(context, &der, &count, message, message.count) == 1,
      let signature = ECDSASignature(der: Array(der[..<count]))
    else { throw OpenSSLErrors.take("sign") }
    return signature
  }

  private static func decode(_ der: [UInt8]) throws(CryptoError) -> OpaquePointer {
    guard let (key, used) = readPrivateKey(der) else { throw whatElse(der) }
    do throws(CryptoError) {
      guard used == der.count else { throw CryptoError.trailingBytes(der.count - used) }
      try PKey.requireP256(key)
      return key
    } catch {
      EVP_PKEY_free(key)
      throw error
    }
  }

  private static func readPrivateKey(_ der: [UInt8]) -> (key: OpaquePointer, used: Int)? {
    defer { OpenSSLErrors.clear() }
    return der.withUnsafeBufferPointer { buffer in
      var next = buffer.baseAddress
      guard let key = d2i_AutoPrivateKey(nil, &next, buffer.count), let next,
        let start = buffer.baseAddress
      else { return nil }
      return (key, next - start)
    }
  }

  /// Names what these bytes are, if they are not a private key.
  private static func whatElse(_ der: [UInt8]) -> CryptoError {
    defer { OpenSSLErrors.clear() }
    return der.withUnsafeBufferPointer { buffer in
      var next = buffer.baseAddress
      if let key = d2i_PUBKEY(nil, &next, buffer.count) {
        EVP_PKEY_free(key)
        return .publicKey
      }
      next = buffer.baseAddress
      if let certificate = d2i_X509(nil, &next, buffer.count) {
        X509_free(certificate)
        return .certificate
      }
      next = buffer.baseAddress
      if let encrypted = d2i_X509_SIG(nil, &next, buffer.count) {
        X509_SIG_free(encrypted)
        return .encryptedKey
      }
      return .damagedKey(bytes: buffer.count)
    }
  }
}

/// Checks that hold for private and public keys alike.
enum PKey {
  /// - Parameter der: exactly one public key (SubjectPublicKeyInfo).
  /// - Returns: a key that the caller owns; nil for anything else.
  static func decodePublic(_ der: [UInt8]) -> OpaquePointer? {
    defer { OpenSSLErrors.clear() }
    return der.withUnsafeBufferPointer { buffer in
      var next = buffer.baseAddress
      guard let key = d2i_PUBKEY(nil, &next, buffer.count) else { return nil }
      guard let next, let start = buffer.baseAddress, next - start == buffer.count else {
        EVP_PKEY_free(key)
        return nil
      }
      return key
    }
  }

  /// Whether this is the key's signature, in OpenSSL's form, of the SHA-256 of `message`.
  static func verifies(
    _ signature: [UInt8], of message: [UInt8], by key: OpaquePointer
  ) -> Bool {
    defer { OpenSSLErrors.clear() }
    guard let context = EVP_MD_CTX_new() else { return false }
    defer { EVP_MD_CTX_free(context) }
    return EVP_DigestVerifyInit(context, nil, EVP_sha256(), nil, key) == 1
      && EVP_DigestVerify(context, signature, signature.count, message, message.count) == 1
  }

  static func requireP256(_ key: OpaquePointer) throws(CryptoError) {
    let identifier = EVP_PKEY_get_base_id(key)
    guard identifier == EVP_PKEY_EC else {
      throw .wrongAlgorithm(OBJ_nid2sn(identifier).map { name(String(cString: $0)) } ?? "unknown")
    }
    var text = [CChar](repeating: 0, count: 80)
    guard EVP_PKEY_get_group_name(key, &text, text.count, nil) == 1 else {
      throw .wrongCurve("without a name")
    }
    let curve = String(
      decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    guard curve == "prime256v1" else { throw .wrongCurve(curve) }
  }

  private static func name(_ shortName: String) -> String {
    shortName == "rsaEncryption" ? "RSA" : shortName
  }
}
