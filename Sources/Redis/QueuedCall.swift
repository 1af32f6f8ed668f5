internal import Clocks

/// A call that waits for something to become possible: room in a connection, or a connection.
///
/// It is resumed with nil when it may go on (and has to look again), or with why it may not.
struct QueuedCall {
  let continuation: UnsafeContinuation<RedisError?, Never>
  let deadline: Moment
}

extension FIFO<QueuedCall> {
  /// Fails the calls whose deadline has come, and returns the earliest deadline that is left.
  ///
  /// Looks at all of them, so its caller must not do so more often than every few milliseconds.
  mutating func failLate(at now: Moment, _ error: @autoclosure () -> RedisError) -> Moment {
    var earliest = Moment.distantFuture
    for _ in 0..<count {
      guard let call = popFirst() else { break }
      if call.deadline <= now {
        call.continuation.resume(returning: error())
      } else {
        earliest = Swift.min(earliest, call.deadline)
        append(call)
      }
    }
    return earliest
  }
}
