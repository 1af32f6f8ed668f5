import COpenSSL

/// A public RSA key, which checks RS256 signatures: RSASSA-PKCS1-v1_5 with SHA-256 (RFC 7518,
/// section 3.3).
///
/// `@unchecked Sendable`: as for ``P256PrivateKey``, the object is never changed once made.
package final class RSAPublicKey: @unchecked Sendable {
  private let pointer: OpaquePointer

  /// Shorter ones can be broken, longer ones cost a checker more than they are worth.
  package static let bits = 2_048...8_192

  /// - Parameters:
  ///   - modulus: n, the most significant byte first, as a JSON Web Key has it.
  ///   - exponent: e, likewise; odd, 3 to 2³²−1.
  /// - Returns: nil for numbers that make no key, or one of another size than ``bits``.
  package init?(modulus: [UInt8], exponent: [UInt8]) {
    let n = modulus.drop { $0 == 0 }
    let e = exponent.drop { $0 == 0 }
    guard let first = n.first, let last = n.last, !last.isMultiple(of: 2),
      Self.bits.contains(n.count * 8 - first.leadingZeroBitCount),
      (1...4).contains(e.count), let lowest = e.last, !lowest.isMultiple(of: 2),
      e.count > 1 || lowest > 1
    else { return nil }
    let key = DER.sequence(DER.integer(n) + DER.integer(e))
    guard let pointer = PKey.decodePublic(DER.sequence(Self.algorithm + DER.bits(key))) else {
      return nil
    }
    self.pointer = pointer
  }

  deinit { EVP_PKEY_free(pointer) }

  /// Whether `signature` is this key's RS256 signature of `message`.
  package func verifies(_ signature: [UInt8], of message: [UInt8]) -> Bool {
    PKey.verifies(signature, of: message, by: pointer)
  }

  /// `SEQUENCE { rsaEncryption, NULL }`.
  private static let algorithm: [UInt8] = DER.sequence(
    [0x06, 0x09, 0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x01, 0x01, 0x05, 0x00])
}

/// The little of DER (X.690) that public keys are written in.
enum DER {
  static func sequence(_ content: [UInt8]) -> [UInt8] { element(0x30, content) }

  /// A number that is not negative.
  static func integer(_ digits: some Collection<UInt8>) -> [UInt8] {
    let needsSign = (digits.first ?? 0x80) >= 0x80
    return element(0x02, (needsSign ? [0] : []) + digits)
  }

  /// Whole bytes as a bit string.
  static func bits(_ content: [UInt8]) -> [UInt8] { element(0x03, [0] + content) }

  private static func element(_ tag: UInt8, _ content: [UInt8]) -> [UInt8] {
    guard content.count >= 0x80 else { return [tag, UInt8(content.count)] + content }
    var length: [UInt8] = []
    var rest = content.count
    while rest > 0 {
      length.insert(UInt8(rest & 0xFF), at: 0)
      rest >>= 8
    }
    return [tag, 0x80 | UInt8(length.count)] + length + content
  }
}
