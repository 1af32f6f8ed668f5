package import Clocks

extension ChannelPublisher {
  /// What holds changes back from phones.
  package enum Hold: String, Sendable, CaseIterable {
    /// The rule: more changes are expected soon, and one broadcast is to carry them all.
    case gathering
    /// The channel's budget has no token.
    case budget
    /// The pause after a 429, or after a broadcast whose outcome is not known.
    case pause
    /// An earlier broadcast has no answer yet.
    case answer
    /// A channel's timestamps are whole seconds, and this one has been used.
    case second
  }

  /// What holds the waiting changes back, or did so last, and until when; nil if nothing waits, or
  /// what waits goes out at once. For people: nothing is decided by it.
  ///
  /// An answer that was waited for leaves no trace here: the driver knows when it came.
  ///
  /// - Returns: `until` is ``Moment/distantFuture`` for ``Hold/answer``, and lies in the past when
  ///   the changes are due.
  package func hold(at now: Moment, wall: UnixTime) -> (hold: Hold, until: Moment)? {
    guard !backlog.isEmpty else { return nil }
    guard flights.isEmpty || (backlog.isUrgent && flights.hasRoom) else {
      return (.answer, .distantFuture)
    }
    var holds: [(hold: Hold, until: Moment)] = [(.pause, retryAt)]
    if backlog.isUrgent {
      holds.append((.budget, bucket.ready(overdraft: policy.overdraft)))
    } else {
      holds.append((.budget, bucket.ready()))
      holds.append((.gathering, ordinaryDue(at: now)))
    }
    holds.append((.second, now + (UnixTime(wholeSeconds: lastTimestampSeconds + 1) - wall)))
    let last = holds.max { $0.until < $1.until }
    return last.flatMap { $0.until > backlog.oldest ? $0 : nil }
  }
}
