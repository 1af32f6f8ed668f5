import Clocks
import Transport

/// Deadlines of requests, and whether the peer is still there.
extension HTTP2Client {
  // MARK: Deadlines

  /// Sees to it that deadlines are looked at by `moment`.
  ///
  /// There is one timer for all requests, set to the earliest deadline that was seen. Most requests
  /// are answered long before theirs, so it fires about once per deadline's length and then looks
  /// through the slots: cheaper than arming and cancelling a timer for each request.
  func watchDeadline(_ moment: Moment) {
    nextDeadline = min(nextDeadline, moment)
    if let deadlineTimer {
      guard moment < deadlineTimer.at else { return }
      loop.cancel(deadlineTimer.timer)
    }
    let timer = loop.schedule(at: moment) { self.assumeIsolated { $0.deadlineTimerFired() } }
    deadlineTimer = (timer, moment)
  }

  private func deadlineTimerFired() {
    deadlineTimer = nil
    endWhatIsLate(at: loop.now)
  }

  /// Called before anything is written, so that nothing leaves behind its deadline however long the
  /// turn of the loop took.
  func endWhatIsLate() {
    guard nextDeadline < .distantFuture else { return }
    let now = MonotonicClock.now()
    if nextDeadline <= now { endWhatIsLate(at: now) }
  }

  private func endWhatIsLate(at now: Moment) {
    let (due, next) = waiters.value.expired(at: now)
    for index in due { finish(index, by: isOnItsWay(index) ? Self.unanswered : Self.unsent) }
    for feed in feeds where feed.deadline <= now { stop(feed, Self.unsent) }
    nextDeadline = feeds.map(\.deadline).reduce(next, min)
    // A few milliseconds together, so that deadlines close to each other cost one look.
    if nextDeadline < .distantFuture { watchDeadline(max(nextDeadline, now + .milliseconds(4))) }
  }

  private static let unanswered = ExchangeFailure(
    .deadline, "No answer came by the request's deadline.")
  private static let unsent = ExchangeFailure(
    .deadline, "It could not be sent by the request's deadline.")

  // MARK: Pings

  /// Asks the peer for a sign of life.
  ///
  /// - Returns: how long its answer took; nil when none came in time, or the connection ended.
  package func ping(timeout: Duration) async -> Duration? {
    if isClosed { return nil }
    return await withUnsafeContinuation { continuation in
      if isClosed { return continuation.resume(returning: nil) }
      let payload = nextPing
      nextPing += 1
      pings.append(PendingPing(payload: payload, sentAt: loop.now, continuation: continuation))
      session.ping(payload)
      stream.setNeedsFlush()
      _ = loop.schedule(at: loop.now + timeout) {
        self.assumeIsolated { $0.endPing(payload, answered: false) }
      }
    }
  }

  func pingAnswered(_ payload: UInt64) { endPing(payload, answered: true) }

  private func endPing(_ payload: UInt64, answered: Bool) {
    guard let position = pings.firstIndex(where: { $0.payload == payload }) else { return }
    let ping = pings.remove(at: position)
    ping.continuation.resume(returning: answered ? MonotonicClock.now() - ping.sentAt : nil)
  }

  // MARK: Silence

  /// Looks again when the peer could have been silent for too long.
  func armLiveness() {
    guard !isClosed else { return }
    let next = probeSentAt.map { $0 + configuration.pingTimeout } ?? nextProbe
    var idle = Moment.distantFuture
    if let timeout = configuration.idleTimeout {
      idle = (activeStreams == 0 && queued == 0 ? lastUsed : loop.now) + timeout
    }
    let moment = max(min(next, idle), loop.now + .milliseconds(1))
    let timer = loop.schedule(at: moment) { self.assumeIsolated { $0.lookForLife() } }
    livenessTimer = (timer, moment)
  }

  /// When the peer will have been silent for long enough to be asked for a sign of life.
  private var nextProbe: Moment {
    let idle = lastReceived + configuration.pingAfterSilence
    guard activeStreams > 0 else { return idle }
    return min(idle, max(lastReceived, busySince) + configuration.pingWhenWaiting)
  }

  /// A request was sent while none was open: its answer is watched for more closely.
  func becameBusy() {
    busySince = lastUsed
    let soon = busySince + configuration.pingWhenWaiting
    guard probeSentAt == nil, let armed = livenessTimer, armed.at > soon else { return }
    loop.cancel(armed.timer)
    let timer = loop.schedule(at: soon) { self.assumeIsolated { $0.lookForLife() } }
    livenessTimer = (timer, soon)
  }

  private func lookForLife() {
    livenessTimer = nil
    guard !isClosed else { return }
    let now = loop.now
    if let probe = probeSentAt, now >= probe + configuration.pingTimeout {
      return giveUp(silentFor: now - lastReceived)
    }
    if probeSentAt == nil, now >= nextProbe {
      probeSentAt = now
      session.ping(0)
      stream.setNeedsFlush()
    }
    if let idle = configuration.idleTimeout, activeStreams == 0, queued == 0,
      now >= lastUsed + idle
    {
      session.announceEnd()
      return closeNow("idle for \(idle.inSeconds) s")
    }
    armLiveness()
  }

  /// Bytes came while we waited for the answer to a PING. That they are the answer is not asked:
  /// who sends anything lives.
  func proofOfLife() {
    probeSentAt = nil
    if let livenessTimer { loop.cancel(livenessTimer.timer) }
    armLiveness()
  }

  /// The peer may be gone for good, so nothing is written any more.
  private func giveUp(silentFor span: Duration) {
    closeReason = "the peer was silent for \(span.inSeconds) s and did not answer a PING"
    stream.abort()
  }

  func stopTimers() {
    if let deadlineTimer { loop.cancel(deadlineTimer.timer) }
    if let livenessTimer { loop.cancel(livenessTimer.timer) }
    deadlineTimer = nil
    livenessTimer = nil
    for ping in pings { ping.continuation.resume(returning: nil) }
    pings = []
  }
}
