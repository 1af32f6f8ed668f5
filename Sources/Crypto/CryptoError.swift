/// What can be wrong with a key, a signature or a certificate.
///
/// No message holds a byte of the key that it is about.
public enum CryptoError: Error, Sendable, Equatable, CustomStringConvertible {
  /// The text holds no PEM block and is not base64 either.
  case notAKey(found: String)
  /// A `-----BEGIN` line without its `-----END` line.
  case truncatedPEM(label: String)
  /// Something follows the key: another block, or bytes behind the DER structure.
  case trailingBytes(Int)
  case encryptedKey
  case publicKey
  case certificate
  /// A private key for another algorithm, e.g. `RSA`.
  case wrongAlgorithm(String)
  case wrongCurve(String)
  /// Base64 or DER inside the PEM block is damaged; `bytes` is the length of what was there.
  case damagedKey(bytes: Int)
  /// A name that cannot go into a certificate.
  case unusableName(String)
  /// OpenSSL failed where it should not: out of memory, or no entropy.
  case openSSL(operation: String, detail: String)

  public var description: String {
    switch self {
    case .notAKey(let found):
      "The text is no private key: \(found). Expected a .p8 file as downloaded from Apple, "
        + "which begins with -----BEGIN PRIVATE KEY-----."
    case .truncatedPEM(let label):
      "The key is cut off: there is a BEGIN \(label) line but no END \(label) line."
    case .trailingBytes(let count):
      "\(count) bytes follow the key. Give exactly one key."
    case .encryptedKey:
      "The key is encrypted with a password. Apple's .p8 files are not: use the original, or "
        + "decrypt it with `openssl pkcs8 -in key.pem -topk8 -nocrypt`."
    case .publicKey: "This is a public key. The private key of the .p8 file is needed."
    case .certificate: "This is a certificate. The private key of the .p8 file is needed."
    case .wrongAlgorithm(let name):
      "This is a key for \(name). APNs signing keys are for ECDSA on the curve P-256."
    case .wrongCurve(let name):
      "The key is on the curve \(name). APNs signing keys are on P-256 (prime256v1)."
    case .damagedKey(let bytes):
      "The key is damaged: its \(bytes) bytes are not a private key in PKCS#8 form. "
        + "Was it cut or altered when it was copied?"
    case .unusableName(let name): "\"\(name)\" cannot be a name in a certificate."
    case .openSSL(let operation, let detail): "OpenSSL failed to \(operation): \(detail)."
    }
  }
}
