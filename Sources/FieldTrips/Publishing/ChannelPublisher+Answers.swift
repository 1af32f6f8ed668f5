package import Clocks

extension ChannelPublisher {
  /// What an answer changed that others keep or must hear of.
  package struct Aftermath: Sendable, Equatable {
    /// To store: the newest revision that APNs accepted at priority 10.
    package var publishedRevision: Revision
    /// To store when convenient.
    package var ratePerHour: Double
    /// Whether a 429 lowered the channel's rate.
    package var isRateLowered = false
    /// Whether APNs accepted the trip's end.
    package var isEndAccepted = false
    /// APNs refused for a reason that trying again does not cure: a defect, to be alarmed about.
    package var isDefect = false
    /// The channel manager must replace the channel.
    package var isChannelGone = false
  }

  /// An answer came, or none within ``PublishingPolicy/requestTimeout``. Plan again afterwards.
  ///
  /// Answers may come in any order; one for a request that is not in flight changes nothing.
  package mutating func answered(
    _ id: RequestID, _ outcome: BroadcastOutcome, at now: Moment,
    using generator: inout some RandomNumberGenerator
  ) -> Aftermath {
    guard let flight = flights.remove(id) else { return aftermath }
    let rateBefore = ratePerHour
    if outcome == .channelGone { channelGone() }
    switch (flight.rank, outcome) {
    case (.tail, .accepted): tailPauses = 0
    case (.tail, _): tailFailed(flight, outcome, at: now)
    case (_, .accepted): accepted(flight, at: now)
    default: failed(flight, outcome, at: now, using: &generator)
    }
    var result = aftermath
    result.isRateLowered = ratePerHour < rateBefore
    result.isEndAccepted = flight.rank == .end && outcome == .accepted
    result.isDefect = outcome == .refused
    result.isChannelGone = outcome == .channelGone
    return result
  }

  private var aftermath: Aftermath {
    Aftermath(publishedRevision: publishedRevision, ratePerHour: ratePerHour)
  }

  private mutating func accepted(_ flight: Flight, at now: Moment) {
    if let revision = flight.revision { publishedRevision = max(publishedRevision, revision) }
    attempt = 0
    tailPauses = 0
    setRate(min(policy.budgetPerHour, ratePerHour + policy.rateUp), at: now)
    // What an older, lost request had given back is published by this newer one.
    settleBacklog()
    if flight.rank == .end { phase = .ended }
  }

  private mutating func failed(
    _ flight: Flight, _ outcome: BroadcastOutcome, at now: Moment,
    using generator: inout some RandomNumberGenerator
  ) {
    if outcome.isRefunded { bucket.refund() }
    restore(flight)
    if outcome == .superfluous { return }
    if case .throttled = outcome {
      bucket.empty(at: now)
      lowerRate(at: now)
      pauseTail(at: now)
    }
    backOff(outcome, isHurried: flight.rank < .ordinary, at: now, using: &generator)
  }

  /// A lost tail is not worth a retry: the next one carries more. A lost refresh is, since without
  /// it the card goes stale. Neither says anything about priority 10.
  private mutating func tailFailed(_ flight: Flight, _ outcome: BroadcastOutcome, at now: Moment) {
    isTailDirty = !backlog.isEmpty
    if flight.isRefresh, phase == .live {
      isRefreshWanted = true
      refreshRetryAt = now + policy.refreshRetry
    }
    switch outcome {
    case .throttled: pauseTail(at: now)
    case .refused: tailPausedUntil = max(tailPausedUntil, now + policy.defectRetry)
    default: break
    }
  }

  /// The flight's changes wait again, unless another broadcast carries them.
  private mutating func restore(_ flight: Flight) {
    guard let revision = flight.revision else { return }
    if revision <= publishedRevision {
      settleBacklog()
    } else if revision <= coveredRevision {
      flights.adopt(flight.backlog)
    } else {
      backlog.merge(flight.backlog)
      settleBacklog()
      isTailDirty = !backlog.isEmpty
    }
  }

  private mutating func settleBacklog() {
    backlog.recount(max(0, Int(revision.number - coveredRevision.number)))
    if backlog.isEmpty { isTailDirty = false }
  }

  private mutating func channelGone() {
    if phase == .live {
      stop = .channelGone
    } else {
      phase = .ended
    }
  }

  // MARK: Rates and pauses

  private mutating func lowerRate(at now: Moment) {
    if let lastDown, now - lastDown < policy.downOncePer { return }
    lastDown = now
    setRate(max(policy.lowestRate, ratePerHour * policy.rateDown), at: now)
  }

  private mutating func setRate(_ rate: Double, at now: Moment) {
    guard rate != ratePerHour else { return }
    ratePerHour = rate
    bucket.retune(
      refillInterval: PublishingPolicy.refillInterval(ratePerHour: rate),
      capacity: policy.capacity(ratePerHour: rate), at: now)
  }

  private mutating func pauseTail(at now: Moment) {
    // Twenty doublings pass any cap, and an overflow is far.
    let pause = min(policy.tailPauseCap, policy.tailPause * (1 << min(tailPauses, 20)))
    tailPauses += 1
    tailPausedUntil = max(tailPausedUntil, now + pause)
  }

  /// Full jitter: channels that failed together do not come back together.
  private mutating func backOff(
    _ outcome: BroadcastOutcome, isHurried: Bool, at now: Moment,
    using generator: inout some RandomNumberGenerator
  ) {
    if outcome == .notReserved {
      // Tried about once a second, however long the store is away: it is ours, and knows no limit.
      let jitter = Duration.nanoseconds(Int64.random(in: 0...1_000_000_000, using: &generator))
      retryAt = max(retryAt, now + .seconds(1) + jitter)
      return
    }
    attempt += 1
    let cap = isHurried || backlog.isUrgent ? policy.significantBackoffCap : policy.backoffCap
    let bound = min(cap, policy.backoffBase * (1 << min(attempt, 20)))
    let jitter = Int64.random(in: 0...bound.wholeNanoseconds, using: &generator)
    var wait = max(Duration.seconds(1), .nanoseconds(jitter))
    if outcome == .refused { wait = max(wait, policy.defectRetry) }
    if let retryAfter = outcome.retryAfter { wait = max(wait, retryAfter) }
    retryAt = max(retryAt, now + wait)
  }
}
