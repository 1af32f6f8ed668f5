/// One row of a CSV table and the line on which it starts.
struct CSVRecord: Equatable {
  /// Counted from 1.
  var line: Int
  var fields: [String]
}

/// Splits a CSV table (RFC 4180, UTF-8) into records.
///
/// Lines end in LF or CRLF, a quoted field may hold commas, quotes written twice, and line ends. A
/// byte order mark and a missing last line end are accepted, since spreadsheets write both. Empty
/// lines are records with one empty field.
struct CSVReader {
  private let bytes: [UInt8]
  private var position = 0
  private var line = 1

  init(_ bytes: [UInt8]) {
    self.bytes = bytes
    if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { position = 3 }
  }

  /// The next record, or nil at the end of the table.
  mutating func next() throws(TraceError) -> CSVRecord? {
    guard position < bytes.count else { return nil }
    var record = CSVRecord(line: line, fields: [])
    while true {
      record.fields.append(try field())
      guard position < bytes.count else { return record }
      if bytes[position] == comma {
        position += 1
        continue
      }
      position += bytes[position] == carriageReturn ? 2 : 1
      line += 1
      return record
    }
  }

  /// Reads up to the comma or line end that closes the field.
  private mutating func field() throws(TraceError) -> String {
    guard position < bytes.count, bytes[position] == quote else { return try plainField() }
    let opened = line
    var text: [UInt8] = []
    position += 1
    while position < bytes.count {
      let byte = bytes[position]
      position += 1
      if byte == quote {
        guard position < bytes.count, bytes[position] == quote else {
          try expectFieldEnd()
          return try decoded(text, line: opened)
        }
        position += 1
      } else if byte == lineFeed {
        line += 1
      }
      text.append(byte)
    }
    throw .malformed(line: opened, "a quoted field opens here and is never closed")
  }

  private mutating func plainField() throws(TraceError) -> String {
    let start = position
    while position < bytes.count, !isFieldEnd(position) {
      if bytes[position] == quote {
        throw .malformed(
          line: line, "a quotation mark stands inside an unquoted field; quote the whole field")
      }
      position += 1
    }
    return try decoded(Array(bytes[start..<position]), line: line)
  }

  private func expectFieldEnd() throws(TraceError) {
    guard position < bytes.count, !isFieldEnd(position) else { return }
    throw .malformed(line: line, "text follows the closing quotation mark of a field")
  }

  private func isFieldEnd(_ index: Int) -> Bool {
    switch bytes[index] {
    case comma, lineFeed: true
    case carriageReturn: index + 1 < bytes.count && bytes[index + 1] == lineFeed
    default: false
    }
  }

  private func decoded(_ text: [UInt8], line: Int) throws(TraceError) -> String {
    guard let string = String(validating: text, as: UTF8.self) else {
      throw .malformed(line: line, "the text is not UTF-8")
    }
    return string
  }

  private var comma: UInt8 { UInt8(ascii: ",") }
  private var quote: UInt8 { UInt8(ascii: "\"") }
  private var lineFeed: UInt8 { UInt8(ascii: "\n") }
  private var carriageReturn: UInt8 { UInt8(ascii: "\r") }
}
