import Foundation

/// Captures that wait, in a file: a line of JSON for each, and one for each that is done.
///
/// What was added before a crash is there after it; a last line that was not finished is passed over.
struct CaptureFile {
  struct Waiting: Codable, Hashable, Sendable {
    let trip: String
    let note: CapturedNote
  }

  private struct Line: Codable {
    var add: Waiting?
    /// The ID of a note that is no longer to be sent, and its trip's.
    var done: String?
    var trip: String?
  }

  /// In the order in which they were captured.
  private(set) var waiting: [Waiting] = []
  private let url: URL
  private var doneLines = 0

  /// - Throws: when the file is there and cannot be read, or the folder cannot be written to.
  init(url: URL) throws {
    self.url = url
    guard FileManager.default.fileExists(atPath: url.path) else {
      try Data().write(to: url)
      return
    }
    for line in try Data(contentsOf: url).split(separator: UInt8(ascii: "\n")) {
      // Only the last one can be cut off, by a crash while it was written.
      guard let line = try? FieldcastCoding.decode(Line.self, from: line) else { continue }
      if let added = line.add { waiting.append(added) }
      if let done = line.done {
        waiting.removeAll { $0.note.id == done && $0.trip == line.trip }
      }
    }
    // So that what is added next does not continue a line that was cut off.
    try rewrite()
  }

  mutating func add(_ capture: Waiting) throws {
    try append([Line(add: capture)])
    waiting.append(capture)
  }

  mutating func remove(_ captures: [Waiting]) throws {
    guard !captures.isEmpty else { return }
    let gone = Set(captures.map { [$0.trip, $0.note.id] })
    waiting.removeAll { gone.contains([$0.trip, $0.note.id]) }
    doneLines += captures.count
    if waiting.isEmpty || doneLines > 1_000 {
      try rewrite()
    } else {
      try append(captures.map { Line(done: $0.note.id, trip: $0.trip) })
    }
  }

  private func append(_ lines: [Line]) throws {
    let handle = try FileHandle(forWritingTo: url)
    defer { try? handle.close() }
    try handle.seekToEnd()
    try handle.write(contentsOf: try Self.written(lines))
    try handle.synchronize()
  }

  private mutating func rewrite() throws {
    try Self.written(waiting.map { Line(add: $0) }).write(to: url, options: .atomic)
    doneLines = 0
  }

  private static func written(_ lines: [Line]) throws -> Data {
    try lines.reduce(into: Data()) { data, line in
      data.append(try FieldcastCoding.encode(line))
      data.append(UInt8(ascii: "\n"))
    }
  }
}
