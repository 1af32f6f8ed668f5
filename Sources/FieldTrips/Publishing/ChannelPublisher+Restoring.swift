package import Clocks

extension ChannelPublisher {
  /// What the store keeps of a publisher, for the next owner.
  package struct Durable: Sendable, Equatable {
    package var revision: Revision
    package var publishedRevision: Revision
    /// 0 if there was no broadcast yet.
    package var lastTimestampSeconds: Int64
    /// Nil if unknown: one token is assumed, or a full bucket if there was no broadcast yet.
    package var anchor: UnixTime?
    /// Nil if unknown: the budget is assumed.
    package var ratePerHour: Double?

    package init(
      revision: Revision, publishedRevision: Revision, lastTimestampSeconds: Int64,
      anchor: UnixTime?, ratePerHour: Double?
    ) {
      self.revision = revision
      self.publishedRevision = publishedRevision
      self.lastTimestampSeconds = lastTimestampSeconds
      self.anchor = anchor
      self.ratePerHour = ratePerHour
    }
  }

  /// The publisher of a channel that an earlier owner, or an earlier run, has served.
  ///
  /// Which of the unpublished changes were significant is lost; call ``changed(to:at:isSignificant:)``
  /// never for them, but ``markUrgent()`` where the content-state shows it (a first note). Call
  /// ``end(giveUpAt:)`` again if the trip is ending.
  ///
  /// - Parameter policy: validated.
  package init(policy: PublishingPolicy, restoring durable: Durable, at now: Moment, wall: UnixTime)
  {
    self.init(policy: policy, revision: durable.revision, at: now)
    let wasNeverSent = durable.lastTimestampSeconds == 0
    publishedRevision = min(durable.publishedRevision, durable.revision)
    if wasNeverSent, publishedRevision < .first, durable.revision >= .first {
      // The first state is no change: members join with it. It costs no token.
      publishedRevision = .first
      isRefreshWanted = true
    }
    lastTimestampSeconds = durable.lastTimestampSeconds
    // The last request may have been a moment ago.
    nextTimestampAt = now + .seconds(1)
    let rate = durable.ratePerHour ?? policy.budgetPerHour
    ratePerHour = min(max(rate, policy.lowestRate), policy.budgetPerHour)
    bucket = restoredBucket(
      anchor: durable.anchor, isFullIfUnknown: wasNeverSent, at: now, wall: wall)
    let waiting = Int(revision.number - publishedRevision.number)
    if waiting > 0 {
      // As old as a token takes, so that they go out as soon as one is there.
      let since = now - bucket.refillInterval.scaled(by: policy.maxWait)
      backlog = Backlog(waiting, oldest: since, newest: since, isUrgent: false)
      isTailDirty = true
    }
  }

  /// One of the waiting changes must not wait.
  package mutating func markUrgent() { backlog.markUrgent() }

  /// Converts the anchor to our clock. Whatever the wall clock did in between, it can at worst
  /// grant one full bucket or impose the whole overdraft.
  private func restoredBucket(
    anchor: UnixTime?, isFullIfUnknown: Bool, at now: Moment, wall: UnixTime
  ) -> TokenBucket {
    let refillInterval = PublishingPolicy.refillInterval(ratePerHour: ratePerHour)
    let capacity = policy.capacity(ratePerHour: ratePerHour)
    let unknown = isFullIfUnknown ? Double(capacity) : 1
    let level = anchor.map { (wall - $0) / refillInterval } ?? unknown
    return TokenBucket(
      refillInterval: refillInterval, capacity: capacity,
      level: max(-Double(policy.overdraft), level), at: now)
  }
}
