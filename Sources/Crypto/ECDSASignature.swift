/// A signature on P-256 as two 32-byte numbers, r and s, behind each other.
///
/// JWS wants this raw form. OpenSSL and Apple's shell recipe make the DER form instead, where each
/// number is as short as it can be: about one signature in 128 has a half that needs padding.
package struct ECDSASignature: Sendable, Equatable {
  /// 64 bytes.
  package let raw: [UInt8]

  package init?(raw: [UInt8]) {
    guard raw.count == 64 else { return nil }
    self.raw = raw
  }

  /// - Parameter der: `SEQUENCE { INTEGER r, INTEGER s }` without a byte before or behind.
  package init?(der: [UInt8]) {
    guard der.count >= 8, der[0] == 0x30, Int(der[1]) == der.count - 2 else { return nil }
    var rest = der[2...]
    guard let r = Self.takeInteger(&rest), let s = Self.takeInteger(&rest), rest.isEmpty else {
      return nil
    }
    raw = r + s
  }

  package var der: [UInt8] {
    let r = Self.integer(raw[..<32])
    let s = Self.integer(raw[32...])
    return [0x30, UInt8(r.count + s.count)] + r + s
  }

  private static func takeInteger(_ rest: inout ArraySlice<UInt8>) -> [UInt8]? {
    guard rest.count >= 3, rest[rest.startIndex] == 0x02 else { return nil }
    let count = Int(rest[rest.startIndex + 1])
    let start = rest.startIndex + 2
    guard count >= 1, count <= 33, rest.endIndex - start >= count else { return nil }
    var digits = rest[start..<(start + count)]
    rest = rest[(start + count)...]
    if digits.first == 0 { digits.removeFirst() }
    guard digits.count <= 32 else { return nil }
    return [UInt8](repeating: 0, count: 32 - digits.count) + digits
  }

  private static func integer(_ half: ArraySlice<UInt8>) -> [UInt8] {
    var digits = half.drop { $0 == 0 }
    if digits.isEmpty { digits = [0] }
    let sign: [UInt8] = digits[digits.startIndex] >= 0x80 ? [0] : []
    return [0x02, UInt8(digits.count + sign.count)] + sign + digits
  }
}
