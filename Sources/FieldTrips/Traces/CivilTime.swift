/// A calendar date and time of day as a clock on the wall shows them, without a zone.
struct CivilTime: Equatable {
  /// Days since 1970-01-01 in the Gregorian calendar.
  var day: Int
  var secondOfDay: Int

  /// Seconds since 1970-01-01T00:00:00 of the same wall.
  var seconds: Int { day * 86_400 + secondOfDay }

  init(day: Int, secondOfDay: Int) {
    self.day = day
    self.secondOfDay = secondOfDay
  }

  init(seconds: Int) {
    day = seconds >= 0 ? seconds / 86_400 : (seconds - 86_399) / 86_400
    secondOfDay = seconds - day * 86_400
  }

  /// The date that a text begins with, as `2021-05-01` or `2021/05/01`.
  static func day(in text: String) -> Int? {
    var scanner = DigitScanner(text)
    guard let year = scanner.number(digits: 4...4), scanner.skip("-/"),
      let month = scanner.number(digits: 1...2), scanner.skip("-/"),
      let day = scanner.number(digits: 1...2)
    else { return nil }
    return dayNumber(year: year, month: month, day: day)
  }

  /// The first time of day in a text that people or their phones wrote: `10:24`, `10:24:05 PM`,
  /// `9 am`, with a date and a zone anywhere around it.
  static func secondOfDay(in text: String) -> Int? {
    var scanner = DigitScanner(text)
    while scanner.skipToDigit() {
      // A zone such as GMT+02:00 looks like a time of day, but for its sign.
      let isSigned = scanner.previous.map { "+".contains($0) || $0 == "−" } ?? false
      guard let hour = scanner.number(digits: 1...8) else { return nil }
      let minute = scanner.minuteOrSecond()
      let second = minute == nil ? nil : scanner.minuteOrSecond()
      let half = scanner.halfOfDay()
      guard !isSigned, minute != nil || half != nil, let hour = hour24(hour, half) else {
        continue
      }
      return hour * 3_600 + (minute ?? 0) * 60 + (second ?? 0)
    }
    return nil
  }

  /// Seconds since 1970 of a full timestamp with a zone: `2021-05-01 08:24:00 UTC`,
  /// `2021-05-01T10:24:00+02:00`.
  static func universalSeconds(of text: String) -> Int? {
    guard let day = day(in: text), let time = secondOfDay(in: text),
      let zone = zoneSeconds(of: text)
    else { return nil }
    return day * 86_400 + time - zone
  }

  /// As `2021-05-01`.
  static func written(day: Int) -> String {
    let (year, month, dayOfMonth) = date(ofDay: day)
    func padded(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
    return "\(year)-\(padded(month))-\(padded(dayOfMonth))"
  }

  private static func zoneSeconds(of text: String) -> Int? {
    if text.hasSuffix("UTC") || text.hasSuffix("Z") { return 0 }
    guard let sign = text.lastIndex(where: { $0 == "+" || $0 == "-" }) else { return nil }
    let digits = text[text.index(after: sign)...].filter { $0 != ":" }
    guard digits.utf8.count == 4, let number = Int(digits), number % 100 < 60 else { return nil }
    let seconds = (number / 100) * 3_600 + (number % 100) * 60
    return text[sign] == "-" ? -seconds : seconds
  }

  private static func hour24(_ hour: Int, _ half: DigitScanner.HalfOfDay?) -> Int? {
    switch half {
    case nil: return hour < 24 ? hour : nil
    // "13:05 PM" is written by phones that append the half to a clock of 24 hours.
    case .some where (13..<24).contains(hour): return hour
    case .morning: return (1...12).contains(hour) ? hour % 12 : nil
    case .afternoon: return (1...12).contains(hour) ? hour % 12 + 12 : nil
    }
  }

  /// Counts years from March on, so that the leap day is the last of its year; 146,097 days make
  /// the 400 years after which the calendar repeats.
  private static func dayNumber(year: Int, month: Int, day: Int) -> Int? {
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
    let lengths = [31, leap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
    guard (1...12).contains(month), (1...lengths[month - 1]).contains(day) else { return nil }
    let shifted = month > 2 ? year : year - 1
    let monthsFromMarch = (month + 9) % 12
    let daysBeforeYear = shifted * 365 + shifted / 4 - shifted / 100 + shifted / 400
    return daysBeforeYear + (153 * monthsFromMarch + 2) / 5 + day - 1 - 719_468
  }

  private static func date(ofDay number: Int) -> (year: Int, month: Int, day: Int) {
    // The year is found from below: its first day is at most a day or two off the mean.
    let guess = 1970 + number * 400 / 146_097
    for year in [guess + 1, guess, guess - 1] {
      for month in (1...12).reversed() {
        guard let first = dayNumber(year: year, month: month, day: 1), first <= number else {
          continue
        }
        return (year, month, number - first + 1)
      }
    }
    preconditionFailure("day \(number) has no date")
  }
}

/// Walks a text from number to number.
private struct DigitScanner {
  enum HalfOfDay { case morning, afternoon }

  private let text: [Character]
  private var position = 0

  init(_ text: String) { self.text = Array(text) }

  /// The character before the current one.
  var previous: Character? { position > 0 ? text[position - 1] : nil }

  mutating func skipToDigit() -> Bool {
    while position < text.count, !isDigit(text[position]) { position += 1 }
    return position < text.count
  }

  mutating func skip(_ oneOf: String) -> Bool {
    guard position < text.count, oneOf.contains(text[position]) else { return false }
    position += 1
    return true
  }

  /// All digits from here, if there are as many as asked for.
  mutating func number(digits: ClosedRange<Int>) -> Int? {
    let start = position
    while position < text.count, isDigit(text[position]) { position += 1 }
    let found = text[start..<position]
    if found.count > digits.upperBound { return Int.max }
    return digits.contains(found.count) ? Int(String(found)) : nil
  }

  /// `:24`, and nothing is taken if it is not there.
  mutating func minuteOrSecond() -> Int? {
    let start = position
    if skip(":"), let number = number(digits: 2...2), number < 60 { return number }
    position = start
    return nil
  }

  /// `PM`, `pm`, `p.m.` or `p. m.`, behind at most one space.
  mutating func halfOfDay() -> HalfOfDay? {
    let rest = text[position...].prefix(6).filter { !$0.isWhitespace && $0 != "." }
    let word = String(rest).lowercased()
    if word.hasPrefix("am") { return .morning }
    if word.hasPrefix("pm") { return .afternoon }
    return nil
  }

  private func isDigit(_ character: Character) -> Bool { "0"..."9" ~= character }
}
