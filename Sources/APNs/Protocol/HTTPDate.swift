package import Clocks

/// A date in the three forms that HTTP allows.
///
/// - SeeAlso: RFC 9110, section 5.6.7. Senders use the first form; recipients must read all.
package enum HTTPDate {
  /// - Returns: nil for anything that is not one of
  ///   `Sun, 06 Nov 1994 08:49:37 GMT`, `Sunday, 06-Nov-94 08:49:37 GMT` and
  ///   `Sun Nov  6 08:49:37 1994`.
  package static func parse(_ text: String) -> UnixTime? {
    let words = text.split(separator: " ").map(String.init)
    if words.count == 6, words[0].hasSuffix(","), words[5] == "GMT" {
      return time(day: words[1], month: words[2], year: words[3], clock: words[4])
    }
    if words.count == 4, words[0].hasSuffix(","), words[3] == "GMT" {
      let parts = words[1].split(separator: "-").map(String.init)
      guard parts.count == 3, parts[2].utf8.count == 2, let short = Int(parts[2]) else {
        return nil
      }
      // Two digits: a date that would lie far ahead was in the last century.
      return time(
        day: parts[0], month: parts[1], year: String(short < 70 ? 2_000 + short : 1_900 + short),
        clock: words[2])
    }
    if words.count == 5 {
      return time(day: words[2], month: words[1], year: words[4], clock: words[3])
    }
    return nil
  }

  private static let months = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
  ]

  private static func time(day: String, month: String, year: String, clock: String) -> UnixTime? {
    let parts = clock.split(separator: ":", omittingEmptySubsequences: false)
    guard parts.count == 3, year.utf8.count == 4, (1...2).contains(day.utf8.count),
      let monthIndex = months.firstIndex(of: month), let day = digits(day), (1...31).contains(day),
      let year = digits(year), let hour = digits(parts[0]), hour < 24,
      let minute = digits(parts[1]), minute < 60, let second = digits(parts[2]), second <= 60
    else { return nil }
    let days = daysSince1970(year: year, month: monthIndex + 1, day: day)
    return UnixTime(wholeSeconds: Int64(days * 86_400 + hour * 3_600 + minute * 60 + second))
  }

  private static func digits(_ text: some StringProtocol) -> Int? {
    text.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) } ? Int(text) : nil
  }

  /// Counts days in the Gregorian calendar with the year beginning in March, so that the leap day
  /// is the last one of its year.
  private static func daysSince1970(year: Int, month: Int, day: Int) -> Int {
    let shiftedYear = month <= 2 ? year - 1 : year
    let era = shiftedYear / 400
    let yearOfEra = shiftedYear - era * 400
    let dayOfYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
    let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
    return era * 146_097 + dayOfEra - 719_468
  }
}

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
