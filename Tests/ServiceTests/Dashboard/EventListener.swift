import Foundation
import HTTP
import JSON
import Synchronization
import Testing
import Transport

/// Listens to a service's `/v1/events` and keeps the last event of each name.
final class EventListener: Sendable {
  struct Event: Sendable {
    let name: String
    let data: JSONValue
  }

  private struct State {
    var rest = ""
    var events: [Event] = []
    var response: HTTPResponse?
    var isOver = false
  }

  private let state = Mutex(State())
  private let client: HTTP1Client
  private let loop: EventLoop

  private init(_ client: HTTP1Client, _ loop: EventLoop) {
    self.client = client
    self.loop = loop
  }

  /// Listens while `body` runs.
  static func listen(
    to caller: TestCaller, _ query: String, fields: HTTPFields = [:], on loop: EventLoop,
    _ body: (EventListener) async throws -> Void
  ) async throws {
    let listener = EventListener(HTTP1Client(endpoint: caller.endpoint, loop: loop), loop)
    let request = HTTPRequest(method: "GET", path: "/v1/events?" + query, fields: fields)
    let listening = Task {
      let outcome = await listener.client.receive(request, deadline: .seconds(100)) {
        listener.take($0)
      }
      listener.state.withLock {
        $0.response = outcome.response
        $0.isOver = true
      }
    }
    do { try await body(listener) } catch {
      listening.cancel()
      await listening.value
      throw error
    }
    listening.cancel()
    await listening.value
    await listener.client.close()
  }

  private func take(_ bytes: [UInt8]) {
    state.withLock { state in
      state.rest += String(decoding: bytes, as: UTF8.self)
      while let end = state.rest.firstRange(of: "\n\n") {
        var (name, data) = ("message", "")
        for line in state.rest[..<end.lowerBound].split(separator: "\n") {
          if line.hasPrefix("event: ") { name = String(line.dropFirst(7)) }
          if line.hasPrefix("data: ") { data += line.dropFirst(6) }
        }
        if !data.isEmpty {
          let value = (try? JSONValue.parse(Array(data.utf8))) ?? .null
          state.events.append(Event(name: name, data: value))
        }
        state.rest.removeSubrange(..<end.upperBound)
      }
    }
  }

  var events: [Event] { state.withLock { $0.events } }
  var isOver: Bool { state.withLock { $0.isOver } }
  /// When the reply is over.
  var response: HTTPResponse? { state.withLock { $0.response } }

  /// Waits for an event of this name of which something is true.
  @discardableResult
  func event(
    _ name: String, _ what: String = "it came", sourceLocation: SourceLocation = #_sourceLocation,
    _ isRight: (JSONValue) -> Bool = { _ in true }
  ) async throws -> JSONValue {
    for _ in 0..<3_000 {
      if let event = events.last(where: { $0.name == name }), isRight(event.data) {
        return event.data
      }
      try await loop.sleep(for: .milliseconds(10))
    }
    Issue.record(
      "no event \(name) of which it is true that \(what); the last: \(events.suffix(4))",
      sourceLocation: sourceLocation)
    return .null
  }

  func waitUntilOver() async throws {
    for _ in 0..<3_000 where !isOver { try await loop.sleep(for: .milliseconds(10)) }
    #expect(isOver, "the reply goes on")
  }
}
