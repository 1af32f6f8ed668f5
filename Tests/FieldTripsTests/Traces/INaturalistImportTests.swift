import Testing

@testable import FieldTrips

@Suite struct `The iNaturalist import` {
  private static let header =
    "id,observed_on_string,observed_on,time_observed_at,time_zone,user_id,user_login,user_name,"
    + "place_guess,latitude,longitude,scientific_name\n"

  private func row(
    _ text: String, on day: String = "2021-05-01", at universal: String = "",
    by login: String = "anna_k", place: String = "Marsh, Wien, Österreich"
  ) -> String {
    "17,\(text),\(day),\(universal),Vienna,99,\(login),Anna Krause,\"\(place)\","
      + "48.17321,16.52114,Ardea cinerea\n"
  }

  private func imported(_ rows: [String], date: String? = nil) throws -> INaturalistImport {
    try INaturalistImport(csv: Array((Self.header + rows.joined()).utf8), date: date)
  }

  @Test func `keeps the wall clock's times, in order, from the first capture on`() throws {
    let result = try imported([
      row("2021-05-01 10:24:12"), row("2021/05/01 9:59 AM CEST"),
      row("Sat May 01 2021 10:24:12 GMT+0200 (MESZ)"), row("2021-05-01 1:00:00 PM GMT+02:00"),
    ])
    #expect(result.trace.captures.map(\.offsetSeconds) == [0, 1_512, 1_512, 10_860])
    #expect(result.date == "2021-05-01")
    #expect(result.trace.kind == .iNaturalistExport)
  }

  @Test(arguments: [
    ("2021-05-01 00:05", 300), ("12:05 AM", 300), ("12:05 PM", 43_500), ("9 pm", 75_600),
    ("9:30 p. m.", 77_400), ("13:05 PM", 47_100), ("2021-05-01T23:59:59Z", 86_399),
    ("2021-05-01T10:24:00.000+02:00", 37_440),
  ])
  func `reads a time of day as phones write it`(text: String, seconds: Int) {
    #expect(CivilTime.secondOfDay(in: text) == seconds)
  }

  @Test(arguments: [
    "2021-05-01", "", "May 1, 2021", "GMT+02:00", "25:00", "10:75", "0 am", "20210501102400",
  ])
  func `finds no time of day where there is none`(text: String) {
    #expect(CivilTime.secondOfDay(in: text) == nil)
  }

  @Test func `knows the calendar`() {
    #expect(CivilTime.day(in: "1970-01-01") == 0)
    #expect(CivilTime.day(in: "2024/02/29") == 19_782)
    #expect(CivilTime.day(in: "2023-02-29") == nil)
    #expect(CivilTime.day(in: "2021-13-01") == nil)
    #expect(CivilTime.universalSeconds(of: "2021-05-01 08:24:00 UTC") == 1_619_857_440)
    #expect(CivilTime.universalSeconds(of: "2021-05-01T10:24:00+02:00") == 1_619_857_440)
    #expect(CivilTime.universalSeconds(of: "2021-05-01 03:24:00 -0500") == 1_619_857_440)
    for day in stride(from: -200_000, through: 200_000, by: 97) {
      let written = CivilTime.written(day: day)
      #expect(CivilTime.day(in: written) == day, "\(written)")
    }
  }

  @Test func `moves universal times to the wall clock of the other rows`() throws {
    let result = try imported([
      row("2021-05-01 10:00", at: "2021-05-01 08:00:00 UTC"),
      row("2021-05-01 10:01", at: "2021-05-01 08:01:00 UTC"),
      // A profile in another zone: its text is right and its universal time is not.
      row("2021-05-01 10:02", at: "2021-05-01 17:02:00 UTC"),
      row("2021-05-01", at: "2021-05-01 08:03:00 UTC"),
    ])
    #expect(result.trace.captures.map(\.offsetSeconds) == [0, 60, 120, 180])
  }

