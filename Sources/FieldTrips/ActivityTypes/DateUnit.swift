import Clocks
import JSON

extension DateUnit {
  /// A date as the phone's struct reads it; whole milliseconds.
  func json(_ date: UnixTime) -> JSONValue {
    switch self {
    case .secondsSince1970: number(milliseconds: date.milliseconds)
    case .secondsSince2001: number(milliseconds: date.milliseconds - 978_307_200_000)
    case .text: .string(DateText.format(date))
    }
  }

  /// Refuses what the phone would read as a date decades away.
  func problems(of value: JSONValue, at path: String) -> [Problem] {
    do throws(DateText.Malformed) {
      switch self {
      case .text:
        guard let text = value.string else { return [FieldKind.date(self).wrongType(value, path)] }
        _ = try DateText.parse(text)
      case .secondsSince1970:
        guard let seconds = value.double else {
          return [FieldKind.date(self).wrongType(value, path)]
        }
        _ = try DateReading.date(secondsSince1970: seconds)
      case .secondsSince2001:
        guard let seconds = value.double else {
          return [FieldKind.date(self).wrongType(value, path)]
        }
        try checkSince2001(seconds)
      }
      return []
    } catch {
      return [Problem(.badDate, at: path, error.message)]
    }
  }

  private func checkSince2001(_ seconds: Double) throws(DateText.Malformed) {
    let unix = seconds + Self.referenceDate
    // A Unix date of this decade, read as seconds since 2001, lies past the year 2048.
    if seconds >= Double(DateReading.earliestSeconds), seconds < 4e9 {
      throw DateText.Malformed(
        message: "\(Int64(seconds)) looks like seconds since 1970: expected seconds since 2001, "
          + "\(Int64(seconds - Self.referenceDate)).")
    }
    _ = try DateReading.date(secondsSince1970: unix)
  }

  private func number(milliseconds: Int64) -> JSONValue {
    let (seconds, rest) = milliseconds.quotientAndRemainder(dividingBy: 1_000)
    return .number(rest == 0 ? JSONNumber(seconds) : JSONNumber(Double(milliseconds) / 1_000))
  }
}
