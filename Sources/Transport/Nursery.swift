/// Owns tasks that are begun where nobody can wait for them, such as in a timer's callback.
///
/// ``run()`` holds them all: it returns when the nursery is closed and the last of them has ended,
/// and cancelling it cancels them. Used on one loop only.
///
/// `@unchecked Sendable` is right because every method checks, in debug builds, that it runs on the
/// loop's thread.
package final class Nursery: @unchecked Sendable {
  package typealias Work = @Sendable () async -> Void

  private let loop: EventLoop
  private var waiting: [Work] = []
  private var feeder: UnsafeContinuation<Void, Never>?
  private var isClosed = false

  package init(loop: EventLoop) { self.loop = loop }

  /// Begins `work` soon; after ``close()`` it is not begun at all.
  package func start(_ work: @escaping Work) {
    loop.preconditionOnLoop()
    guard !isClosed else { return }
    waiting.append(work)
    wakeFeeder()
  }

  /// Begins nothing more; what runs goes on.
  package func close() {
    loop.preconditionOnLoop()
    isClosed = true
    wakeFeeder()
  }

  /// Runs what is started, until closed. Call once, in a task that prefers the loop.
  package func run() async {
    await withDiscardingTaskGroup { group in
      while true {
        let begun = waiting
        waiting.removeAll(keepingCapacity: true)
        for work in begun { group.addTask { await work() } }
        if isClosed && waiting.isEmpty { return }
        if waiting.isEmpty {
          await withUnsafeContinuation { continuation in
            // Checked inside: other jobs may have run before this closure does.
            if waiting.isEmpty && !isClosed { feeder = continuation } else { continuation.resume() }
          }
        }
      }
    }
  }

  private func wakeFeeder() {
    let feeder = self.feeder
    self.feeder = nil
    feeder?.resume()
  }
}
