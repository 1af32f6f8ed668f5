package import Clocks

/// Dates in HTTP (RFC 9110, section 5.6.7): one form may be sent, three must be understood.
package enum HTTPDate {
  /// For example `Sun, 06 Nov 1994 08:49:37 GMT`.
  package static func text(_ time: UnixTime) -> String {
    let seconds = Int(time.wholeSeconds)
    let days = floorDivide(seconds, 86_400)
    let second = seconds - days * 86_400
    let date = CivilDate(daysSince1970: days)
    let weekday = weekdays[(days + 4) - floorDivide(days + 4, 7) * 7]
    let clock = [second / 3_600, second / 60 % 60, second % 60].map(twoDigits)
    return "\(weekday), \(twoDigits(date.day)) \(months[date.month - 1]) \(date.year) "
      + clock.joined(separator: ":") + " GMT"
  }

  /// - Returns: nil for years outside 1950 to 2200, and for anything that is not one of
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

  private static let weekdays = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
  private static let months = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
  ]

  /// A ``UnixTime`` holds the dates of these, and the span between any two of them fits into it as
  /// well. A date of another one is junk.
  private static let years = 1_950...2_200

  private static func twoDigits(_ number: Int) -> String {
    number < 10 ? "0\(number)" : "\(number)"
  }

  private static func time(day: String, month: String, year: String, clock: String) -> UnixTime? {
    let parts = clock.split(separator: ":", omittingEmptySubsequences: false)
    guard parts.count == 3, year.utf8.count == 4, (1...2).contains(day.utf8.count),
      let monthIndex = months.firstIndex(of: month), let day = digits(day), (1...31).contains(day),
      let year = digits(year), years.contains(year), let hour = digits(parts[0]), hour < 24,
      let minute = digits(parts[1]), minute < 60, let second = digits(parts[2]), second <= 60
    else { return nil }
    let days = CivilDate(year: year, month: monthIndex + 1, day: day).daysSince1970
    return UnixTime(wholeSeconds: Int64(days * 86_400 + hour * 3_600 + minute * 60 + second))
  }

  private static func digits(_ text: some StringProtocol) -> Int? {
    text.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) } ? Int(text) : nil
  }
}
