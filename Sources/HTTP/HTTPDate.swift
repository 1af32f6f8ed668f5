package import Clocks

/// Dates as HTTP writes them, in the one form that may be sent (RFC 9110, section 5.6.7).
package enum HTTPDate {
  /// For example `Sun, 06 Nov 1994 08:49:37 GMT`.
  package static func text(_ time: UnixTime) -> String {
    let seconds = time.wholeSeconds
    let (days, second) = floorDivide(seconds, 86_400)
    let (year, month, day) = civil(days)
    let weekday = weekdays[Int(floorDivide(days + 4, 7).remainder)]
    let clock = [second / 3_600, second / 60 % 60, second % 60].map(twoDigits)
    return "\(weekday), \(twoDigits(day)) \(months[Int(month) - 1]) \(year) "
      + clock.joined(separator: ":") + " GMT"
  }

  private static let weekdays = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
  private static let months = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
  ]

  private static func twoDigits(_ number: Int64) -> String {
    number < 10 ? "0\(number)" : "\(number)"
  }

  private static func floorDivide(
    _ number: Int64, _ divisor: Int64
  ) -> (quotient: Int64, remainder: Int64) {
    let remainder = (number % divisor + divisor) % divisor
    return ((number - remainder) / divisor, remainder)
  }

  /// The Gregorian date of a day counted from 1970-01-01.
  ///
  /// Years are counted from March, so that the leap day is a year's last and months have a pattern.
  private static func civil(_ days: Int64) -> (year: Int64, month: Int64, day: Int64) {
    let (era, dayOfEra) = floorDivide(days + 719_468, 146_097)
    let yearOfEra =
      (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let fromMarch = (5 * dayOfYear + 2) / 153
    let day = dayOfYear - (153 * fromMarch + 2) / 5 + 1
    let month = fromMarch < 10 ? fromMarch + 3 : fromMarch - 9
    return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, day)
  }
}
