import COpenSSL

/// Digests of whole messages.
package enum Digest {
  /// SHA-256: 32 bytes.
  package static func sha256(_ message: [UInt8]) -> [UInt8] {
    var digest = [UInt8](repeating: 0, count: 32)
    _ = SHA256(message, message.count, &digest)
    return digest
  }

  /// HMAC with SHA-256: 32 bytes.
  package static func hmacSHA256(_ message: [UInt8], key: [UInt8]) -> [UInt8] {
    var digest = [UInt8](repeating: 0, count: 32)
    var count: UInt32 = 32
    _ = HMAC(EVP_sha256(), key, Int32(key.count), message, message.count, &digest, &count)
    return digest
  }

  /// Whether two secrets are equal, in a time that depends on their length only.
  package static func isEqual(_ left: [UInt8], _ right: [UInt8]) -> Bool {
    guard left.count == right.count else { return false }
    return CRYPTO_memcmp(left, right, left.count) == 0
  }
}

/// Bytes that nobody can guess, from the operating system by way of OpenSSL.
package enum RandomBytes {
  /// A machine without entropy cannot make a secret, so there this does not return.
  package static func make(_ count: Int) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: count)
    let done = RAND_bytes(&bytes, Int32(count))
    precondition(done == 1, "the system has no random bytes to give")
    return bytes
  }
}
