#if canImport(FoundationNetworking)
  internal import Foundation
  public import FoundationNetworking
  internal import Synchronization
#else
  public import Foundation
#endif

/// Requests by `URLSession`, on Apple's systems and on Linux.
public struct URLSessionTransport: FieldcastTransport {
  private let session: URLSession

  public init(session: URLSession = URLSession(configuration: .ephemeral)) {
    self.session = session
  }

  public func send(_ request: FieldcastRequest) async throws -> FieldcastResponse {
    var wanted = URLRequest(
      url: request.url, cachePolicy: .reloadIgnoringLocalCacheData,
      timeoutInterval: request.timeout)
    wanted.httpMethod = request.method
    wanted.httpBody = request.body
    for (name, value) in request.fields { wanted.setValue(value, forHTTPHeaderField: name) }
    let (body, answer) = try await answer(to: wanted)
    guard let answer = answer as? HTTPURLResponse else { throw URLError(.badServerResponse) }
    var fields: [String: String] = [:]
    for (name, value) in answer.allHeaderFields {
      if let name = name as? String, let value = value as? String { fields[name] = value }
    }
    return FieldcastResponse(status: answer.statusCode, fields: fields, body: body)
  }

  #if canImport(FoundationNetworking)
    /// Not the session's own `async` call, and no cancelling of the session's task: where a cancel
    /// meets the answer, this library waits for itself for ever, or ends the program. So a cancelled
    /// call returns at once, and its request comes to its end by itself, at most by its timeout.
    private func answer(to request: URLRequest) async throws -> (Data, URLResponse) {
      let waiting = WaitingCall()
      return try await withTaskCancellationHandler {
        try await withCheckedThrowingContinuation { continuation in
          guard waiting.begin(continuation) else { return }
          session.dataTask(with: request) { body, answer, error in
            guard let body, let answer else {
              return waiting.end(.failure(error ?? URLError(.badServerResponse)))
            }
            waiting.end(.success((body, answer)))
          }.resume()
        }
      } onCancel: {
        waiting.end(.failure(URLError(.cancelled)))
      }
    }
  #else
    private func answer(to request: URLRequest) async throws -> (Data, URLResponse) {
      try await session.data(for: request)
    }
  #endif
}

#if canImport(FoundationNetworking)
  /// A call that waits for its answer or for being cancelled, whichever comes first.
  private final class WaitingCall: Sendable {
    typealias Answer = (Data, URLResponse)

    private struct State {
      var continuation: CheckedContinuation<Answer, any Error>?
      /// Cancelled before it began.
      var isCancelled = false
    }

    private let state = Mutex(State())

    /// - Returns: false when it was cancelled before, and has ended.
    func begin(_ continuation: CheckedContinuation<Answer, any Error>) -> Bool {
      let isCancelled = state.withLock { state in
        if !state.isCancelled { state.continuation = continuation }
        return state.isCancelled
      }
      if isCancelled { continuation.resume(throwing: URLError(.cancelled)) }
      return !isCancelled
    }

    func end(_ result: Result<Answer, any Error>) {
      let continuation = state.withLock { state in
        if state.continuation == nil { state.isCancelled = true }
        return state.continuation.take()
      }
      continuation?.resume(with: result)
    }
  }
#endif
