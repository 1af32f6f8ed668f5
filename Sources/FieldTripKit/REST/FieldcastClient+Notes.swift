internal import Foundation

extension FieldcastClient {
  /// Hands in one note. An app that may be without a network uses a ``CaptureQueue``.
  ///
  /// - Throws: also when the service refused the note.
  public func capture(_ note: CapturedNote, on trip: String) async throws(FieldcastError) {
    try await perform(notes(on: trip, try Self.body(note)))
  }

  /// Hands in several notes, in as many requests as they need.
  ///
  /// - Returns: what became of each; each is judged by itself.
  /// - Throws: when a request with some of them failed. What went before is in the service; to hand
  ///   in all of them again does no harm.
  public func capture(
    _ notes: [CapturedNote], on trip: String
  ) async throws(FieldcastError) -> [NotesReply.Note] {
    var results: [NotesReply.Note] = []
    for batch in try NoteBatch.batches(of: notes) {
      results += try await call(self.notes(on: trip, batch.body), reading: NotesReply.self).notes
    }
    return results
  }

  /// Says that the trip is in another phase.
  public func change(_ phase: PhaseChange, of trip: String) async throws(FieldcastError) {
    try await perform(notes(on: trip, try Self.body(phase)))
  }

  func capture(_ batch: NoteBatch, on trip: String) async throws(FieldcastError) -> NotesReply {
    try await call(notes(on: trip, batch.body), reading: NotesReply.self)
  }

  private func notes(on trip: String, _ body: Data) -> Call {
    Call(method: "POST", path: ["trips", trip, "notes"], body: body)
  }
}

/// As many notes as one request takes.
struct NoteBatch: Sendable {
  /// A body may have 65,536 bytes; some are left for what stands between the notes.
  static let mostBytes = 60_000
  static let mostNotes = 500

  private(set) var notes: [CapturedNote] = []
  private var written: [Data] = []
  private var size = 0

  var body: Data {
    var body = Data("[".utf8)
    for (index, note) in written.enumerated() {
      if index > 0 { body.append(UInt8(ascii: ",")) }
      body.append(note)
    }
    body.append(UInt8(ascii: "]"))
    return body
  }

  /// - Returns: whether the note fits; one alone always does.
  mutating func add(_ note: CapturedNote) throws(FieldcastError) -> Bool {
    let bytes = try FieldcastClient.body(note)
    let fits = notes.count < Self.mostNotes && size + bytes.count + 1 <= Self.mostBytes
    guard fits || notes.isEmpty else { return false }
    notes.append(note)
    written.append(bytes)
    size += bytes.count + 1
    return true
  }

  static func batches(of notes: [CapturedNote]) throws(FieldcastError) -> [NoteBatch] {
    var batches: [NoteBatch] = []
    var batch = NoteBatch()
    for note in notes where !(try batch.add(note)) {
      batches.append(batch)
      batch = NoteBatch()
      _ = try batch.add(note)
    }
    return batch.notes.isEmpty ? batches : batches + [batch]
  }
}
