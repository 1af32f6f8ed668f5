import Clocks
import Transport

/// The way of a request: a slot, perhaps the queue, a stream, an outcome.
extension HTTP2Client {
  // MARK: From request to stream

  func begin(
    _ ticket: UInt64, _ template: RequestTemplate, _ values: [String], _ body: [UInt8],
    _ deadline: Duration, _ continuation: UnsafeContinuation<ExchangeOutcome, Never>
  ) {
    if let refusal { return continuation.resume(returning: .notSent(refusal)) }
    lastUsed = loop.now
    let index = session.prepare(template, values: values, body: body)
    let moment = lastUsed + deadline
    waiters.value.reserve(index, deadline: moment, ticket: ticket, .task(continuation))
    watchDeadline(moment)
    if mayStart { submit(index) } else { waiters.value.enqueue(index) }
  }

  private var refusal: ExchangeFailure? {
    if let drainReason { return drainReason }
    let waiting = waiters.value.queuedCount
    if waiting < configuration.maxQueued || mayStart { return nil }
    return ExchangeFailure(
      .queueFull, "\(waiting) requests wait for a stream already, which is the limit.")
  }

  private var mayStart: Bool {
    waiters.value.first == nil && waiters.value.inFlightCount < streamLimit
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
    while stream.isOpen, waiters.value.inFlightCount < streamLimit {
      if let index = waiters.value.first {
        waiters.value.dequeue(index)
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
      batch.finish(item, .notSent(.unfitValues(batch.template)))
      return true
    }
    let index = session.prepare(
      batch.template, values: batch.items[item].values, body: batch.items[item].body)
    waiters.value.reserve(index, deadline: batch.deadline, ticket: 0, .batch(batch, item))
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
    if waiters.value.inFlightCount == 0 { becameBusy() }
    waiters.value.began(index)
    stream.setNeedsFlush()
  }

  // MARK: From stream to outcome

  /// Ends a request that has no stream, or whose stream shall be reset.
  func finish(_ index: Int, _ outcome: ExchangeOutcome) {
    let completion = waiters.value.complete(index)
    switch waiters.value.phase(index) {
    case .free, .abandoned: return
    case .reserved:
      waiters.value.free(index)
      session.discard(index)
    case .queued:
      waiters.value.dequeue(index)
      waiters.value.free(index)
      session.discard(index)
    case .inFlight:
      waiters.value.abandon(index)
      session.cancel(index)
      stream.setNeedsFlush()
    }
    resume(completion, outcome)
  }

  func resume(_ completion: ExchangeWaiters.Completion, _ outcome: ExchangeOutcome) {
    switch completion {
    case .none: break
    case .task(let continuation): continuation.resume(returning: outcome)
    case .batch(let batch, let item): batch.finish(item, outcome)
    }
  }

  func cancel(_ ticket: UInt64) {
    guard let index = waiters.value.index(of: ticket) else { return }
    let isInFlight = waiters.value.phase(index) == .inFlight
    finish(index, isInFlight ? .unknown(.cancelled) : .notSent(.cancelled))
  }

  func cancel(_ batch: ExchangeBatch) {
    batch.isCancelled = true
    batches.removeAll { $0 === batch }
    batch.finishRest(.notSent(.cancelled))
    for index in waiters.value.slots.indices {
      guard case .batch(let owner, _) = waiters.value.slots[index].completion, owner === batch
      else {
        continue
      }
      finish(index, .unknown(.cancelled))
    }
  }

  /// Ends everything that has no stream.
  func refuseWaiting(_ outcome: ExchangeOutcome) {
    while let index = waiters.value.first { finish(index, outcome) }
    let waiting = batches
    batches = []
    for batch in waiting { batch.finishRest(outcome) }
  }
}
