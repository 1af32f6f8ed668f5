/// The caller's trace that a trigger belongs to: what its `traceparent` says, by the W3C's Trace
/// Context.
package struct TraceContext: Sendable, Hashable {
  /// Of the trace; 16 bytes, the first in the upper bits.
  package let traceHigh: UInt64
  package let traceLow: UInt64
  /// Of the caller's span.
  package let span: UInt64

  /// Reads `00-` and a trace ID, `-` and a span ID, `-` and flags, in lowercase hexadecimal digits.
  ///
  /// Nil for what is malformed, which the standard wants ignored, and where the caller does not keep
  /// the trace: then there is nothing to add to it.
  package init?(traceparent text: some StringProtocol) {
    let parts = text.utf8.split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
    guard parts.count >= 4, parts[0].count == 2, parts[1].count == 32, parts[2].count == 16,
      parts[3].count == 2, let version = Self.number(parts[0]), version != 0xFF,
      version > 0 || parts.count == 4, let high = Self.number(parts[1].prefix(16)),
      let low = Self.number(parts[1].suffix(16)), let span = Self.number(parts[2]),
      let flags = Self.number(parts[3]), high | low != 0, span != 0, flags & 1 == 1
    else { return nil }
    traceHigh = high
    traceLow = low
    self.span = span
  }

  /// 32 hexadecimal digits.
  package var traceID: String { Self.digits(traceHigh) + Self.digits(traceLow) }

  package var traceparent: String { "00-\(traceID)-\(Self.digits(span))-01" }

  /// 16 hexadecimal digits.
  package static func digits(_ number: UInt64) -> String {
    let text = String(number, radix: 16)
    return String(repeating: "0", count: 16 - text.utf8.count) + text
  }

  private static func number(_ digits: some Sequence<UInt8>) -> UInt64? {
    var number: UInt64 = 0
    for byte in digits {
      guard let digit = hexadecimalDigit(byte), !(0x41...0x46).contains(byte) else { return nil }
      number = number << 4 | UInt64(digit)
    }
    return number
  }
}
