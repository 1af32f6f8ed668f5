internal import Clocks

/// Dates as HTTP writes them (RFC 9110, 5.6.7). It keeps the last one: most answers share it.
struct HTTPDate: Sendable {
  private var second = Int64.min
  private var kept = ""

  mutating func text(_ time: UnixTime) -> String {
    guard time.wholeSeconds != second else { return kept }
    second = time.wholeSeconds
    kept = Self.text(second)
    return kept
  }

  private static func text(_ seconds: Int64) -> String {
    let day = seconds >= 0 ? seconds / 86_400 : (seconds - 86_399) / 86_400
    let ofDay = seconds - day * 86_400
    let date = civil(day)
    let weekday = Int(((day + 4) % 7 + 7) % 7)
    let weekdays = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
    let months = [
      "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]
    return "\(weekdays[weekday]), \(two(date.day)) \(months[Int(date.month) - 1]) \(date.year) "
      + "\(two(ofDay / 3600)):\(two(ofDay / 60 % 60)):\(two(ofDay % 60)) GMT"
  }

  /// The Gregorian date of a day number since 1970, by way of years that begin in March, whose
  /// leap day comes last.
  private static func civil(_ day: Int64) -> (year: Int64, month: Int64, day: Int64) {
    let shifted = day + 719_468
    let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
    let dayOfEra = shifted - era * 146_097
    let yearOfEra =
      (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let monthFromMarch = (5 * dayOfYear + 2) / 153
    let month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
    let dayOfMonth = dayOfYear - (153 * monthFromMarch + 2) / 5 + 1
    return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, dayOfMonth)
  }

  private static func two(_ number: Int64) -> String { number < 10 ? "0\(number)" : "\(number)" }
}
