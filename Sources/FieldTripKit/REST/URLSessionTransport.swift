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
    /// Not the session's own `async` call: when a task is cancelled just as its answer comes, that
    /// one waits for the session's queue while the queue waits for the task, for ever.
    private func answer(to request: URLRequest) async throws -> (Data, URLResponse) {
      let running = RunningRequest()
      return try await withTaskCancellationHandler {
        try await withCheckedThrowingContinuation { continuation in
          running.start(
            session.dataTask(with: request) { body, answer, error in
              guard let body, let answer else {
                return continuation.resume(throwing: error ?? URLError(.badServerResponse))
              }
              continuation.resume(returning: (body, answer))
            })
        }
      } onCancel: {
        DispatchQueue.global().async { running.cancel() }
      }
    }
  #else
    private func answer(to request: URLRequest) async throws -> (Data, URLResponse) {
      try await session.data(for: request)
    }
  #endif
}

#if canImport(FoundationNetworking)
  /// A request that may be cancelled before it has begun.
  private final class RunningRequest: Sendable {
    private struct State {
      var task: URLSessionDataTask?
      var isCancelled = false
    }

    private let state = Mutex(State())

    func start(_ task: URLSessionDataTask) {
      let isCancelled = state.withLock { state in
        state.task = task
        return state.isCancelled
      }
      task.resume()
      if isCancelled { task.cancel() }
    }

    func cancel() {
      let task = state.withLock { state in
        state.isCancelled = true
        return state.task
      }
      task?.cancel()
    }
  }
#endif
