internal import Synchronization

/// A line in which each waits for the one before it.
final class Lane: Sendable {
  private struct State {
    var nextPlace = 0
    /// Whose turn it is.
    var turn = 0
    var waiting: [Int: UnsafeContinuation<Bool, Never>] = [:]
    var isClosed = false
  }

  private let state = Mutex(State())

  /// Takes the last place. Whoever has one waits for its turn, and then leaves or closes the lane.
  func takePlace() -> Int {
    state.withLock { state in
      state.nextPlace += 1
      return state.nextPlace - 1
    }
  }

  /// - Returns: whether it is this place's turn now; false once the lane is closed.
  func turn(of place: Int) async -> Bool {
    await withUnsafeContinuation { continuation in
      let answer: Bool? = state.withLock { state in
        if state.isClosed { return false }
        if state.turn == place { return true }
        state.waiting[place] = continuation
        return nil
      }
      if let answer { continuation.resume(returning: answer) }
    }
  }

  /// The one whose turn it is has done its work.
  func leave() {
    let next = state.withLock { state in
      state.turn += 1
      return state.waiting.removeValue(forKey: state.turn)
    }
    next?.resume(returning: true)
  }

  /// The one whose turn it is cannot do its work, so nobody behind it may.
  func close() {
    let waiting = state.withLock { state in
      state.isClosed = true
      defer { state.waiting = [:] }
      return state.waiting.values
    }
    for continuation in waiting { continuation.resume(returning: false) }
  }
}
