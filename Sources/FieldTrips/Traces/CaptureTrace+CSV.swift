// The trace format: UTF-8, one header line, one capture a row, in order of time.
//
//     offset_s,observer,place
//     0,o1,Place 1
//     20,o1,Place 1

extension CaptureTrace {
  package static let csvHeader = ["offset_s", "observer", "place"]

  /// Reads a table in the trace format.
  ///
  /// Strict: a row with a missing field, a time that is no number, or one that goes back is an
  /// error with its line, since a trace that is silently another than meant judges nothing. An
  /// event may begin later than 0, so that a part of a trace is a trace.
  package static func parse(csv bytes: [UInt8], name: String) throws(TraceError) -> CaptureTrace {
    var reader = CSVReader(bytes)
    guard let header = try reader.next() else { throw .missingColumns(csvHeader, found: []) }
    guard header.fields == csvHeader else {
      let missing = csvHeader.filter { !header.fields.contains($0) }
      guard missing.isEmpty else { throw .missingColumns(missing, found: header.fields) }
      throw .malformed(
        line: 1, "expected the header \(csvHeader.joined(separator: ",")) and nothing else")
    }
    var captures: [Capture] = []
    while let record = try reader.next() {
      let capture = try Capture(record)
      if let last = captures.last, capture.offsetSeconds < last.offsetSeconds {
        throw .malformed(
          line: record.line,
          "the offset \(record.fields[0]) is less than the one before it; sort the rows by time")
      }
      captures.append(capture)
    }
    guard !captures.isEmpty else { throw .noCaptures("only the header is there") }
    return CaptureTrace(name: name, kind: .file, captures: captures)
  }

  /// This trace in the trace format. Whole seconds are written without a fraction.
  package func csv() -> String {
    var text = CaptureTrace.csvHeader.joined(separator: ",") + "\n"
    for capture in captures {
      text += Capture.written(seconds: capture.offsetSeconds)
      text += "," + Capture.quoted(capture.observer) + "," + Capture.quoted(capture.place) + "\n"
    }
    return text
  }
}

extension CaptureTrace.Capture {
  /// About 116 days: longer than any event, and far within what a `Duration` can hold.
  private static let maxOffsetSeconds = 10_000_000.0

  fileprivate init(_ record: CSVRecord) throws(TraceError) {
    guard record.fields.count == 3 else {
      let count = record.fields.count
      throw .malformed(
        line: record.line,
        "expected 3 fields (offset_s, observer, place), found \(count)")
    }
    let offset = record.fields[0]
    guard let seconds = Self.seconds(offset) else {
      throw .malformed(
        line: record.line,
        "the offset \"\(offset)\" is no number of seconds (like 75 or 75.5, at most 10000000)")
    }
    for (column, field) in zip(["observer", "place"], record.fields[1...]) where field.isEmpty {
      throw .malformed(line: record.line, "the \(column) is empty")
    }
    self.init(offsetSeconds: seconds, observer: record.fields[1], place: record.fields[2])
  }

  /// Digits with an optional fraction: no sign, no exponent, no spaces.
  private static func seconds(_ text: String) -> Double? {
    let parts = text.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    let areDigits = parts.allSatisfy { part in
      !part.isEmpty && part.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
    }
    guard (1...2).contains(parts.count), areDigits, text.utf8.count <= 24,
      let seconds = Double(text), seconds <= maxOffsetSeconds
    else { return nil }
    return seconds
  }

  fileprivate static func written(seconds: Double) -> String {
    let whole = Int64(seconds)
    return Double(whole) == seconds ? String(whole) : String(seconds)
  }

  fileprivate static func quoted(_ field: String) -> String {
    let needsQuotes = field.utf8.contains { byte in
      byte == UInt8(ascii: ",") || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\n")
        || byte == UInt8(ascii: "\r")
    }
    guard needsQuotes else { return field }
    return "\""
      + field.split(separator: "\"", omittingEmptySubsequences: false)
      .joined(separator: "\"\"") + "\""
  }
}
