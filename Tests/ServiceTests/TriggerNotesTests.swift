import Clocks
import FieldTrips
import Randomness
import Testing

@testable import FieldcastServer

@Suite struct `The triggers that wait for a broadcast` {
  @Test func `are the first few, the last few, and a count of those between`() {
    var notes = TriggerNotes()
    for number in 1...100 { notes.add(note("note-\(number)", revision: number)) }
    let expected = (1...4).map { "note-\($0)" } + (89...100).map { "note-\($0)" }
    #expect(notes.notes.map(\.id) == expected)
    #expect(notes.omitted == 84)
    #expect(notes.count == 100)
  }

  @Test(arguments: UInt64(1)...20)
  func `are what a plain list of notes would be`(seed: UInt64) {
    var random = SplitMix64(seed: seed)
    var notes = TriggerNotes()
    var plain: (kept: [TriggerNote], omitted: Int) = ([], 0)
    func addPlainly(_ note: TriggerNote) {
      if plain.kept.count == TriggerNotes.mostKept {
        plain.kept.remove(at: 4)
        plain.omitted += 1
      }
      plain.kept.append(note)
    }
    var revision = 0
    for step in 0..<300 {
      switch random.below(8) {
      case 0:
        let limit = max(0, revision - random.below(12))
        let shown = plain.kept.filter { $0.revision.number <= limit }
        let expected =
          shown.isEmpty ? TriggerNotes() : TriggerNotes(shown, omitted: plain.omitted)
        #expect(notes.shown(by: Revision(Int64(limit))) == expected)
        #expect(notes.take(upTo: Revision(Int64(limit))) == expected)
        plain.kept.removeFirst(shown.count)
        if !shown.isEmpty { plain.omitted = 0 }
      case 1:
        var others = TriggerNotes()
        for part in 0..<random.below(24) {
          revision += random.below(2)
          others.add(note("\(step).\(part)", revision: revision))
        }
        notes.add(others)
        for note in others.notes { addPlainly(note) }
        plain.omitted += others.omitted
      default:
        revision += random.below(2)
        let id = String(repeating: "né", count: random.below(40)) + "\(step)"
        notes.add(note(id, revision: revision))
        addPlainly(note(id, revision: revision))
      }
      #expect(notes.notes == plain.kept)
      #expect(notes.omitted == plain.omitted)
    }
  }

  @Test func `keep their callers' traces in the store`() {
    var notes = TriggerNotes()
    notes.add(note("plain", revision: 1))
    var traced = note("traced", revision: 2)
    traced.trace = TraceContext(
      traceparent: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")
    #expect(traced.trace != nil)
    notes.add(traced)
    #expect(TriggerNotes(stored: notes.stored()) == notes)
  }

  private func note(_ id: String, revision: Int) -> TriggerNote {
    TriggerNote(
      id: id, kind: "note", acceptedAt: UnixTime(milliseconds: 1_000),
      committedAt: UnixTime(milliseconds: 1_002), revision: Revision(Int64(revision)),
      verdict: .changed)
  }
}
