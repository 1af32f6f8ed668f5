/// The name of a device that was registered without a member: a digest of its token, which callers
/// may see and keep, unlike the token.
package struct DeviceID: Hashable, Sendable {
  /// SHA-256 of the token's hex digits, in 64 digits.
  package let digest: String

  private static let prefix = "device-"

  package init(digest: String) { self.digest = digest }

  /// Reads what ``text`` wrote.
  package init(_ text: String) throws(IdentifierError) {
    let digits = text.dropFirst(Self.prefix.utf8.count)
    guard text.hasPrefix(Self.prefix), digits.utf8.count == 64,
      digits.utf8.allSatisfy({ hexadecimalDigit($0) != nil })
    else {
      throw IdentifierError(
        "A device is named as POST /v1/devices answered, \"device-\" and 64 digits; its token is no "
          + "name.")
    }
    digest = digits.lowercased()
  }

  package var text: String { Self.prefix + digest }
}
