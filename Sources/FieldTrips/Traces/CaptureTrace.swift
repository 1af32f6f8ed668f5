/// The times at which a group in the field captured its notes, and where: what the demo, the load
/// harness and the policy's tests replay.
///
/// Holds no names and no coordinates: observers are numbered, places are coarse labels.
package struct CaptureTrace: Sendable, Equatable {
  /// Where a trace comes from. Whoever plays one says so, lest an invented day pass for a real one.
  package enum Kind: Sendable, Equatable {
    /// Read from a file in the trace format.
    case file
    /// Made by ``TraceGenerator`` from this seed.
    case generated(seed: UInt64)
    /// Taken from a person's own iNaturalist export.
    case iNaturalistExport

    /// What a person is told: whether this day happened.
    package var words: String {
      switch self {
      case .file: "read from a trace file"
      case .generated(let seed): "invented by the generator, seed \(seed)"
      case .iNaturalistExport: "from an iNaturalist export"
      }
    }
  }

  package struct Capture: Sendable, Equatable {
    /// Seconds since the first capture of the event; at least 0.
    package var offsetSeconds: Double
    /// `o1`, `o2`, … in order of first appearance. The same label in two traces means nothing.
    package var observer: String
    /// A coarse label, consistent within its trace.
    package var place: String

    package init(offsetSeconds: Double, observer: String, place: String) {
      self.offsetSeconds = offsetSeconds
      self.observer = observer
      self.place = place
    }
  }

  package var name: String
  package var kind: Kind
  /// In order of their offsets; those of one instant in file order.
  package var captures: [Capture]

  /// - Parameter captures: in order of their offsets.
  package init(name: String, kind: Kind = .file, captures: [Capture]) {
    precondition(
      zip(captures, captures.dropFirst()).allSatisfy { $0.offsetSeconds <= $1.offsetSeconds },
      "captures of a trace go up in time")
    self.name = name
    self.kind = kind
    self.captures = captures
  }

  /// Seconds from the first capture to the last; 0 when there are none.
  package var durationSeconds: Double {
    guard let first = captures.first, let last = captures.last else { return 0 }
    return last.offsetSeconds - first.offsetSeconds
  }
}
