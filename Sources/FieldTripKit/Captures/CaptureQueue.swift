public import Foundation

/// Captures that the service does not have yet: kept in a file until it has them.
///
/// A capture is in the file before ``capture(_:on:)`` returns, and leaves it when the service has
/// said that it has it, or that it never will. It carries the ID that it was made with, so it counts
/// once however often it is sent: after a crash, a lost answer, or from two phones' backups.
public actor CaptureQueue {
  /// A capture that the service will not take.
  public struct Refused: Error, Hashable, Sendable {
    public let trip: String
    public let note: CapturedNote
    /// The kind of problem, such as `ended-trip`.
    public let problem: String
    /// A sentence for whoever has to do with it.
    public let detail: String
  }

  /// How a round of sending ended.
  public enum Outcome: Hashable, Sendable {
    /// Nothing waits.
    case empty
    /// Some wait, and may go later.
    case waits(FieldcastError)
    /// Another round is under way, and sends what this one would have sent.
    case underWay
  }

  private let client: FieldcastClient
  private let onRefusal: @Sendable (Refused) -> Void
  private var file: CaptureFile
  private var isSending = false
  private let news = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))

  /// - Parameters:
  ///   - file: of its own, in a folder that is there and that the system does not clean up.
  ///   - onRefusal: is told of each capture that was given up, so that none disappears silently.
  /// - Throws: when the file cannot be read or written.
  public init(
    file: URL, client: FieldcastClient, onRefusal: @escaping @Sendable (Refused) -> Void
  ) throws {
    self.client = client
    self.onRefusal = onRefusal
    self.file = try CaptureFile(url: file)
  }

  /// How many captures wait.
  public var count: Int { file.waiting.count }

  /// Keeps a capture and returns; ``run()`` or ``flush()`` sends it.
  ///
  /// - Throws: when it could not be written to the file; then it is not in the queue.
  public func capture(_ note: CapturedNote, on trip: String) throws {
    try file.add(CaptureFile.Waiting(trip: trip, note: note))
    news.continuation.yield()
  }

  /// Sends what waits now, in its order. An app calls it when it comes to the foreground, or when the
  /// network is back.
  @discardableResult
  public func flush() async -> Outcome {
    guard !isSending else { return .underWay }
    isSending = true
    defer { isSending = false }
    while let first = file.waiting.first {
      do throws(FieldcastError) {
        try await send(firstOf: first.trip)
      } catch {
        return .waits(error)
      }
    }
    return .empty
  }

  /// Sends captures as they come, and those that wait again and again, until its task is cancelled.
  public func run() async {
    var pause = Duration.seconds(1)
    var iterator = news.stream.makeAsyncIterator()
    while !Task.isCancelled {
      switch await flush() {
      case .empty:
        pause = .seconds(1)
        guard await iterator.next() != nil else { return }
      case .waits(let error):
        let wanted = max(pause, error.retryAfter ?? .zero)
        guard (try? await Task.sleep(for: wanted)) != nil else { return }
        pause = min(pause * 2, .seconds(120))
      case .underWay:
        guard (try? await Task.sleep(for: .seconds(1))) != nil else { return }
      }
    }
  }

  /// Sends the next captures, as many of one trip as go together.
  private func send(firstOf trip: String) async throws(FieldcastError) {
    let captures = Array(file.waiting.prefix { $0.trip == trip })
    var batch = NoteBatch()
    for capture in captures where !(try batch.add(capture.note)) { break }
    let sent = Array(captures.prefix(batch.notes.count))
    do throws(FieldcastError) {
      try take(try await client.capture(batch, on: trip), to: sent)
    } catch {
      guard case .refused(let problem, _) = error, !error.isWorthRepeating else { throw error }
      try giveUp(sent, problem.kind, problem.detail)
    }
  }

  private func take(
    _ reply: NotesReply, to sent: [CaptureFile.Waiting]
  ) throws(FieldcastError) {
    guard reply.notes.count == sent.count else {
      throw .unreadable(
        status: 202, "It speaks of \(reply.notes.count) notes, and \(sent.count) were sent.")
    }
    var waits: NotesReply.Note?
    for (note, capture) in zip(reply.notes, sent) {
      if note.isWorthRepeating {
        waits = note
      } else if note.status == .refused {
        try giveUp(
          [capture], note.problem ?? "unknown", note.detail ?? "The service gave no reason.")
      } else {
        try forget([capture])
      }
    }
    if let waits { throw .unreachable(waits.detail ?? "Some notes were not taken in yet.") }
  }

  private func giveUp(
    _ captures: [CaptureFile.Waiting], _ problem: String, _ detail: String
  ) throws(FieldcastError) {
    try forget(captures)
    for capture in captures {
      onRefusal(
        Refused(trip: capture.trip, note: capture.note, problem: problem, detail: detail))
    }
  }

  private func forget(_ captures: [CaptureFile.Waiting]) throws(FieldcastError) {
    do { try file.remove(captures) } catch { throw .unsendable("\(error)") }
  }
}
