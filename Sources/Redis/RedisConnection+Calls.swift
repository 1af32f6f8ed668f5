package import Clocks

/// Calls from any thread, and the line of those that wait for room.
///
/// The methods run where their caller runs and enter the connection once, inside the closure that
/// makes the continuation: nothing can come between a check and its deed there, and a caller on the
/// connection's own loop changes no executor at all, which would cost more than the rest of a call.
extension RedisConnection {
  /// What waits for room, whole, so that it can go as soon as there is some.
  struct Submission: Sendable {
    enum Content: Sendable {
      case command(RedisCommand, inFull: Bool)
      case batch(RedisBatch)
      case selection(RedisBatchSelection)
    }

    let entry: Pending
    let content: Content

    func write(to writer: inout RESPWriter) {
      switch content {
      case .command(let command, let inFull): command.write(to: &writer, inFull: inFull)
      case .batch(let batch): batch.write(to: &writer)
      case .selection(let selection): selection.write(to: &writer)
      }
    }
  }

  /// Sends a command and waits for its reply.
  ///
  /// - Parameter end: when to give up; the connection then ends.
  /// - Throws: also ``RedisError/refused(_:)``, for an error reply.
  package nonisolated(nonsending) func call(
    _ command: RedisCommand, before end: Moment
  ) async throws(RedisError) -> RESPValue {
    try await reply(to: command, before: end).get()
  }

  /// Like ``call(_:before:)``, with every outcome a value.
  ///
  /// - Parameter inFull: sends a script's source in place of its digest.
  nonisolated(nonsending) func reply(
    to command: RedisCommand, inFull: Bool = false, before end: Moment
  ) async -> RedisReply {
    await withUnsafeContinuation { continuation in
      let entry = Pending(waiter: .one(continuation), count: 1, deadline: end)
      submit(Submission(entry: entry, content: .command(command, inFull: inFull)))
    }
  }

  /// Sends all commands of a batch in one go and waits for all replies, in order.
  ///
  /// Throws nothing: each command has its own outcome.
  package nonisolated(nonsending) func callAll(
    _ batch: RedisBatch, before end: Moment
  ) async -> [RedisReply] {
    await replies(to: .batch(batch), count: batch.count, before: end)
  }

  nonisolated(nonsending) func callAll(
    _ selection: RedisBatchSelection, before end: Moment
  ) async -> [RedisReply] {
    await replies(to: .selection(selection), count: selection.replyCount, before: end)
  }

  private nonisolated(nonsending) func replies(
    to content: Submission.Content, count: Int, before end: Moment
  ) async -> [RedisReply] {
    if count == 0 { return [] }
    return await withUnsafeContinuation { continuation in
      let entry = Pending(waiter: .all(continuation), count: count, deadline: end)
      submit(Submission(entry: entry, content: content))
    }
  }

  private nonisolated func submit(_ submission: Submission) {
    if loop.isOnLoop {
      assumeIsolated { $0.take(submission) }
    } else {
      loop.execute { self.assumeIsolated { $0.take(submission) } }
    }
  }

  private func take(_ submission: Submission) {
    switch phase {
    case .open: break
    case .closing: return Self.fail(submission.entry, [], .notSent(closing))
    case .closed(let failure): return Self.fail(submission.entry, [], .notSent(failure))
    }
    if queued.isEmpty, !isFull {
      send(submission.entry) { submission.write(to: &$0) }
    } else if queued.count < configuration.maxWaiting {
      queued.append(submission)
      let deadline = submission.entry.deadline
      if deadline < deadlineTimerMoment { armDeadline(at: deadline) }
    } else {
      Self.fail(submission.entry, [], .notSent(queueFull))
    }
  }

  /// Sends what waits, as far as there is room.
  func admitQueued() {
    while !isFull, let waiting = queued.popFirst() {
      send(waiting.entry) { waiting.write(to: &$0) }
    }
  }

  private var queueFull: RedisFailure {
    RedisFailure(
      .queueFull,
      "\(queued.count) calls wait for room on the connection to Redis at "
        + "\(configuration.address) already, which is the limit.")
  }
}
