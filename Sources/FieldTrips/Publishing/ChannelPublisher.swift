package import Clocks

/// Decides for one channel when it broadcasts and at which priority; conflates what comes between.
///
/// Constant size, constant work a call; holds no content-state, reads no clock, keeps no timer.
/// A driver does what it decides:
///
/// ```swift
/// // A change was committed, the timer fired, an answer came, the queue let us: always the same.
/// func step(_ channel: Channel) async {
///   switch channel.publisher.plan(at: clock.now, wall: clock.wall) {
///   case .idle: timers.cancel(channel)
///   case .wake(let moment): timers.set(channel, moment)          // the channel's only timer
///   case .send(let rank): queue.enqueue(channel.id, rank, channel.publisher.backlog)
///   case .stopped(let reason): report(reason)                    // and replace the channel, say
///   }
/// }
/// // The channel's turn in the app's queue:
/// guard let reservation = channel.publisher.beginSend(at: clock.now, wall: clock.wall) else {
///   return await step(channel)                                   // it became clean meanwhile
/// }
/// do {
///   // One script: timestamp = max(proposed, last + 1), stores it with the anchor and the rate,
///   // answers with the newest content-state and its revision.
///   let newest = try await store.reserve(reservation)
///   channel.publisher.sent(reservation.id, newest.revision, timestampSeconds: newest.timestamp)
///   let outcome = await apns.broadcast(newest, reservation.rank)  // at most requestTimeout
///   let aftermath = channel.publisher.answered(
///     reservation.id, outcome, at: clock.now, using: &random)
///   await store.record(aftermath)
/// } catch {
///   // Nothing left us, so the token comes back.
///   _ = channel.publisher.answered(reservation.id, .notReserved, at: clock.now, using: &random)
/// }
/// await step(channel)
/// ```
/// Every `beginSend` that returns a reservation is followed by exactly one `answered`. `plan` may
/// be called at any time and as often as one likes.
package struct ChannelPublisher: Sendable {
  /// What the driver shall do now. Holds until the next change, answer or the moment given.
  package enum Decision: Sendable, Equatable {
    /// Enqueue the channel; when its turn comes, call ``beginSend(at:wall:)``.
    case send(SendRank)
    /// Nothing before this moment; plan again then. Being late or early is harmless.
    case wake(at: Moment)
    /// Nothing until a change or an answer.
    case idle
    /// Nothing until somebody looks at it.
    case stopped(StopReason)
  }

  package enum StopReason: Sendable, Equatable {
    /// APNs does not know the channel. ``channelReplaced()`` resumes.
    case channelGone
    /// Timestamps are this far ahead of the wall clock; phones would drop them. Resumes by itself
    /// at a ``plan(at:wall:)`` after the clock was corrected.
    case timestampsAhead(seconds: Int64)
  }

  package typealias RequestID = UInt32

  enum Phase: Sendable, Equatable {
    case live
    /// The trip ended; only its end event may go out, until APNs accepts it or `giveUpAt`.
    case ending(giveUpAt: Moment)
    /// Nothing goes out any more.
    case ended
  }

  package let policy: PublishingPolicy
  /// Broadcasts an hour, adapted to APNs' 429s.
  package internal(set) var ratePerHour: Double
  package internal(set) var bucket: TokenBucket
  /// The newest revision that we were told of.
  package internal(set) var revision: Revision
  /// The newest revision that APNs accepted at priority 10.
  package internal(set) var publishedRevision: Revision
  /// Timestamp of the newest broadcast of any priority, seconds since 1970; 0 before the first.
  package internal(set) var lastTimestampSeconds: Int64
  /// The changes that no priority-10 broadcast carries, in flight or accepted.
  package internal(set) var backlog = Backlog()
  package internal(set) var stop: StopReason?

  var phase = Phase.live
  var gap = GapEstimate()
  var flights = Flights()
  var nextID: RequestID = 1
  /// When the last broadcast of any priority was requested.
  var lastSend: Moment?
  /// Another timestamp may be taken at this moment even if the wall clock was set back.
  var nextTimestampAt: Moment
  /// Something is newer than the last broadcast of any priority.
  var isTailDirty = false
  /// A priority-5 broadcast was asked for, whether or not something changed.
  var isRefreshWanted = false
  /// Where a refresh was lost, the next try is not before.
  var refreshRetryAt = Moment.distantPast
  /// Failures in a row at priority 10.
  var attempt = 0
  var retryAt = Moment.distantPast
  var tailPausedUntil = Moment.distantPast
  /// 429s in a row, of any priority.
  var tailPauses = 0
  var lastDown: Moment?

  /// The publisher of a channel that was never broadcast to: its bucket is full.
  ///
  /// - Parameters:
  ///   - policy: validated.
  ///   - revision: of the content-state that members start with; it needs no broadcast.
  package init(policy: PublishingPolicy, revision: Revision = .initial, at now: Moment) {
    self.policy = policy
    ratePerHour = policy.budgetPerHour
    let capacity = policy.capacity(ratePerHour: ratePerHour)
    bucket = TokenBucket(
      refillInterval: PublishingPolicy.refillInterval(ratePerHour: ratePerHour),
      capacity: capacity, level: Double(capacity), at: now)
    self.revision = revision
    publishedRevision = revision
    lastTimestampSeconds = 0
    nextTimestampAt = now
  }

  /// Changes that no accepted or flying priority-10 broadcast carries, and the end, if it is due.
  package var isClean: Bool { backlog.isEmpty && flights.isEmpty && !isEnding }

  package var isEnding: Bool { if case .ending = phase { true } else { false } }
  package var isEnded: Bool { phase == .ended }

  /// How far the newest timestamp is ahead of the wall clock; zero or less is normal. More than
  /// ``PublishingPolicy/skewAlarm`` means that the clock was set back: raise an alarm.
  package func timestampLead(wall: UnixTime) -> Duration {
    .seconds(lastTimestampSeconds) - .nanoseconds(wall.nanoseconds)
  }

  // MARK: What happens to a trip

  /// The mapper produced a new content-state, and it is committed.
  ///
  /// - Parameters:
  ///   - revision: of the newest content-state; one call may stand for several changes.
  ///   - isSignificant: whether one of them must not wait. Keep these under 5 % of all.
  package mutating func changed(to revision: Revision, at now: Moment, isSignificant: Bool) {
    let changes = max(0, Int(revision.number - self.revision.number))
    guard changes > 0 else { return }
    gap.observe(changes, at: now, policy.gap)
    self.revision = revision
    // A request in flight may have read this very state already.
    let waiting = min(changes, Int(revision.number - coveredRevision.number))
    guard waiting > 0 else { return }
    backlog.add(waiting, at: now, isSignificant: isSignificant)
    isTailDirty = true
  }

  /// Asks for one priority-5 broadcast of what is there, so that the card does not go stale.
  package mutating func refresh() { isRefreshWanted = phase == .live }

  /// The trip is over and its final content-state committed. From the next send on, only the end
  /// event goes out.
  ///
  /// - Parameter giveUpAt: when the card can no longer be visible, so that the end is not worth
  ///   another try.
  package mutating func end(giveUpAt: Moment) {
    guard phase == .live else { return }
    phase = .ending(giveUpAt: giveUpAt)
    isRefreshWanted = false
    attempt = 0
    retryAt = .distantPast
  }

  /// The members were moved to a new channel; what the old one was not sent is due there.
  package mutating func channelReplaced() {
    guard stop == .channelGone else { return }
    stop = nil
    refreshRetryAt = .distantPast
    refresh()
  }

  /// The newest revision that a priority-10 broadcast, in flight or accepted, carries.
  var coveredRevision: Revision {
    max(publishedRevision, flights.newestRevision ?? publishedRevision)
  }
}

/// The classes of the app's queue, first served first.
package enum SendRank: Int, Sendable, Comparable, CaseIterable {
  case end, significant, ordinary, tail

  /// As in the `apns-priority` field.
  package var priority: Int { self == .tail ? 5 : 10 }

  package static func < (left: SendRank, right: SendRank) -> Bool {
    left.rawValue < right.rawValue
  }
}
