internal import Redis

/// The place of an entry in a partition's log: unix milliseconds of the server, and a count.
package struct LogID: Hashable, Comparable, Sendable, CustomStringConvertible {
  package let milliseconds: UInt64
  package let sequence: UInt64

  package init(milliseconds: UInt64, sequence: UInt64) {
    self.milliseconds = milliseconds
    self.sequence = sequence
  }

  /// Before every entry.
  package static let start = LogID(milliseconds: 0, sequence: 0)

  /// Reads `1526919030474-55`.
  init?(ascii bytes: [UInt8]) {
    guard let id = StreamID(ascii: bytes) else { return nil }
    self.init(id)
  }

  package var description: String { "\(milliseconds)-\(sequence)" }

  package static func < (left: LogID, right: LogID) -> Bool {
    (left.milliseconds, left.sequence) < (right.milliseconds, right.sequence)
  }
}

extension LogID {
  init(_ id: StreamID) { self.init(milliseconds: id.milliseconds, sequence: id.sequence) }

  var streamID: StreamID { StreamID(milliseconds: milliseconds, sequence: sequence) }
}
