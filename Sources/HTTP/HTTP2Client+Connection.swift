package import Transport

/// What comes from the connection, and how it ends.
extension HTTP2Client {
  /// Gives the connection up, if the peer's first settings are not here.
  func noSettings(_ error: HTTP2ConnectError) {
    guard !hasSettings, !isClosed else { return }
    resumeReady(.failure(error))
    closeNow("no settings came")
  }

  private func resumeReady(_ result: Result<Void, HTTP2ConnectError>) {
    ready?.resume(returning: result)
    ready = nil
  }

  private func received(_ bytes: RawSpan) {
    lastReceived = loop.now
    if probeSentAt != nil { proofOfLife() }
    do throws(HTTP2ProtocolError) {
      try session.receive(bytes)
    } catch {
      return closeNow("the peer breaks the rules of HTTP/2: \(session.fault ?? "\(error)")")
    }
    session.takeEvents { handle($0) }
    if settleClosed() { lastUsed = lastReceived }
    pump()
    stream.setNeedsFlush()
    closeIfDone()
  }

  private func handle(_ event: HTTP2ClientSession.Event) {
    switch event {
    case .settingsReceived:
      hasSettings = true
      resumeReady(.success(()))
      announceLimit()
    case .goAwayReceived(let announcement):
      goAway = announcement
      drain(.goingAway(announcement), announcement)
      refuseWaiting(.goingAway(announcement))
    case .pingAcknowledged(let payload): pingAnswered(payload)
    }
  }

  private func announceLimit() {
    guard streamLimit != announcedLimit else { return }
    announcedLimit = streamLimit
    onEvent(.streamLimitChanged(streamLimit))
  }

  func drain(_ reason: ExchangeFailure, _ announcement: GoAway?) {
    if drainReason == nil { onEvent(.draining(announcement)) }
    drainReason = reason
  }

  func closeIfDone() {
    guard !isClosed else { return }
    if session.isFinished {
      let said = session.fault.map { "the peer breaks the rules of HTTP/2: \($0)" }
      closeNow(
        goAway.map { ExchangeFailure.goingAway($0).message } ?? said ?? "both sides are done")
    } else if drainReason != nil, waiters.value.inFlightCount == 0, waiters.value.queuedCount == 0,
      feeds.isEmpty
    {
      session.announceEnd()
      closeNow(drainReason?.message ?? "")
    }
  }

  /// Writes what is still to be said, and closes.
  func closeNow(_ reason: String) {
    guard !isClosed, stream.isOpen else { return }
    if closeReason.isEmpty { closeReason = reason }
    drain(ExchangeFailure(.connectionLost, "The connection to \(peer) ended: \(reason)."), goAway)
    flushOutput()
    stream.close()
  }

  private func flushOutput() {
    endWhatIsLate()
    do throws(HTTP2ProtocolError) {
      try session.takeOutput { bytes in
        stream.write(bytes)
        return stream.pendingOutputBytes < ByteStream.highMark
      }
    } catch {
      closeReason = "\(error)"
      stream.abort()
    }
    // A reset that we send closes its stream as it is written.
    guard settleClosed() else { return }
    pump()
    closeIfDone()
  }

  /// - Returns: whether any stream had ended.
  private func settleClosed() -> Bool {
    var hasEnded = false
    session.takeClosed { index, outcome in
      hasEnded = true
      let completion = waiters.value.complete(index)
      waiters.value.streamEnded(index)
      resume(completion, outcome)
    }
    return hasEnded
  }

  private func ended(_ closure: StreamClosure) {
    isClosed = true
    _ = settleClosed()
    if closeReason.isEmpty || closure != .byUs { closeReason = "\(closure)" }
    let failure =
      goAway.map { ExchangeFailure.goingAway($0) }
      ?? ExchangeFailure(.connectionLost, "The connection to \(peer) ended: \(closeReason).")
    drainReason = failure
    resumeReady(.failure(.closedEarly(endpoint: peer, reason: closeReason, goAway)))
    stopTimers()
    refuseWaiting(failure)
    abandonStreams(failure)
    onEvent(.closed(reason: closeReason))
    // What they hold need not wait for the last reference to this client.
    onEvent = { _ in }
    onOutcome = nil
    for waiter in closeWaiters { waiter.resume() }
    closeWaiters = []
  }

  private func abandonStreams(_ failure: ExchangeFailure) {
    for index in waiters.value.slots.indices {
      switch waiters.value.phase(index) {
      case .inFlight, .abandoned:
        let completion = waiters.value.complete(index)
        waiters.value.streamEnded(index)
        resume(completion, session.abandon(index, failure))
      case .free, .reserved, .queued: break
      }
    }
  }
}

extension HTTP2Client: StreamHandler {
  package nonisolated func streamReceived(_ bytes: RawSpan) {
    assumeIsolated { $0.received(bytes) }
  }

  package nonisolated func streamWillFlush() { assumeIsolated { $0.flushOutput() } }

  package nonisolated func streamDrained() { assumeIsolated { $0.flushOutput() } }

  package nonisolated func streamClosed(_ closure: StreamClosure) {
    assumeIsolated { $0.ended(closure) }
  }
}
