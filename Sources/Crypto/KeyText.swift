/// Finds the DER bytes of a key in what people really paste.
///
/// Accepted, since each is unambiguous: PEM with LF or CRLF lines, with its line breaks written as
/// `\n`, on one line, with leading spaces or a byte order mark, or the base64 body alone.
struct KeyText {
  /// `PRIVATE KEY`, `PUBLIC KEY`, …; nil where only the body was given.
  let label: String?
  let der: [UInt8]

  private static let begin = Array("-----BEGIN ".utf8)
  private static let dashes = Array("-----".utf8)

  init(_ raw: [UInt8]) throws(CryptoError) {
    let text = Self.tidied(raw)
    guard let start = text.firstRange(of: Self.begin) else {
      label = nil
      der = try Self.bareBody(text)
      return
    }
    let afterBegin = text[start.upperBound...]
    guard let labelEnd = afterBegin.firstRange(of: Self.dashes),
      labelEnd.lowerBound - start.upperBound < 64
    else { throw .notAKey(found: "its BEGIN line does not end in five dashes") }
    let label = String(decoding: text[start.upperBound..<labelEnd.lowerBound], as: UTF8.self)
    let endLine = Array("-----END \(label)-----".utf8)
    let afterLabel = text[labelEnd.upperBound...]
    guard let close = afterLabel.firstRange(of: endLine) else { throw .truncatedPEM(label: label) }
    let before = text[..<start.lowerBound].filter { !Self.isSpace($0) }
    let after = text[close.upperBound...].filter { !Self.isSpace($0) }
    guard before.isEmpty else {
      throw .notAKey(found: "\(before.count) other characters stand before its BEGIN line")
    }
    guard after.isEmpty else { throw .trailingBytes(after.count) }
    let body = text[labelEnd.upperBound..<close.lowerBound]
    if body.contains(UInt8(ascii: ":")) { throw .encryptedKey }
    self.label = label
    der = try Self.decoded(body.filter { !Self.isSpace($0) })
  }

  /// Without byte order mark, and with real line breaks for written ones.
  private static func tidied(_ raw: [UInt8]) -> [UInt8] {
    var text = raw
    if text.starts(with: [0xEF, 0xBB, 0xBF]) { text.removeFirst(3) }
    var output: [UInt8] = []
    output.reserveCapacity(text.count)
    var index = 0
    while index < text.count {
      let isEscape = text[index] == UInt8(ascii: "\\") && index + 1 < text.count
      if isEscape, text[index + 1] == UInt8(ascii: "n") || text[index + 1] == UInt8(ascii: "r") {
        output.append(UInt8(ascii: "\n"))
        index += 2
      } else {
        output.append(text[index])
        index += 1
      }
    }
    return output
  }

  private static func bareBody(_ text: [UInt8]) throws(CryptoError) -> [UInt8] {
    let body = text.filter { !isSpace($0) }
    guard !body.isEmpty else { throw .notAKey(found: "it is empty") }
    guard let der = Base64.standard.decode(body) else {
      throw .notAKey(found: "\(text.count) characters without a BEGIN line and not base64")
    }
    return der
  }

  private static func decoded(_ body: [UInt8]) throws(CryptoError) -> [UInt8] {
    guard let der = Base64.standard.decode(body), !der.isEmpty else {
      throw .damagedKey(bytes: body.count)
    }
    return der
  }

  private static func isSpace(_ byte: UInt8) -> Bool {
    byte == 0x20 || byte == 0x09 || byte == 0x0A || byte == 0x0D
  }
}

extension Collection where Element == UInt8, Index == Int {
  /// The first place of `needle`; the standard library has this only with Foundation's regex parts.
  func firstRange(of needle: [UInt8]) -> Range<Int>? {
    guard let last = index(endIndex, offsetBy: -needle.count, limitedBy: startIndex) else {
      return nil
    }
    for start in startIndex...last {
      if self[start..<(start + needle.count)].elementsEqual(needle) {
        return start..<(start + needle.count)
      }
    }
    return nil
  }
}
