import Clocks
import Transport

/// The way of a request: a slot, perhaps the queue, a stream, an outcome.
extension HTTP2Client {
  // MARK: From request to stream

  func refusal(_ template: RequestTemplate, _ values: [String]) -> ExchangeFailure? {
    if let drainReason { return drainReason }
    guard template.accepts(values) else {
      return ExchangeFailure(
        .malformedRequest,
        "A value of \(template.volatileNames) has a character that may not travel, or one is missing."
      )
    }
    guard waiters.queuedCount < configuration.maxQueued || mayStart else {
      return ExchangeFailure(
        .queueFull, "\(waiters.queuedCount) requests wait for a stream already, which is the limit."
      )
    }
    return nil
  }

  private var mayStart: Bool { waiters.first == nil && waiters.inFlightCount < streamLimit }

  func start(
    _ index: Int, _ continuation: UnsafeContinuation<ExchangeOutcome, Never>
  ) {
    if case .decided(let outcome) = waiters.slots[index].completion {
      waiters.setCompletion(index, .none)
      waiters.free(index)
      session.discard(index)
      continuation.resume(returning: outcome)
      return
    }
    waiters.setCompletion(index, .task(continuation))
    if mayStart { submit(index) } else { waiters.enqueue(index) }
  }

  func start(_ batch: ExchangeBatch) {
    if let drainReason { batch.finishRest(.notSent(drainReason)) }
    if batch.isCancelled { batch.finishRest(.notSent(.cancelled)) }
    guard batch.hasItems else { return batch.resumeIfDone() }
    batches.append(batch)
    watchDeadline(batch.deadline)
    pump()
  }

  /// Gives free streams to those that wait longest, then to batches by turns.
  func pump() {
    while stream.isOpen, waiters.inFlightCount < streamLimit {
      if let index = waiters.first {
        waiters.dequeue(index)
        submit(index)
      } else if !submitFromBatch() {
        return
      }
    }
  }

  private func submitFromBatch() -> Bool {
    guard let batch = batches.popLast() else { return false }
    lastUsed = loop.now
    let item = batch.takeItem()
    if batch.hasItems { batches.insert(batch, at: 0) }
    guard batch.template.accepts(batch.items[item].values) else {
      batch.finish(item, .notSent(ExchangeFailure(.malformedRequest, "A value may not travel.")))
      return true
    }
    let index = session.prepare(
      batch.template, values: batch.items[item].values, body: batch.items[item].body)
    _ = waiters.reserve(index, deadline: batch.deadline)
    waiters.setCompletion(index, .batch(batch, item))
    submit(index)
    return true
  }

  private func submit(_ index: Int) {
    guard session.submit(index) else {
      let reason = ExchangeFailure(.draining, "This connection has no stream ID left.")
      finish(index, .notSent(reason))
      drain(reason, nil)
      refuseWaiting(.notSent(reason))
      return
    }
    waiters.began(index)
    stream.setNeedsFlush()
  }

  // MARK: From stream to outcome

  /// Ends a request that has no stream, or whose stream shall be reset.
  func finish(_ index: Int, _ outcome: ExchangeOutcome) {
    let completion = waiters.complete(index)
    switch waiters.phase(index) {
    case .free, .abandoned: return
    case .reserved:
      switch completion {
      case .none:
        // Its task does not wait yet, and will find this when it does.
        return waiters.setCompletion(index, .decided(outcome))
      case .decided: return waiters.setCompletion(index, completion)
      case .task, .batch:
        waiters.free(index)
        session.discard(index)
      }
    case .queued:
      waiters.dequeue(index)
      waiters.free(index)
      session.discard(index)
    case .inFlight:
      waiters.abandon(index)
      session.cancel(index)
      stream.setNeedsFlush()
    }
    resume(completion, outcome)
  }

  func resume(_ completion: ExchangeWaiters.Completion, _ outcome: ExchangeOutcome) {
    switch completion {
    case .none, .decided: break
    case .task(let continuation): continuation.resume(returning: outcome)
    case .batch(let batch, let item): batch.finish(item, outcome)
    }
  }

  func cancel(_ ticket: ExchangeWaiters.Ticket) {
    guard waiters.isCurrent(ticket) else { return }
    let isInFlight = waiters.phase(ticket.index) == .inFlight
    finish(ticket.index, isInFlight ? .unknown(.cancelled) : .notSent(.cancelled))
  }

  func cancel(_ batch: ExchangeBatch) {
    batch.isCancelled = true
    batches.removeAll { $0 === batch }
    batch.finishRest(.notSent(.cancelled))
    for index in waiters.slots.indices {
      guard case .batch(let owner, _) = waiters.slots[index].completion, owner === batch else {
        continue
      }
      finish(index, .unknown(.cancelled))
    }
  }

  /// Ends everything that has no stream.
  func refuseWaiting(_ outcome: ExchangeOutcome) {
    while let index = waiters.first { finish(index, outcome) }
    let waiting = batches
    batches = []
    for batch in waiting { batch.finishRest(outcome) }
  }
}
