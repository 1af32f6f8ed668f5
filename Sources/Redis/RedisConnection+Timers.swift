internal import Clocks
internal import Transport

/// Deadlines and signs of life.
///
/// One timer serves all commands of a connection: it is set to the earliest deadline known, and
/// when it fires with nothing late, to the earliest that is left. With the usual deadline of some
/// seconds that is a look through the line every few seconds, and nothing per command.
extension RedisConnection {
  func armDeadline(at moment: Moment) {
    if let deadlineTimer { loop.cancel(deadlineTimer) }
    deadlineTimerMoment = moment
    deadlineTimer = loop.schedule(at: moment) { [weak self] in
      self?.assumeIsolated { $0.deadlineCame() }
    }
  }

  private func deadlineCame() {
    deadlineTimer = nil
    deadlineTimerMoment = .distantFuture
    let now = loop.now
    var earliest = queued.removeLate(at: now, deadline: \.entry.deadline) { waiting in
      Self.fail(waiting.entry, [], .notSent(missedDeadline))
    }
    for offset in 0..<pending.count { earliest = min(earliest, pending[offset].deadline) }
    if earliest <= now {
      return end(
        RedisFailure(
          .lost,
          "The connection to Redis at \(configuration.address) was given up, since another command "
            + "on it had no answer within its deadline."),
        late: now)
    }
    if earliest < .distantFuture { armDeadline(at: max(earliest, now + .milliseconds(10))) }
  }

  var missedDeadline: RedisFailure {
    RedisFailure(
      .deadline, "Redis at \(configuration.address) gave no answer within the deadline.")
  }

  func armKeepAlive() {
    keepAliveTimer = loop.schedule(at: loop.now + configuration.keepAlive) { [weak self] in
      self?.assumeIsolated { $0.keepAliveCame() }
    }
  }

  private func keepAliveCame() {
    guard isOpen else { return }
    let silence = loop.now - lastReceived
    if onMessages != nil {
      keepMessagesAlive(silence)
    } else if pending.isEmpty, silence >= configuration.keepAlive {
      // Commands under way have deadlines of their own; only an idle connection needs this.
      let end = loop.now + configuration.keepAlive
      send(Pending(waiter: .nobody, count: 1, deadline: end)) {
        RedisCommand("PING").write(to: &$0)
      }
    }
    if isOpen { armKeepAlive() }
  }

  private func keepMessagesAlive(_ silence: Duration) {
    // While we do not read, the server's silence is our own doing.
    if isReadingPaused { return }
    if askedForLifeAt > lastReceived {
      // The timer comes every keep-alive, or later on a busy machine: only a question that had
      // that long, and no answer, says that nobody is there.
      end(
        RedisFailure(
          .lost,
          "Redis at \(configuration.address) gave no sign of life for \(Int(silence.inSeconds)) s.")
      )
    } else if silence >= configuration.keepAlive {
      askedForLifeAt = loop.now
      post(RedisCommand("PING"))
    }
  }

  func cancelTimers() {
    if let deadlineTimer { loop.cancel(deadlineTimer) }
    if let keepAliveTimer { loop.cancel(keepAliveTimer) }
    deadlineTimer = nil
    keepAliveTimer = nil
  }
}
