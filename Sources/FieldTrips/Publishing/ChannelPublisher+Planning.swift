package import Clocks

extension ChannelPublisher {
  /// What is to be done now. Changes nothing.
  ///
  /// - Parameters:
  ///   - now: monotonic; never less than at an earlier call.
  ///   - wall: the date at `now`. It may be stepped.
  package func plan(at now: Moment, wall: UnixTime) -> Decision {
    if let stop { return .stopped(stop) }
    let lead = timestampLead(wall: wall)
    if lead > policy.skewLimit {
      return .stopped(.timestampsAhead(seconds: lead.components.seconds))
    }
    switch phase {
    case .ended: return .idle
    case .ending(let giveUpAt): return planEnd(giveUpAt: giveUpAt, at: now, wall: wall)
    case .live: return planUpdate(at: now, wall: wall)
    }
  }

  private func planUpdate(at now: Moment, wall: UnixTime) -> Decision {
    // The answer plans again. Only a significant change overtakes, and only one request.
    guard flights.isEmpty || (backlog.isUrgent && flights.hasRoom) else { return .idle }
    let timestamp = firstTimestampMoment(at: now, wall: wall)
    let immediate = immediateDue(at: now).map { max($0, timestamp) }
    let relaxed = relaxedDue(at: now, before: immediate).map { max($0, timestamp) }
    if let immediate, immediate <= now { return .send(backlog.isUrgent ? .significant : .ordinary) }
    if let relaxed, relaxed <= now { return .send(.tail) }
    return [immediate, relaxed].compactMap { $0 }.min().map { .wake(at: $0) } ?? .idle
  }

  private func planEnd(giveUpAt: Moment, at now: Moment, wall: UnixTime) -> Decision {
    guard now < giveUpAt, flights.hasRoom, !flights.hasEnd else { return .idle }
    let due = max(retryAt, firstTimestampMoment(at: now, wall: wall))
    return due <= now ? .send(.end) : .wake(at: due)
  }

  /// When the next priority-10 broadcast is due, timestamps aside; nil if nothing waits.
  func immediateDue(at now: Moment) -> Moment? {
    guard !backlog.isEmpty else { return nil }
    let due =
      if backlog.isUrgent {
        bucket.ready(overdraft: policy.overdraft)
      } else {
        max(ordinaryDue(at: now), bucket.ready())
      }
    return max(now, due, retryAt)
  }

  func ordinaryDue(at now: Moment) -> Moment {
    let gapSeconds = gap.typicalSeconds(policy.gap) ?? bucket.refillInterval.inSeconds
    let due = policy.rule.due(
      DueRule.Situation(backlog: backlog, gapSeconds: gapSeconds, bucket: bucket))
    return min(due, bucket.full, backlog.oldest + bucket.refillInterval.scaled(by: policy.maxWait))
  }

  private func relaxedDue(at now: Moment, before immediate: Moment?) -> Moment? {
    guard flights.isEmpty else { return nil }
    let earliest = max(now, lastSend.map { $0 + policy.tailGap } ?? now)
    let tail =
      policy.isTailOn && isTailDirty && now >= tailPausedUntil ? earliest : nil
    let refresh = isRefreshWanted ? max(earliest, refreshRetryAt) : nil
    guard let due = [tail, refresh].compactMap({ $0 }).min() else { return nil }
    if let immediate, immediate <= due + policy.tailSkip { return nil }
    return due
  }

  /// The second after the newest timestamp, so that no two share one and none is ahead of the
  /// clock. Where the clock was set back, one monotonic second after the newest request instead.
  func firstTimestampMoment(at now: Moment, wall: UnixTime) -> Moment {
    let next = UnixTime(wholeSeconds: lastTimestampSeconds + 1)
    return next <= wall ? now : min(now + (next - wall), max(now, nextTimestampAt))
  }
}

extension Duration {
  /// Rounded to a whole nanosecond.
  func scaled(by factor: Double) -> Duration {
    .nanoseconds(Int64((Double(wholeNanoseconds) * factor).rounded()))
  }
}
