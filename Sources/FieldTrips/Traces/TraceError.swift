/// Why a table is no trace, for the person who gave it to us.
package enum TraceError: Error, Sendable, Equatable, CustomStringConvertible {
  /// Something is wrong on this line, counted from 1.
  case malformed(line: Int, String)
  /// The header lacks columns that we need.
  case missingColumns([String], found: [String])
  /// The table has a header and nothing that could be replayed.
  case noCaptures(String)

  package var description: String {
    switch self {
    case .malformed(let line, let what):
      return "Line \(line): \(what)."
    case .missingColumns(let missing, let found):
      let lacks = missing.count == 1 ? "column is" : "columns are"
      return "Line 1: the \(lacks) missing: \(missing.joined(separator: ", ")). "
        + "Found: \(found.isEmpty ? "none" : found.joined(separator: ", "))."
    case .noCaptures(let why):
      return "There is no capture to replay: \(why)."
    }
  }
}
