package import Clocks

extension EventLoop {
  /// Waits until the loop's clock reads `moment`; may be called on any thread.
  ///
  /// - Throws: `CancellationError` as soon as the task is cancelled.
  package nonisolated(nonsending) func sleep(until moment: Moment) async throws(CancellationError) {
    let sleeper = Sleeper(loop: self)
    let finished = await withTaskCancellationHandler {
      await withUnsafeContinuation { continuation in
        sleeper.start(until: moment, continuation)
      }
    } onCancel: {
      sleeper.finish(asDue: false)
    }
    if !finished { throw CancellationError() }
  }

  /// Waits for a span of real time.
  package nonisolated(nonsending) func sleep(for span: Duration) async throws(CancellationError) {
    try await sleep(until: clockReading + span)
  }
}

/// One wait, which ends once: by its timer or by cancellation, whichever comes first.
private final class Sleeper: Sendable {
  private enum State {
    case idle
    case waiting(UnsafeContinuation<Bool, Never>)
    case finished(asDue: Bool)
  }

  private let loop: EventLoop
  private let state = Lock(State.idle)

  init(loop: EventLoop) { self.loop = loop }

  func start(until moment: Moment, _ continuation: UnsafeContinuation<Bool, Never>) {
    let already: Bool? = state.withLock { state in
      if case .finished(let asDue) = state { return asDue }
      state = .waiting(continuation)
      return nil
    }
    if let already {
      continuation.resume(returning: already)
      return
    }
    if loop.isOnLoop { arm(at: moment) } else { loop.execute { self.arm(at: moment) } }
  }

  func finish(asDue: Bool) {
    let waiting: UnsafeContinuation<Bool, Never>? = state.withLock { state in
      defer { if case .finished = state {} else { state = .finished(asDue: asDue) } }
      if case .waiting(let continuation) = state { return continuation }
      return nil
    }
    waiting?.resume(returning: asDue)
  }

  private func arm(at moment: Moment) {
    // A cancelled sleep leaves its timer behind; it then finds nothing to do.
    _ = loop.schedule(at: moment) { self.finish(asDue: true) }
  }
}
