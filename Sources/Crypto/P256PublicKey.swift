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
    guard let key = PKey.decodePublic(text.der) else {
      throw .damagedKey(bytes: text.der.count)
    }
    do throws(CryptoError) {
      try PKey.requireP256(key)
    } catch {
      EVP_PKEY_free(key)
      throw error
    }
    self.init(owning: key)
  }

  /// The key with these coordinates, as a JSON Web Key has them.
  ///
  /// - Returns: nil unless each has 32 bytes and the point is on the curve.
  package convenience init?(x: [UInt8], y: [UInt8]) {
    guard x.count == 32, y.count == 32,
      let key = PKey.decodePublic(
        DER.sequence(Self.algorithm + DER.bits([0x04] + x + y)))
    else { return nil }
    self.init(owning: key)
  }

  /// `SEQUENCE { ecPublicKey, prime256v1 }`.
  private static let algorithm: [UInt8] = DER.sequence(
    [0x06, 0x07, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x02, 0x01]
      + [0x06, 0x08, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x03, 0x01, 0x07])

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
    PKey.verifies(signature.der, of: message, by: pointer)
  }

  /// Takes a signature in either form: 64 raw bytes, or DER.
  package func verifies(rawOrDER signature: [UInt8], of message: [UInt8]) -> Bool {
    if let raw = ECDSASignature(raw: signature), verifies(raw, of: message) { return true }
    guard let der = ECDSASignature(der: signature) else { return false }
    return verifies(der, of: message)
  }
}
