internal import Synchronization

/// Lets a command wait until it is told to stop; told twice is told once.
final class StopSignal: Sendable {
  private enum State {
    case quiet
    case waiting(CheckedContinuation<Void, Never>)
    case fired
  }

  private let state = Mutex(State.quiet)

  var hasFired: Bool {
    state.withLock { if case .fired = $0 { true } else { false } }
  }

  func fire() {
    let waiter: CheckedContinuation<Void, Never>? = state.withLock { state in
      defer { state = .fired }
      if case .waiting(let waiter) = state { return waiter }
      return nil
    }
    waiter?.resume()
  }

  /// One task may wait.
  func wait() async {
    await withCheckedContinuation { continuation in
      let hasFired = state.withLock { state in
        if case .fired = state { return true }
        state = .waiting(continuation)
        return false
      }
      if hasFired { continuation.resume() }
    }
  }
}