  @Test func `takes the day with the most captures, or the one asked for`() throws {
    let rows = [
      row("2021-04-30 09:00", on: "2021-04-30"), row("2021-05-01 09:00"), row("2021-05-01 09:01"),
      row("2021-05-01"), row("2021-05-02 12:00", on: "2021-05-02"),
    ]
    let busiest = try imported(rows)
    #expect(busiest.date == "2021-05-01")
    #expect(busiest.rows == 5)
    #expect(busiest.rowsWithoutTime == 1)
    #expect(busiest.rowsOfOtherDays == 2)
    #expect(try imported(rows, date: "2021-05-02").trace.captures.count == 1)
    #expect(throws: TraceError.noCaptures("no row with a time of day is of 2021-05-03")) {
      try imported(rows, date: "2021-05-03")
    }
    #expect(throws: TraceError.noCaptures("the date \"May\" is not written like 2021-05-01")) {
      try imported(rows, date: "May")
    }
  }

  @Test func `numbers observers in order of their first capture`() throws {
    let result = try imported([
      row("10:02", by: "anna_k"), row("10:00", by: "bela"), row("10:01", by: "anna_k"),
    ])
    #expect(result.trace.captures.map(\.observer) == ["o1", "o2", "o2"])
  }

  @Test func `writes no name, coordinate, species or address`() throws {
    let result = try imported([
      row("10:00", place: "Annagasse 5, 1010 Wien, Österreich"),
      row("10:01", place: "48.17321, 16.52114"),
      row("10:02", by: "bela", place: "anna_k's pond, Marsh, Wien, Österreich"),
      row("10:03", place: "The garden of Anna Krause"),
    ])
    let written = result.trace.csv() + result.trace.name
    for secret in ["anna", "Anna", "Krause", "bela", "48.1", "16.5", "Ardea", "gasse", "1010"] {
      #expect(!written.contains(secret))
    }
    #expect(result.trace.captures.map(\.place) == ["Wien", "Place 1", "Wien", "Place 2"])
  }

  @Test func `keeps a near name that two observers agree on`() throws {
    let result = try imported([
      row("10:00", by: "anna_k", place: "Marsh, Wien, Österreich"),
      row("10:01", by: "bela", place: "Marsh, Wien, Österreich"),
      row("10:02", by: "bela", place: "My hut, Wien, Österreich"),
    ])
    #expect(result.trace.captures.map(\.place) == ["Marsh", "Marsh", "Wien"])
  }

  @Test func `reads quoted fields with commas, quotes and line ends`() throws {
    let table =
      "observed_on_string,user_id,description,place_guess\r\n"
      + "2021-05-01 10:00,4,\"a \"\"heron\"\",\r\nor two\",\"Marsh, Wien, Österreich\"\r\n"
      + "2021-05-01 10:01,5,,\r\n"
    let result = try INaturalistImport(csv: Array(table.utf8))
    #expect(result.trace.captures.map(\.place) == ["Wien", "Place 1"])
  }

  @Test func `names the columns that an export lacks`() {
    #expect(
      throws: TraceError.missingColumns(
        ["observed_on_string or time_observed_at", "user_login or user_id", "place_guess"],
        found: ["id", "species"])
    ) {
      try INaturalistImport(csv: Array("id,species\n1,Ardea\n".utf8))
    }
    #expect(throws: TraceError.malformed(line: 2, "expected 12 fields as in the header, found 2")) {
      try imported(["1,2\n"])
    }
    #expect(throws: TraceError.noCaptures("no row has a time of day")) {
      try imported([row("2021-05-01")])
    }
  }

  @Test func `tells an export from a trace by its header`() {
    #expect(INaturalistImport.recognizes(csv: Array(Self.header.utf8)))
    #expect(!INaturalistImport.recognizes(csv: Array("offset_s,observer,place\n".utf8)))
    #expect(!INaturalistImport.recognizes(csv: []))
  }
}
