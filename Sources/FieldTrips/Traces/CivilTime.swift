internal import Clocks

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
    day = floorDivide(seconds, 86_400)
    secondOfDay = seconds - day * 86_400
  }

  /// The date that a text begins with, as `2021-05-01` or `2021/05/01`.
  static func day(in text: String) -> Int? {
    var scanner = DigitScanner(text)
    guard let year = scanner.number(digits: 4...4), scanner.skip("-/"),
      let month = scanner.number(digits: 1...2), scanner.skip("-/"),
      let day = scanner.number(digits: 1...2)
    else { return nil }
    guard (1...12).contains(month), (1...CivilDate.days(inMonth: month, of: year)).contains(day)
    else { return nil }
    return CivilDate(year: year, month: month, day: day).daysSince1970
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
    let date = CivilDate(daysSince1970: day)
    func padded(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
    return "\(date.year)-\(padded(date.month))-\(padded(date.day))"
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
