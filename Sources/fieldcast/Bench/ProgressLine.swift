internal import Synchronization

/// Says on the standard error stream how far long work has come, if a person watches.
final class ProgressLine: Sendable {
  private let what: String
  private let count: Int
  private let done = Mutex(0)

  init(_ what: String, of count: Int) {
    self.what = what
    self.count = count
    show(0)
  }

  func step() {
    show(
      done.withLock {
        $0 += 1
        return $0
      })
  }

  /// Takes the line away.
  func finish() {
    if Terminal.errors.isTerminal { Terminal.errors.write("\r\u{1B}[K") }
  }

  func show(_ done: Int) {
    guard Terminal.errors.isTerminal else { return }
    Terminal.errors.write("\r\(what) \(done) of \(count)\u{1B}[K")
  }
}
