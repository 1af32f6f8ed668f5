/// An APNs broadcast channel's ID: base64 of a size that Apple does not promise, used verbatim.
///
/// Who knows it can subscribe to the channel, so it stays out of logs: ``description`` shows only
/// its beginning.
package struct ChannelID: Hashable, Comparable, Sendable {
  package let text: String

  /// - Parameter text: 1 to 256 characters of base64. The limit is ours, against nonsense.
  package init(_ text: String) throws(IdentifierError) {
    let bytes = text.utf8.count
    guard (1...256).contains(bytes) else {
      throw IdentifierError("The channel ID has \(bytes) bytes: expected 1 to 256.")
    }
    guard text.utf8.allSatisfy(isBase64) else {
      throw IdentifierError("The channel ID is not base64.")
    }
    self.text = text
  }

  package static func < (left: ChannelID, right: ChannelID) -> Bool { left.text < right.text }
}

extension ChannelID: CustomStringConvertible {
  package var description: String { String(text.prefix(6)) + "…" }
}

/// Both alphabets: Apple documents base64 and not which.
private func isBase64(_ byte: UInt8) -> Bool {
  switch byte {
  case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "+"), UInt8(ascii: "/"),
    UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "="):
    true
  default: false
  }
}
