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
  /// The caller's trace, if it keeps one.
  var trace: TraceContext?
}

/// The triggers that wait for a broadcast, or that one carried: the first few and the last few, as
/// many as a person reads, and how many there were.
///
/// Bounded, since thousands may come between two broadcasts; and in one piece, so that a trip keeps
/// two blocks of memory for them and not one for each ID.
struct TriggerNotes: Sendable, Equatable {
  static let mostKept = 16
  private static let firstKept = 4

  /// A note without its ID.
  private struct Entry: Equatable {
    var idLength: Int
    var kind: String
    var acceptedAt: UnixTime
    var committedAt: UnixTime
    var revision: Revision
    var verdict: TriggerNote.Verdict
    var trace: TraceContext?
  }

  private var entries: [Entry] = []
  /// The entries' IDs, one behind the other.
  private var ids: [UInt8] = []
  /// Left out, behind the first few.
  private(set) var omitted = 0

  init() {}

  init(_ notes: [TriggerNote], omitted: Int) {
    for note in notes { append(note) }
    self.omitted = omitted
  }

  var isEmpty: Bool { entries.isEmpty }
  var count: Int { entries.count + omitted }
  /// How many were not left out.
  var kept: Int { entries.count }

  var notes: [TriggerNote] {
    var from = 0
    return entries.map { entry in
      defer { from += entry.idLength }
      return TriggerNote(
        id: String(decoding: ids[from..<from + entry.idLength], as: UTF8.self), kind: entry.kind,
        acceptedAt: entry.acceptedAt, committedAt: entry.committedAt, revision: entry.revision,
        verdict: entry.verdict, trace: entry.trace)
    }
  }

  mutating func add(_ note: TriggerNote) {
    makeRoom()
    append(note)
  }

  mutating func add(_ others: TriggerNotes) {
    var from = 0
    for entry in others.entries {
      makeRoom()
      entries.append(entry)
      ids += others.ids[from..<from + entry.idLength]
      from += entry.idLength
    }
    omitted += others.omitted
  }

  /// Takes out those that a state of this revision shows. What was left out belongs to them, unless
  /// even the first that is kept is newer.
  mutating func take(upTo revision: Revision) -> TriggerNotes {
    var shown = TriggerNotes()
    let count = entries.prefix { $0.revision <= revision }.count
    guard count > 0 else { return shown }
    let length = Self.idLength(of: entries[..<count])
    shown.entries = Array(entries[..<count])
    shown.ids = Array(ids[..<length])
    shown.omitted = omitted
    omitted = 0
    entries.removeFirst(count)
    ids.removeFirst(length)
    if entries.isEmpty { (entries, ids) = ([], []) }
    return shown
  }

  /// Like ``take(upTo:)``, and leaves them.
  func shown(by revision: Revision) -> TriggerNotes {
    var copy = self
    return copy.take(upTo: revision)
  }

  /// Leaves out the oldest behind the first few, if there are as many as may be kept.
  private mutating func makeRoom() {
    guard entries.count == Self.mostKept else { return }
    let from = Self.idLength(of: entries[..<Self.firstKept])
    let left = entries.remove(at: Self.firstKept)
    ids.removeSubrange(from..<from + left.idLength)
    omitted += 1
  }

  private static func idLength(of entries: ArraySlice<Entry>) -> Int {
    entries.reduce(0) { $0 + $1.idLength }
  }

  private mutating func append(_ note: TriggerNote) {
    entries.append(
      Entry(
        idLength: note.id.utf8.count, kind: note.kind, acceptedAt: note.acceptedAt,
        committedAt: note.committedAt, revision: note.revision, verdict: note.verdict,
        trace: note.trace))
    ids += note.id.utf8
  }
}
