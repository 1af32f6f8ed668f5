internal import Synchronization

/// A number that several tasks count up.
final class Counter: Sendable {
  private let value: Mutex<Int>

  init(_ start: Int = 0) { value = Mutex(start) }

  /// Counts, and tells the new number.
  func next() -> Int {
    value.withLock {
      $0 += 1
      return $0
    }
  }

  var present: Int { value.withLock { $0 } }
}
