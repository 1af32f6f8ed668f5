package import Clocks

/// Dates as text, in the profile of ISO 8601 that RFC 3339 fixes: `2026-05-02T09:30:00Z`.
///
/// Strict: the date, `T`, the time with seconds, perhaps a fraction, and `Z` or an offset; nothing
/// before or after. Leap seconds are refused, since no clock here can hold one. Years run from
/// 1970 to 2199.
package enum DateText {
  /// Why a text is no date; a sentence.
  package struct Malformed: Error, Hashable, Sendable {
    package let message: String
  }

  /// - Returns: the date, with digits of a fraction after the ninth dropped.
  package static func parse(_ text: String) throws(Malformed) -> UnixTime {
    var reader = DigitReader(text)
    let date = try readDate(&reader)
    try reader.expect("T", "t", before: "the time of day")
    let secondOfDay = try readTime(&reader)
    let nanoseconds = try readFraction(&reader)
    let offsetSeconds = try readOffset(&reader)
    guard reader.isAtEnd else {
      throw reader.malformed("there is something behind its end")
    }
    let seconds = date.daysSince1970 * 86_400 + secondOfDay - offsetSeconds
    guard seconds >= 0 else { throw reader.malformed("it lies before 1970") }
    return UnixTime(nanoseconds: Int64(seconds) * 1_000_000_000 + Int64(nanoseconds))
  }

  /// In UTC; with milliseconds only if there are any. What is finer is cut off.
  ///
  /// - Parameter time: from 1970 to 2262, which is as far as a `UnixTime` reaches.
  package static func format(_ time: UnixTime) -> String {
    let seconds = Int(time.wholeSeconds)
    let milliseconds = Int(time.milliseconds) - seconds * 1_000
    let days = floorDivide(seconds, 86_400)
    let secondOfDay = seconds - days * 86_400
    let date = CivilDate(daysSince1970: days)
    var text = padded(date.year, 4) + "-" + padded(date.month, 2) + "-" + padded(date.day, 2)
    text += "T" + padded(secondOfDay / 3_600, 2) + ":" + padded(secondOfDay / 60 % 60, 2)
    text += ":" + padded(secondOfDay % 60, 2)
    if milliseconds != 0 { text += "." + padded(milliseconds, 3) }
    return text + "Z"
  }

  private static func readDate(_ reader: inout DigitReader) throws(Malformed) -> CivilDate {
    let year = try reader.number(digits: 4, "year", 1970...2199)
    try reader.expect("-", before: "the month")
    let month = try reader.number(digits: 2, "month", 1...12)
    try reader.expect("-", before: "the day")
    let lastDay = CivilDate.days(inMonth: month, of: year)
    let day = try reader.number(digits: 2, "day", 1...lastDay)
    return CivilDate(year: year, month: month, day: day)
  }

  /// Seconds since midnight.
  private static func readTime(_ reader: inout DigitReader) throws(Malformed) -> Int {
    let hour = try reader.number(digits: 2, "hour", 0...23)
    try reader.expect(":", before: "the minutes")
    let minute = try reader.number(digits: 2, "minute", 0...59)
    try reader.expect(":", before: "the seconds")
    let second = try reader.number(digits: 2, "second", 0...60)
    guard second < 60 else {
      throw reader.malformed("leap seconds are not taken: write second 59")
    }
    return hour * 3_600 + minute * 60 + second
  }

  private static func readFraction(_ reader: inout DigitReader) throws(Malformed) -> Int {
    guard reader.skip(".") else { return 0 }
    var nanoseconds = 0
    var digits = 0
    while let digit = reader.nextDigit() {
      if digits < 9 { nanoseconds = nanoseconds * 10 + digit }
      digits += 1
    }
    guard digits > 0 else { throw reader.malformed("digits must follow the point") }
    for _ in digits..<max(9, digits) { nanoseconds *= 10 }
    return nanoseconds
  }

  /// Seconds east of UTC.
  private static func readOffset(_ reader: inout DigitReader) throws(Malformed) -> Int {
    if reader.skip("Z") || reader.skip("z") { return 0 }
    let sign: Int
    if reader.skip("+") {
      sign = 1
    } else if reader.skip("-") {
      sign = -1
    } else {
      throw reader.malformed("it must end in Z or an offset such as +02:00")
    }
    let hours = try reader.number(digits: 2, "offset's hour", 0...23)
    try reader.expect(":", before: "the offset's minutes")
    let minutes = try reader.number(digits: 2, "offset's minute", 0...59)
    return sign * (hours * 3_600 + minutes * 60)
  }
}

/// Walks over ASCII text and says where it is wrong.
private struct DigitReader {
  private let text: String
  private let bytes: [UInt8]
  private var position = 0

  init(_ text: String) {
    self.text = text
    bytes = Array(text.utf8.prefix(64))
  }

  var isAtEnd: Bool { position == bytes.count }

  mutating func skip(_ character: Unicode.Scalar) -> Bool {
    guard position < bytes.count, UInt32(bytes[position]) == character.value else { return false }
    position += 1
    return true
  }

  mutating func expect(
    _ characters: Unicode.Scalar..., before part: String
  ) throws(DateText.Malformed) {
    for character in characters where skip(character) { return }
    throw malformed("expected \(quoted(String(characters[0]))) before \(part)")
  }

  mutating func nextDigit() -> Int? {
    guard position < bytes.count, bytes[position] >= 48, bytes[position] <= 57 else { return nil }
    position += 1
    return Int(bytes[position - 1]) - 48
  }

  mutating func number(
    digits: Int, _ part: String, _ range: ClosedRange<Int>
  ) throws(DateText.Malformed) -> Int {
    var value = 0
    for _ in 0..<digits {
      guard let digit = nextDigit() else {
        throw malformed("the \(part) must have \(digits) digits")
      }
      value = value * 10 + digit
    }
    guard range.contains(value) else {
      throw malformed(
        "the \(part) is \(value): expected \(range.lowerBound) to \(range.upperBound)")
    }
    return value
  }

  func malformed(_ reason: String) -> DateText.Malformed {
    DateText.Malformed(
      message: "\(quoted(text)) is not a date like 2026-05-02T09:30:00Z: \(reason).")
  }
}

private func padded(_ number: Int, _ digits: Int) -> String {
  let text = String(number)
  return String(repeating: "0", count: max(0, digits - text.utf8.count)) + text
}
