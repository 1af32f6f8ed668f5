internal import Clocks
internal import FieldTrips

/// What became of a trigger at the mapper, for people who ask.
struct TriggerNote: Sendable, Equatable {
  enum Verdict: String, Sendable {
    /// It made ``TriggerNote/revision``.
    case changed
    /// The card shows the same as before: it came late, or says nothing new.
    case unchanged
    /// The card cannot show it; it is among the dead letters.
    case refused
  }

  var id: String
  var kind: String
  var acceptedAt: UnixTime
  /// When its effect was stored; later than `acceptedAt` by more than a moment when no node worked
  /// the log off.
  var committedAt: UnixTime
  /// The trip's after it.
  var revision: Revision
  var verdict: Verdict
}

/// The triggers that wait for a broadcast, or that one carried: the first few and the last few, as
/// many as a person reads, and how many there were.
///
/// Bounded, since thousands may come between two broadcasts.
struct TriggerNotes: Sendable, Equatable {
  static let mostKept = 16
  private static let firstKept = 4

  private(set) var notes: [TriggerNote] = []
  /// Left out, behind the first few.
  private(set) var omitted = 0

  init() {}

  init(_ notes: [TriggerNote], omitted: Int) {
    self.notes = notes
    self.omitted = omitted
  }

  var isEmpty: Bool { notes.isEmpty }
  var count: Int { notes.count + omitted }

  mutating func add(_ note: TriggerNote) {
    if notes.count == Self.mostKept {
      notes.remove(at: Self.firstKept)
      omitted += 1
    }
    notes.append(note)
  }

  mutating func add(_ others: TriggerNotes) {
    for note in others.notes { add(note) }
    omitted += others.omitted
  }

  /// Takes out those that a state of this revision shows. What was left out belongs to them, unless
  /// even the first that is kept is newer.
  mutating func take(upTo revision: Revision) -> TriggerNotes {
    let shown = notes.filter { $0.revision <= revision }
    guard !shown.isEmpty else { return TriggerNotes() }
    let taken = TriggerNotes(shown, omitted: omitted)
    notes.removeFirst(shown.count)
    omitted = 0
    return taken
  }

  /// Like ``take(upTo:)``, and leaves them.
  func shown(by revision: Revision) -> TriggerNotes {
    var copy = self
    return copy.take(upTo: revision)
  }
}
