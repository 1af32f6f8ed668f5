import Clocks
import HTTP
import Transport

/// Requests that wait for a connection.
extension ConnectionPool {
  struct Waiter {
    var continuation: UnsafeContinuation<ExchangeFailure?, Never>
    var timer: LoopTimer
  }

  func waitForRoom(until deadline: Moment) async -> ExchangeFailure? {
    if isClosed { return ExchangeFailure(.draining, "The client is being shut down.") }
    let id = nextID
    nextID += 1
    return await withTaskCancellationHandler {
      await withUnsafeContinuation { continuation in
        // Looked at here and not before, since all of a burst may come between there and here.
        if waiters.count >= configuration.maxWaiting {
          return continuation.resume(returning: tooMany)
        }
        let timer = loop.schedule(at: deadline) { self.assumeIsolated { $0.waitedTooLong(id) } }
        waiters.append(Waiter(continuation: continuation, timer: timer), id: id)
        // A connection may have come between the look and this.
        if isClosed || Task.isCancelled { cancelWait(id) } else { connectionsChanged() }
      }
    } onCancel: {
      loop.execute { self.assumeIsolated { $0.cancelWait(id) } }
    }
  }

  private var tooMany: ExchangeFailure {
    ExchangeFailure(
      .queueFull,
      "\(waiters.count) requests wait for a connection to \(host), which is the limit.")
  }

  private func waitedTooLong(_ id: Int) {
    let why = counters.connectProblem ?? counters.lastEnd ?? "none could be opened in time"
    endWait(id, ExchangeFailure(.deadline, "No connection to \(host): \(why)."))
  }

  private func cancelWait(_ id: Int) {
    endWait(id, ExchangeFailure(.cancelled, "The task that waited was cancelled."))
  }

  private func endWait(_ id: Int, _ failure: ExchangeFailure?) {
    if let waiter = waiters.remove(id: id) { end(waiter, failure) }
  }

  func end(_ waiter: Waiter, _ failure: ExchangeFailure?) {
    loop.cancel(waiter.timer)
    waiter.continuation.resume(returning: failure)
  }

  /// Lets as many go on as there is room for; they choose again.
  func wakeForRoom() {
    var room = connections.reduce(0) { $0 + ($1.isUsable ? max(0, $1.limit - $1.inFlight) : 0) }
    // Where no more may be opened, they queue up at the connections.
    if usableCount >= configuration.maxConnections { room = .max }
    while room > 0, let waiter = waiters.popFirst() {
      room -= 1
      end(waiter, nil)
    }
  }
}
