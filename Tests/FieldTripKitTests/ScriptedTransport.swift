import FieldTripKit
import Foundation
import Synchronization

/// Answers requests from a list, and keeps what it was sent.
final class ScriptedTransport: FieldcastTransport {
  enum Answer: Sendable {
    case status(Int, String = "{}", [String: String] = [:])
    /// The request got there or not; there is no answer.
    case nothing
    /// Never, until the request is cancelled.
    case silence
  }

  private struct State {
    var answers: [Answer]
    var requests: [FieldcastRequest] = []
  }

  private let state: Mutex<State>

  /// - Parameter answers: in their order; when they run out, the last is given for ever.
  init(_ answers: Answer...) { state = Mutex(State(answers: answers)) }

  var requests: [FieldcastRequest] { state.withLock { $0.requests } }

  func send(_ request: FieldcastRequest) async throws -> FieldcastResponse {
    let answer = state.withLock { state in
      state.requests.append(request)
      return state.answers.count > 1 ? state.answers.removeFirst() : state.answers[0]
    }
    switch answer {
    case .status(let status, let body, let fields):
      return FieldcastResponse(status: status, fields: fields, body: Data(body.utf8))
    case .nothing: throw URLError(.networkConnectionLost)
    case .silence:
      try await Task.sleep(for: .seconds(600))
      throw URLError(.timedOut)
    }
  }
}

/// What was told to a closure, in its order.
final class Collected<Element: Sendable>: Sendable {
  private let elements = Mutex<[Element]>([])

  var all: [Element] { elements.withLock { $0 } }

  func add(_ element: Element) { elements.withLock { $0.append(element) } }
}

/// What was waited for, without waiting.
final class Pauses: Sendable {
  private let durations = Collected<Duration>()

  var all: [Duration] { durations.all }

  func add(_ duration: Duration) async throws {
    durations.add(duration)
    try Task.checkCancellation()
    await Task.yield()
  }
}

/// A problem document as the service writes it.
func problem(_ status: Int, _ kind: String) -> String {
  #"{"type":"urn:fieldcast:problem:\#(kind)","title":"t","status":\#(status),"detail":"d"}"#
}
