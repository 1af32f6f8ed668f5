/// A day of the Gregorian calendar, carried back before its invention.
///
/// The arithmetic counts from 1 March, so that the leap day is a year's last: day and month then
/// follow from plain division, with 400 years of exactly 146,097 days as the period.
package struct CivilDate: Hashable, Sendable {
  package var year: Int
  /// 1...12
  package var month: Int
  /// 1...31
  package var day: Int

  /// Days since 1970-01-01.
  package var daysSince1970: Int {
    let shiftedYear = month <= 2 ? year - 1 : year
    let period = floorDivide(shiftedYear, 400)
    let yearOfPeriod = shiftedYear - period * 400
    let monthFromMarch = (month + 9) % 12
    let dayOfYear = (153 * monthFromMarch + 2) / 5 + day - 1
    let dayOfPeriod = yearOfPeriod * 365 + yearOfPeriod / 4 - yearOfPeriod / 100 + dayOfYear
    return period * 146_097 + dayOfPeriod - daysFromPeriodStartTo1970
  }

  package init(year: Int, month: Int, day: Int) {
    self.year = year
    self.month = month
    self.day = day
  }

  package init(daysSince1970: Int) {
    let days = daysSince1970 + daysFromPeriodStartTo1970
    let period = floorDivide(days, 146_097)
    let dayOfPeriod = days - period * 146_097
    let leapDays = dayOfPeriod / 1_460 - dayOfPeriod / 36_524 + dayOfPeriod / 146_096
    let yearOfPeriod = (dayOfPeriod - leapDays) / 365
    let dayOfYear = dayOfPeriod - (365 * yearOfPeriod + yearOfPeriod / 4 - yearOfPeriod / 100)
    let monthFromMarch = (5 * dayOfYear + 2) / 153
    day = dayOfYear - (153 * monthFromMarch + 2) / 5 + 1
    month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
    year = yearOfPeriod + period * 400 + (month <= 2 ? 1 : 0)
  }

  /// How many days a month has.
  package static func days(inMonth month: Int, of year: Int) -> Int {
    switch month {
    case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
    case 4, 6, 9, 11: 30
    default: 31
    }
  }
}

/// Days from 1 March of the year 0 to 1970-01-01.
private let daysFromPeriodStartTo1970 = 719_468

package func floorDivide(_ dividend: Int, _ divisor: Int) -> Int {
  let (quotient, remainder) = dividend.quotientAndRemainder(dividingBy: divisor)
  return remainder < 0 ? quotient - 1 : quotient
}
