import Clocks
import FieldTrips
import Testing

@Suite struct `Dates as text` {
  @Test(arguments: [
    ("1970-01-01T00:00:00Z", 0), ("2000-02-29T23:59:59Z", 951_868_799),
    ("2026-05-02T09:30:00Z", 1_777_714_200), ("2026-05-02T11:30:00+02:00", 1_777_714_200),
    ("2026-05-02t04:00:00-05:30", 1_777_714_200), ("2100-03-01T00:00:00Z", 4_107_542_400),
    ("2199-12-31T23:59:59Z", 7_258_118_399),
  ])
  func `are read with their offset`(text: String, seconds: Int) throws {
    #expect(try DateText.parse(text) == UnixTime(wholeSeconds: Int64(seconds)))
  }

  @Test func `keep nine digits of a fraction`() throws {
    let time = try DateText.parse("2026-05-02T09:30:00.1234567899Z")
    #expect(time.nanoseconds == 1_777_714_200_123_456_789)
    #expect(try DateText.parse("1970-01-01T00:00:00.5Z").nanoseconds == 500_000_000)
  }

  @Test(arguments: [
    ("2026-05-02", "expected \"T\" before the time of day"),
    ("2026-05-02 09:30:00Z", "expected \"T\" before the time of day"),
    ("2026-5-02T09:30:00Z", "the month must have 2 digits"),
    ("2026-13-02T09:30:00Z", "the month is 13: expected 1 to 12"),
    ("2026-02-29T09:30:00Z", "the day is 29: expected 1 to 28"),
    ("2100-02-29T09:30:00Z", "the day is 29: expected 1 to 28"),
    ("2026-05-02T24:00:00Z", "the hour is 24: expected 0 to 23"),
    ("2026-05-02T09:30Z", "expected \":\" before the seconds"),
    ("2016-12-31T23:59:60Z", "leap seconds are not taken: write second 59"),
    ("2026-05-02T09:30:00.Z", "digits must follow the point"),
    ("2026-05-02T09:30:00", "it must end in Z or an offset such as +02:00"),
    ("2026-05-02T09:30:00+0200", "expected \":\" before the offset's minutes"),
    ("2026-05-02T09:30:00Z ", "there is something behind its end"),
    ("1970-01-01T00:00:00+01:00", "it lies before 1970"),
    ("40000-01-01T00:00:00Z", "the year is 4000: expected 1970 to 2199"),
    ("2200-01-01T00:00:00Z", "the year is 2200: expected 1970 to 2199"),
    ("", "the year must have 4 digits"),
  ])
  func `say why they are refused`(text: String, reason: String) {
    let error = #expect(throws: DateText.Malformed.self) { try DateText.parse(text) }
    #expect(error?.message.hasSuffix(": \(reason).") == true, "\(error?.message ?? "")")
  }

  @Test func `survive writing and reading on every day of the range`() throws {
    var dice = TripDice(seed: 3)
    let times = (0..<84_000).map {
      UnixTime(milliseconds: Int64($0) * 86_400_000 + Int64(dice.roll(0..<86_400_000)))
    }
    let wrong = times.filter { (try? DateText.parse(DateText.format($0))) != $0 }
    #expect(wrong.map(DateText.format) == [])
  }

  @Test func `show milliseconds only if there are any`() {
    #expect(DateText.format(UnixTime(milliseconds: 1_777_714_200_000)) == "2026-05-02T09:30:00Z")
    #expect(
      DateText.format(UnixTime(milliseconds: 1_777_714_200_045)) == "2026-05-02T09:30:00.045Z")
  }
}

@Suite struct `Dates as numbers` {
  @Test func `are seconds since 1970, with a fraction`() throws {
    let time = try DateReading.date(secondsSince1970: 1_777_714_200.5)
    #expect(time.milliseconds == 1_777_714_200_500)
  }

  @Test(
    arguments: [
      (
        1_777_714_200_000,
        "1777714200000 looks like milliseconds: expected seconds since 1970, 1777714200."
      ),
      (
        1_777_714_200_000_000,
        "1777714200000000 looks like microseconds: expected seconds since 1970, 1777714200."
      ),
      (
        799_407_000,
        "799407000 looks like seconds since 2001, as Swift encodes a Date by default: expected seconds since 1970, 1777714200."
      ),
      (9, "9 seconds since 1970 is before July 2017."),
      (1e11, "100000000000 seconds since 1970 is after the year 2199."),
      (-1, "A date cannot be -1.0 seconds since 1970."),
      (.infinity, "A date cannot be inf seconds since 1970."),
    ] as [(Double, String)])
  func `are refused in another unit by its name`(seconds: Double, message: String) {
    let error = #expect(throws: DateText.Malformed.self) {
      try DateReading.date(secondsSince1970: seconds)
    }
    #expect(error?.message == message)
  }
}
