/// Makes a trace of an iNaturalist CSV export: a person's own, or a group project's.
///
/// Of the table only times, numbered observers and coarse places are kept; names, coordinates,
/// species and links are never written out. An export may span years, and a trace is one event, so
/// one day is taken.
///
/// The time of a capture is the wall clock's in `observed_on_string`. The normalised
/// `time_observed_at` is shifted by hours for observers whose profile names another time zone; it
/// serves for rows without a time in their text, moved to the wall clock of the others.
package struct INaturalistImport: Sendable {
  package var trace: CaptureTrace
  /// The day that was taken, as `2021-05-01`.
  package var date: String
  /// Rows of the table, without its header.
  package var rows: Int
  /// Rows left out since they have no time of day.
  package var rowsWithoutTime: Int
  /// Rows left out since they are of another day.
  package var rowsOfOtherDays: Int

  /// - Parameters:
  ///   - csv: the export, UTF-8, with its header line.
  ///   - date: the day to take, as `2021-05-01`; the one with the most captures if nil.
  package init(csv: [UInt8], date: String? = nil) throws(TraceError) {
    let table = try Table(csv)
    let timed = table.observations.filter { $0.wall != nil }
    guard let day = try Self.day(named: date, or: timed) else {
      throw .noCaptures("no row has a time of day")
    }
    // Sorted by time; the table's order decides ties.
    let taken = timed.filter { $0.wall?.day == day }.enumerated()
      .sorted { ($0.element.second, $0.offset) < ($1.element.second, $1.offset) }
      .map(\.element)
    let written = CivilTime.written(day: day)
    guard !taken.isEmpty else {
      throw .noCaptures("no row with a time of day is of \(written)")
    }
    rows = table.observations.count
    rowsWithoutTime = rows - timed.count
    rowsOfOtherDays = timed.count - taken.count
    self.date = written
    trace = CaptureTrace(
      name: "inaturalist-\(written)", kind: .iNaturalistExport,
      captures: Self.captures(of: taken, people: table.people))
  }

  /// Whether a header line looks like an iNaturalist export's rather than a trace's.
  package static func recognizes(csv: [UInt8]) -> Bool {
    var reader = CSVReader(csv)
    guard let header = try? reader.next() else { return false }
    return Table.timeColumns.contains { header.fields.contains($0) }
  }

  private static func day(named date: String?, or timed: [Observation]) throws(TraceError) -> Int? {
    guard let date else {
      var counts: [Int: Int] = [:]
      for observation in timed { counts[observation.wall?.day ?? 0, default: 0] += 1 }
      // Of two equally busy days the later one, so that the choice does not hang on a hash.
      return counts.max { ($0.value, $0.key) < ($1.value, $1.key) }?.key
    }
    guard let day = CivilTime.day(in: date) else {
      throw .noCaptures("the date \"\(date)\" is not written like 2021-05-01")
    }
    return day
  }

  private static func captures(
    of observations: [Observation], people: Set<String>
  ) -> [CaptureTrace.Capture] {
    var places = CoarsePlaces()
    for observation in observations { places.note(observation.placeGuess, by: observation.user) }
    var numbers: [String: Int] = [:]
    let first = observations.first?.second ?? 0
    return observations.map { observation in
      let number = numbers[observation.user] ?? numbers.count + 1
      numbers[observation.user] = number
      return CaptureTrace.Capture(
        offsetSeconds: Double(observation.second - first), observer: "o\(number)",
        place: places.label(for: observation.placeGuess, people: people))
    }
  }
}

extension INaturalistImport {
  /// What is read of one row; lives only as long as the import.
  fileprivate struct Observation {
    var wall: CivilTime?
    var universalSeconds: Int?
    var user: String
    var placeGuess: String

    var second: Int { wall?.seconds ?? 0 }
  }

  fileprivate struct Table {
    static let timeColumns = ["observed_on_string", "time_observed_at"]
    private static let userColumns = ["user_login", "user_id"]
    private static let placeColumn = "place_guess"

    private(set) var observations: [Observation] = []
    /// Every login and real name in the table.
    private(set) var people: Set<String> = []

    init(_ csv: [UInt8]) throws(TraceError) {
      var reader = CSVReader(csv)
      let header = try reader.next()?.fields ?? []
      try Self.expectColumns(in: header)
      let columns = Dictionary(
        header.enumerated().map { ($0.element, $0.offset) }, uniquingKeysWith: { first, _ in first }
      )
      while let record = try reader.next() {
        if record.fields == [""] { continue }
        guard record.fields.count == header.count else {
          throw .malformed(
            line: record.line,
            "expected \(header.count) fields as in the header, found \(record.fields.count)")
        }
        take(record) { name in columns[name].map { record.fields[$0] } ?? "" }
      }
      bringUniversalTimesToTheWall()
    }

    private static func expectColumns(in header: [String]) throws(TraceError) {
      var missing: [String] = []
      if !timeColumns.contains(where: header.contains) {
        missing.append(timeColumns.joined(separator: " or "))
      }
      if !userColumns.contains(where: header.contains) {
        missing.append(userColumns.joined(separator: " or "))
      }
      if !header.contains(placeColumn) { missing.append(placeColumn) }
      guard missing.isEmpty else { throw .missingColumns(missing, found: header) }
    }

    private mutating func take(_ record: CSVRecord, _ field: (String) -> String) {
      let text = field("observed_on_string")
      let day = CivilTime.day(in: field("observed_on")) ?? CivilTime.day(in: text)
      var wall: CivilTime?
      if let day, let time = CivilTime.secondOfDay(in: text) {
        wall = CivilTime(day: day, secondOfDay: time)
      }
      for column in ["user_login", "user_name"] where !field(column).isEmpty {
        people.insert(field(column))
      }
      let login = field("user_login")
      observations.append(
        Observation(
          wall: wall,
          universalSeconds: CivilTime.universalSeconds(of: field("time_observed_at")),
          user: login.isEmpty ? field("user_id") : login,
          placeGuess: field(Self.placeColumn)))
    }

    /// Gives rows that only have a universal time the wall clock that prevails in the table.
    private mutating func bringUniversalTimesToTheWall() {
      var counts: [Int: Int] = [:]
      for row in observations {
        guard let wall = row.wall, let universal = row.universalSeconds else { continue }
        counts[wall.seconds - universal, default: 0] += 1
      }
      let shift = counts.max { ($0.value, $0.key) < ($1.value, $1.key) }?.key ?? 0
      for index in observations.indices where observations[index].wall == nil {
        guard let universal = observations[index].universalSeconds else { continue }
        observations[index].wall = CivilTime(seconds: universal + shift)
      }
    }
  }
}
