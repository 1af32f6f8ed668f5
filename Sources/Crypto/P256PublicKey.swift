import COpenSSL

/// A public key on the curve P-256.
///
/// `@unchecked Sendable`: as for ``P256PrivateKey``, the object is never changed once made.
package final class P256PublicKey: @unchecked Sendable {
  private let pointer: OpaquePointer

  init(owning pointer: OpaquePointer) { self.pointer = pointer }

  deinit { EVP_PKEY_free(pointer) }

  /// - Parameter pem: a `PUBLIC KEY` block, or its base64 body.
  package convenience init(pem: [UInt8]) throws(CryptoError) {
    let text = try KeyText(pem)
    guard text.label == nil || text.label == "PUBLIC KEY" else {
      throw .notAKey(found: "it is labelled \(text.label ?? ""), not PUBLIC KEY")
    }
    let (key, used) = try Self.decode(text.der)
    do throws(CryptoError) {
      guard used == text.der.count else { throw .trailingBytes(text.der.count - used) }
      try PKey.requireP256(key)
    } catch {
      EVP_PKEY_free(key)
      throw error
    }
    self.init(owning: key)
  }

  /// The key as a `PUBLIC KEY` block (SubjectPublicKeyInfo).
  package func spkiPEM() throws(CryptoError) -> [UInt8] {
    let buffer = try MemoryBIO()
    guard PEM_write_bio_PUBKEY(buffer.pointer, pointer) == 1 else {
      throw OpenSSLErrors.take("write a public key")
    }
    return buffer.bytes
  }

  /// Whether `signature` is this key's ES256 signature of `message`.
  package func verifies(_ signature: ECDSASignature, of message: [UInt8]) -> Bool {
    defer { OpenSSLErrors.clear() }
    guard let context = EVP_MD_CTX_new() else { return false }
    defer { EVP_MD_CTX_free(context) }
    let der = signature.der
    return EVP_DigestVerifyInit(context, nil, EVP_sha256(), nil, pointer) == 1
      && EVP_DigestVerify(context, der, der.count, message, message.count) == 1
  }

  /// Takes a signature in either form: 64 raw bytes, or DER.
  package func verifies(rawOrDER signature: [UInt8], of message: [UInt8]) -> Bool {
    if let raw = ECDSASignature(raw: signature), verifies(raw, of: message) { return true }
    guard let der = ECDSASignature(der: signature) else { return false }
    return verifies(der, of: message)
  }

  private static func decode(_ der: [UInt8]) throws(CryptoError) -> (OpaquePointer, used: Int) {
    defer { OpenSSLErrors.clear() }
    let found: (OpaquePointer, used: Int)? = der.withUnsafeBufferPointer { buffer in
      var next = buffer.baseAddress
      guard let key = d2i_PUBKEY(nil, &next, buffer.count), let next,
        let start = buffer.baseAddress
      else { return nil }
      return (key, next - start)
    }
    guard let found else { throw .damagedKey(bytes: der.count) }
    return found
  }
}
