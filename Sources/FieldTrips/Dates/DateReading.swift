package import Clocks

/// Dates as callers give them: RFC 3339 text, or seconds since 1970 as a number.
///
/// The usual mistakes are refused by name rather than taken for a date far away: milliseconds, and
/// seconds since 2001, which is how Swift encodes a `Date` unless told otherwise.
package enum DateReading {
  /// 2017-07-14, the lowest date taken from a number. Seconds since 2001 stay below it until 2048.
  package static let earliestSeconds: Int64 = 1_500_000_000
  /// The end of 2199, as for text.
  package static let latestSeconds: Int64 = 7_258_118_399

  /// - Parameter seconds: since 1970; a fraction is kept.
  package static func date(
    secondsSince1970 seconds: Double
  ) throws(DateText.Malformed) -> UnixTime {
    guard seconds.isFinite, seconds >= 0 else {
      throw DateText.Malformed(message: "A date cannot be \(seconds) seconds since 1970.")
    }
    if seconds > Double(latestSeconds) { throw tooLarge(seconds) }
    if seconds < Double(earliestSeconds) { throw tooSmall(seconds) }
    return UnixTime(seconds: seconds)
  }

  private static func tooLarge(_ seconds: Double) -> DateText.Malformed {
    let units = [("milliseconds", 1e3), ("microseconds", 1e6), ("nanoseconds", 1e9)]
    for (unit, scale) in units where plausible(seconds / scale) {
      return DateText.Malformed(
        message: "\(wholeText(seconds)) looks like \(unit): expected seconds since 1970, "
          + "\(wholeText(seconds / scale)).")
    }
    return DateText.Malformed(
      message: "\(wholeText(seconds)) seconds since 1970 is after the year 2199.")
  }

  private static func tooSmall(_ seconds: Double) -> DateText.Malformed {
    let sinceReferenceDate = seconds + 978_307_200
    guard plausible(sinceReferenceDate) else {
      return DateText.Malformed(
        message: "\(wholeText(seconds)) seconds since 1970 is before July 2017.")
    }
    return DateText.Malformed(
      message: "\(wholeText(seconds)) looks like seconds since 2001, as Swift encodes a Date by "
        + "default: expected seconds since 1970, \(wholeText(sinceReferenceDate)).")
  }

  private static func plausible(_ seconds: Double) -> Bool {
    seconds >= Double(earliestSeconds) && seconds <= Double(latestSeconds)
  }

  private static func wholeText(_ number: Double) -> String {
    Int64(exactly: number.rounded()).map(String.init) ?? String(number)
  }
}
