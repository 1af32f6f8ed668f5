import Clocks
import Transport

/// The way of a request: a slot, perhaps the queue, a stream, an outcome.
extension HTTP2Client {
  // MARK: From request to stream

  /// Sends a request whose values fit, or lets it wait for a stream.
  package func begin(_ call: ExchangeCall) {
    let completion = ExchangeWaiters.Completion.task(call.continuation)
    if let refusal { return resume(completion, .notSent(refusal)) }
    lastUsed = loop.now
    let index = session.prepare(call.template, values: call.values, body: call.body)
    waiters.value.reserve(index, deadline: call.deadline, ticket: call.ticket, completion)
    watchDeadline(call.deadline)
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

  func start(_ feed: ExchangeFeed) {
    if let drainReason { feed.stop = drainReason }
    guard feed.stop == nil else { return feed.resumeIfDone() }
    feeds.append(feed)
    watchDeadline(feed.deadline)
    pump()
  }

  /// Gives free streams to those that wait longest, then to sources by turns.
  func pump() {
    while stream.isOpen, waiters.value.inFlightCount < streamLimit {
      if let index = waiters.value.first {
        waiters.value.dequeue(index)
        submit(index)
      } else if !submitFromSource() {
        return
      }
    }
  }

  private func submitFromSource() -> Bool {
    guard let feed = feeds.last else { return false }
    guard let number = feed.source.next() else {
      feeds.removeLast()
      feed.isEmpty = true
      feed.resumeIfDone()
      return true
    }
    if feeds.count > 1 { feeds.insert(feeds.removeLast(), at: 0) }
    lastUsed = loop.now
    feed.open += 1
    let item = feed.source.request(number)
    guard feed.template.accepts(item.values) else {
      resume(.feed(feed, number), .notSent(.unfitValues(feed.template)))
      return true
    }
    let index = session.prepare(feed.template, values: item.values, body: item.body)
    waiters.value.reserve(index, deadline: feed.deadline, ticket: .none, .feed(feed, number))
    submit(index)
    return true
  }

  private func submit(_ index: Int) {
    guard session.submit(index) else {
      let reason = ExchangeFailure(.draining, "This connection has no stream ID left.")
      finish(index, .notSent(reason))
      drain(reason, nil)
      refuseWaiting(reason)
      return
    }
    if waiters.value.inFlightCount == 0 { becameBusy() }
    waiters.value.began(index)
    stream.setNeedsFlush()
  }

  // MARK: From stream to outcome

  /// Whether the peer may have the request. One that waits to be written leaves no more once its
  /// stream is reset.
  func isOnItsWay(_ index: Int) -> Bool {
    waiters.value.phase(index) == .inFlight && session.isWritten(index)
  }

  /// Ends a request that is still waited for.
  func finish(_ index: Int, by failure: ExchangeFailure) {
    finish(index, isOnItsWay(index) ? .unknown(failure) : .notSent(failure))
  }

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

  /// Tells those who want to know, if they do not know already.
  func resume(_ completion: ExchangeWaiters.Completion, _ outcome: ExchangeOutcome) {
    switch completion {
    case .none: break
    case .task(let continuation):
      onOutcome?(outcome)
      continuation.resume(returning: ExchangeReply(outcome, connection: label))
    case .feed(let feed, let number):
      onOutcome?(outcome)
      feed.finish(number, outcome)
    }
  }

  /// Resets the stream of a request that is still waited for; nothing otherwise.
  package func cancel(_ ticket: ExchangeTicket) {
    guard let index = waiters.value.index(of: ticket) else { return }
    finish(index, by: .cancelled)
  }

  func cancel(_ feed: ExchangeFeed) {
    stop(feed, .cancelled)
    for index in waiters.value.slots.indices {
      guard case .feed(let owner, _) = waiters.value.slots[index].completion, owner === feed else {
        continue
      }
      finish(index, by: .cancelled)
    }
  }

  /// Takes no more from a source; what was taken goes on.
  func stop(_ feed: ExchangeFeed, _ reason: ExchangeFailure) {
    if feed.stop == nil { feed.stop = reason }
    feeds.removeAll { $0 === feed }
    feed.resumeIfDone()
  }

  /// Ends everything that has no stream.
  func refuseWaiting(_ reason: ExchangeFailure) {
    while let index = waiters.value.first { finish(index, .notSent(reason)) }
    while let feed = feeds.last { stop(feed, reason) }
  }
}
