import Foundation
import Synchronization
import Testing
import Transport

@testable import FieldTripKit

/// A service that takes notes, keeps each ID once, and is not always there.
private final class NoteService: FieldcastTransport {
  struct State {
    var taken: [String] = []
    var requests = 0
    /// What the next requests get in place of an answer; taken notes are taken all the same.
    var losses = 0
    var isThere = true
    var refusals: [String: String] = [:]
    var status = 202
  }

  let state = Mutex(State())

  func send(_ request: FieldcastRequest) async throws -> FieldcastResponse {
    let notes = try FieldcastCoding.decode([CapturedNote].self, from: request.body ?? Data())
    return try state.withLock { state in
      state.requests += 1
      guard state.isThere else { throw URLError(.notConnectedToInternet) }
      guard state.status == 202 else {
        return FieldcastResponse(
          status: state.status, body: Data(problem(state.status, "ended-trip").utf8))
      }
      var written: [String] = []
      for note in notes {
        if let problem = state.refusals[note.id] {
          written.append(
            #"{"id":"\#(note.id)","status":"refused","problem":"\#(problem)","detail":"no"}"#)
          continue
        }
        let isNew = !state.taken.contains(note.id)
        if isNew { state.taken.append(note.id) }
        written.append(#"{"id":"\#(note.id)","status":"\#(isNew ? "accepted" : "duplicate")"}"#)
      }
      if state.losses > 0 {
        state.losses -= 1
        throw URLError(.networkConnectionLost)
      }
      let body = #"{"notes":[\#(written.joined(separator: ","))]}"#
      return FieldcastResponse(status: 207, body: Data(body.utf8))
    }
  }
}

@Suite final class `The capture queue` {
  private let folder: TemporaryFolder
  private let service = NoteService()
  private let refusals = Collected<CaptureQueue.Refused>()

  init() throws { folder = try TemporaryFolder(for: "captures") }

  deinit { folder.remove() }

  private var file: URL { URL(fileURLWithPath: folder.path + "/captures") }

  private func queue() throws -> CaptureQueue {
    let client = FieldcastClient(
      service: try #require(URL(string: "https://fieldcast.example.com")), transport: service,
      retries: .never)
    return try CaptureQueue(file: file, client: client, onRefusal: refusals.add)
  }

  @Test func `keeps captures until the network is back, in their order`() async throws {
    service.state.withLock { $0.isThere = false }
    let queue = try queue()
    for number in 1...5 { try await queue.capture(CapturedNote(id: "n\(number)"), on: "t") }
    guard case .waits(.unreachable) = await queue.flush() else {
      Issue.record("it says that it has sent them")
      return
    }
    #expect(await queue.count == 5)
    service.state.withLock { $0.isThere = true }
    #expect(await queue.flush() == .empty)
    #expect(await queue.count == 0)
    #expect(service.state.withLock { $0.taken } == ["n1", "n2", "n3", "n4", "n5"])
    // All of one trip go together.
    #expect(service.state.withLock { $0.requests } == 2)
  }

  @Test func `has them after the app was killed, and sends each with its own ID`() async throws {
    service.state.withLock { $0.losses = 1 }
    let first = try queue()
    let notes = (1...3).map { _ in CapturedNote(place: "Pond") }
    for note in notes { try await first.capture(note, on: "t") }
    // The service has taken them, and its answer was lost.
    guard case .waits = await first.flush() else {
      Issue.record("it says that it heard the answer")
      return
    }
    let second = try queue()
    #expect(await second.count == 3)
    #expect(await second.flush() == .empty)
    #expect(service.state.withLock { $0.taken } == notes.map(\.id))
    #expect(try await queue().count == 0)
  }

  @Test func `survives a line that was cut off`() async throws {
    let first = try queue()
    try await first.capture(CapturedNote(id: "whole"), on: "t")
    let handle = try FileHandle(forWritingTo: file)
    try handle.seekToEnd()
    try handle.write(contentsOf: Data(#"{"add":{"trip":"t","no"#.utf8))
    try handle.close()
    let second = try queue()
    try await second.capture(CapturedNote(id: "next"), on: "t")
    let third = try queue()
    #expect(await third.flush() == .empty)
    #expect(service.state.withLock { $0.taken } == ["whole", "next"])
  }

  @Test func `tells which captures the service will not take, and goes on`() async throws {
    service.state.withLock { $0.refusals = ["bad": "bad-value"] }
    let queue = try queue()
    for id in ["a", "bad", "b"] { try await queue.capture(CapturedNote(id: id), on: "t") }
    #expect(await queue.flush() == .empty)
    #expect(service.state.withLock { $0.taken } == ["a", "b"])
    #expect(refusals.all.map(\.note.id) == ["bad"])
    service.state.withLock { $0.status = 409 }
    try await queue.capture(CapturedNote(id: "late"), on: "t")
    #expect(await queue.flush() == .empty)
    #expect(refusals.all.last?.problem == "ended-trip")
    #expect(try await self.queue().count == 0)
  }

  @Test func `keeps what the service may take later`() async throws {
    service.state.withLock { $0.refusals = ["b": "backlog-full"] }
    let queue = try queue()
    for id in ["a", "b", "c"] { try await queue.capture(CapturedNote(id: id), on: "t") }
    guard case .waits = await queue.flush() else {
      Issue.record("it says that it has sent them all")
      return
    }
    #expect(await queue.count == 1)
    for status in [401, 403, 503] {
      service.state.withLock { $0.status = status }
      guard case .waits = await queue.flush() else {
        Issue.record("it gave up at \(status)")
        return
      }
    }
    service.state.withLock { state in
      state.status = 202
      state.refusals = [:]
    }
    #expect(await queue.flush() == .empty)
    #expect(service.state.withLock { $0.taken } == ["a", "c", "b"])
    #expect(refusals.all.isEmpty)
  }

  @Test func `sends as captures come, until it is told to stop`() async throws {
    let queue = try queue()
    let running = Task { await queue.run() }
    for number in 1...20 { try await queue.capture(CapturedNote(id: "n\(number)"), on: "t") }
    while await queue.count > 0 { try await Task.sleep(for: .milliseconds(2)) }
    running.cancel()
    await running.value
    #expect(service.state.withLock { $0.taken } == (1...20).map { "n\($0)" })
  }
}
