package import Clocks
import HTTP

/// The `retry-after` field: whole seconds or a date.
package enum RetryAfter {
  /// Nobody who serves Live Activities means a longer wait; what asks for one is taken for junk.
  package static let longest = Duration.seconds(86_400)

  /// - Returns: zero for a date that has passed; nil for junk and for waits over ``longest``.
  package static func parse(_ text: String, now: UnixTime) -> Duration? {
    let isNumber =
      !text.isEmpty
      && text.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
    let wait: Duration?
    if isNumber {
      wait = text.utf8.count <= 9 ? Int(text).map { .seconds($0) } : nil
    } else {
      wait = HTTPDate.parse(text).map { max($0 - now, .zero) }
    }
    return wait.flatMap { $0 <= longest ? $0 : nil }
  }
}
