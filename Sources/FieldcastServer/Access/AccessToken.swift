internal import Crypto

/// A token that lets its holder call REST: 32 random bytes, which only the holder keeps.
package struct AccessToken: Sendable {
  /// What goes into `authorization: Bearer …`. It begins with `fct_`, so that a search for leaked
  /// secrets can find it.
  package let text: String

  /// A new one, which nobody can guess.
  package init() { text = "fct_" + Base64.url.encodeText(RandomBytes.make(32)) }

  /// The line for the list of tokens.
  ///
  /// - Parameter name: of the holder, without blanks.
  package func entry(name: String, scopes: [AccessScope]) -> String {
    let hash = Self.digest(of: text[...]).map { byte in
      let digits = String(byte, radix: 16)
      return digits.utf8.count == 1 ? "0" + digits : digits
    }.joined()
    return "\(name) \(scopes.map(\.rawValue).joined(separator: ",")) sha256:\(hash)"
  }

  static func digest(of token: Substring) -> [UInt8] { Digest.sha256(Array(token.utf8)) }
}
