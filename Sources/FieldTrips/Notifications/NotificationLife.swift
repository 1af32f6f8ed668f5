package import Clocks

/// How far a notification has come. A value: what happened goes in, what to do next comes out.
///
/// ```
///            fetched                due                    all devices tried
///  scheduled ───────▶ armed ───────────────▶ sending ─────────────────────────▶ sent or failed
///     │  late by `slip`: the fallback copy ▲    │ ▲ refused for now: tried again
///     └────────────────────────────────────┘    └─┘ until it expires
///
///  scheduled or armed ── cancelled, skipped (nothing new), expired
/// ```
package struct NotificationLife: Hashable, Sendable {
  package enum Phase: String, Hashable, Sendable, CaseIterable {
    /// The content has yet to be fetched.
    case scheduled
    /// Everything to be sent is here.
    case armed
    /// Each device is noted before it is sent to.
    case sending
    case sent
    /// No device was reached.
    case failed
    case cancelled
    /// The source had nothing new.
    case skipped
    /// Its time was over before anything was sent.
    case expired

    package var isOver: Bool {
      switch self {
      case .scheduled, .armed, .sending: false
      case .sent, .failed, .cancelled, .skipped, .expired: true
      }
    }
  }

  /// What is to be done now.
  package enum Step: Hashable, Sendable {
    case fetch
    case send
    /// Its time was over while it was being sent, and nothing more goes out: ``closed(reached:at:)``.
    case close
    /// Nothing until ``due``, or ever.
    case rest
  }

  package var phase: Phase
  package let createdAt: UnixTime
  package let sendAt: UnixTime
  package let expiresAt: UnixTime?
  /// When it is to be looked at again; nil once it is over.
  package var due: UnixTime?
  package var content: FetchedContent?
  package var usesFallback = false
  /// Fetches that failed, one after the other.
  package var failedFetches = 0
  /// Why the last of them failed, or why nothing was sent.
  package var problem: String?
  /// When the first device was tried.
  package var sendingSince: UnixTime?
  package var rounds = 0
  package var finishedAt: UnixTime?

  package init(_ request: NotificationRequest, at now: UnixTime, rules: NotificationRules) {
    let now = now.inMilliseconds
    createdAt = now
    sendAt = request.sendAt(from: now).inMilliseconds
    expiresAt = request.expiresAt.map(\.inMilliseconds)
    phase = request.source == nil ? .armed : .scheduled
    due = phase == .armed ? sendAt : max(now, sendAt - rules.fetchLead)
  }

  init(phase: Phase, createdAt: UnixTime, sendAt: UnixTime, expiresAt: UnixTime?) {
    self.phase = phase
    self.createdAt = createdAt
    self.sendAt = sendAt
    self.expiresAt = expiresAt
  }
}

/// The times that notifications keep.
package struct NotificationRules: Sendable, Hashable {
  /// How long before its time a notification's content is fetched.
  package var fetchLead = Duration.seconds(300)
  /// How long a notification waits for late content before it goes out with the fallback copy.
  package var slip = Duration.seconds(900)
  /// How long devices that APNs puts off are tried, where the notification does not expire.
  package var retryFor = Duration.seconds(3_600)
  /// For how long after its time a notification to members without a card looks for such.
  package var looksFor = Duration.seconds(600)
  /// When a notification that is being sent is looked at again, in case its node died.
  package var claim = Duration.seconds(10)

  package init() {}
}

extension NotificationLife {
  /// It is due: by its time, or again since the node that had it died.
  package mutating func wake(at now: UnixTime, rules: NotificationRules) -> Step {
    switch phase {
    case .scheduled:
      if now >= sendAt, isExpired(at: now) { return over(.expired, at: now) }
      guard now >= endOfSlip(rules) else { return .fetch }
      arm(at: now)
      usesFallback = true
      return wake(at: now, rules: rules)
    case .armed:
      if now < sendAt {
        due = sendAt
        return .rest
      }
      if isExpired(at: now) { return over(.expired, at: now) }
      phase = .sending
      sendingSince = now.inMilliseconds
      due = (now + rules.claim).inMilliseconds
      return .send
    case .sending:
      due = (now + rules.claim).inMilliseconds
      return isExpired(at: now) ? .close : .send
    case .sent, .failed, .cancelled, .skipped, .expired: return .rest
    }
  }

  /// The source answered.
  ///
  /// - Parameter content: nil when there is nothing new.
  package mutating func fetched(
    _ content: FetchedContent?, whenEmpty: ContentSource.WhenEmpty, at now: UnixTime
  ) {
    guard phase == .scheduled else { return }
    failedFetches = 0
    problem = nil
    if let content {
      self.content = content
      arm(at: now)
    } else if now < sendAt {
      // Something may come until then.
      due = sendAt
    } else if whenEmpty == .fallback {
      usesFallback = true
      arm(at: now)
    } else {
      problem = "There was nothing new at the source."
      _ = over(.skipped, at: now)
    }
  }

  /// The source did not answer, or not as it should.
  package mutating func fetchFailed(_ reason: String, at now: UnixTime, rules: NotificationRules) {
    guard phase == .scheduled else { return }
    problem = reason
    let pause = Duration.seconds(min(120, 10 << min(failedFetches, 4)))
    failedFetches += 1
    due = max(now, min(now + pause, endOfSlip(rules)))
  }

  /// All devices were tried once.
  ///
  /// - Parameters:
  ///   - reached: how many devices APNs accepted it for, or may have.
  ///   - left: how many are to be tried again.
  ///   - reason: why others were not, for people.
  ///   - looksAgain: whether more devices may come to it within ``NotificationRules/looksFor``.
  package mutating func tried(
    reached: Int, left: Int, retryAfter: Duration?, reason: String?, looksAgain: Bool = false,
    at now: UnixTime, rules: NotificationRules
  ) {
    guard phase == .sending else { return }
    rounds += 1
    problem = reason
    let end = expiresAt ?? (sendingSince ?? now) + rules.retryFor
    let pause = max(retryAfter ?? .zero, .seconds(min(300, 5 << min(rounds - 1, 6))))
    if left > 0, now + pause < end {
      due = now + pause
      return
    }
    // Soon at first, and then seldom.
    let next = now + max(.seconds(30), now - sendAt)
    if looksAgain, next < min(end, sendAt + rules.looksFor) {
      due = next
      return
    }
    if reached == 0 {
      problem =
        reason
        ?? (left > 0
          ? "APNs put all of it off until its time was over." : "There is no device to send to.")
    }
    _ = over(reached > 0 ? .sent : .failed, at: now)
  }

  /// Its time was over before all devices were tried, as when its node died on the way.
  ///
  /// - Parameter reached: how many devices APNs accepted it for, or may have.
  package mutating func closed(reached: Int, at now: UnixTime) {
    guard phase == .sending else { return }
    problem =
      reached > 0
      ? "Its time was over before all devices were tried." : problem ?? "Its time was over."
    _ = over(reached > 0 ? .sent : .expired, at: now)
  }

  /// - Returns: whether it can be; what is being sent cannot.
  package mutating func cancel(at now: UnixTime) -> Bool {
    guard phase == .scheduled || phase == .armed else { return false }
    _ = over(.cancelled, at: now)
    return true
  }

  /// It cannot be sent, and no later try would help.
  ///
  /// - Parameter reached: how many devices APNs accepted it for, or may have, until then.
  package mutating func fail(_ reason: String, reached: Int, at now: UnixTime) {
    problem = reason
    _ = over(reached > 0 ? .sent : .failed, at: now)
  }

  /// When content is waited for no longer. What expires before goes out before.
  package func endOfSlip(_ rules: NotificationRules) -> UnixTime {
    let slipped = sendAt + rules.slip
    return max(sendAt, min(slipped, expiresAt.map { $0 - .seconds(5) } ?? slipped))
  }

  package func isExpired(at now: UnixTime) -> Bool { expiresAt.map { $0 <= now } ?? false }

  private mutating func arm(at now: UnixTime) {
    phase = .armed
    due = max(now.inMilliseconds, sendAt)
  }

  private mutating func over(_ phase: Phase, at now: UnixTime) -> Step {
    self.phase = phase
    due = nil
    finishedAt = now.inMilliseconds
    return .rest
  }
}
