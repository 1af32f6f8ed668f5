internal import Clocks

/// Runs publishing policies over trips on a virtual clock, to compare what their groups would see.
///
/// Within a second, changes come before the decision; moments are rounded up to whole seconds;
/// the bucket is full at the start; APNs accepts at once; priority 10 only.
package enum PolicyReplay {
  /// The rule, and what others do instead.
  package enum Policy: Sendable, Equatable {
    /// The publisher itself, with this policy; its tail is left out.
    case rule(PublishingPolicy)
    /// A broadcast for every second with a change: what an unlimited budget would show.
    case sendAll
    /// At each multiple of this many seconds, if something changed.
    case fixedClock(seconds: Int)
    /// Once nothing changed for `quiet` seconds, or the oldest change has waited `maxWait`; where
    /// a budget is given, not before a token is there.
    case debounce(quiet: Int, maxWait: Int, within: ReplayBudget? = nil)
    /// The first change at once, later ones at most each so many seconds (leading and trailing).
    case throttle(seconds: Int)
    /// Whenever something changed and a token is there.
    case tokenBucket(ReplayBudget)
  }

  /// The seconds of a trip's broadcasts, in order, without its end.
  ///
  /// - Parameter isSignificant: whether the change of this index must not wait; only the rule
  ///   listens to it.
  package static func broadcasts(
    of policy: Policy, over trip: ReplayTrip, isSignificant: (Int) -> Bool = { _ in false }
  ) -> [Int] {
    switch policy {
    case .rule(let policy):
      var session = RuleSession(policy)
      return run(trip) { second, changes in
        session.decide(second: second, changes: changes.map(isSignificant))
      }
    case .sendAll:
      return run(trip) { second, changes in changes.isEmpty ? nil : second }
    case .fixedClock(let interval):
      return run(trip, pending: { now, _, _ in (now + interval - 1) / interval * interval })
    case .debounce(let quiet, let maxWait, nil):
      return run(trip, pending: { _, oldest, newest in min(newest + quiet, oldest + maxWait) })
    case .debounce(let quiet, let maxWait, let budget?):
      var bucket = WholeSecondBucket(budget)
      return run(
        trip,
        pending: { _, oldest, newest in
          max(min(newest + quiet, oldest + maxWait), bucket.ready)
        }, sent: { bucket.spend(at: $0) })
    case .throttle(let interval):
      var last = -interval
      return run(
        trip, pending: { now, _, _ in max(now, last + interval) }, sent: { last = $0 })
    case .tokenBucket(let budget):
      var bucket = WholeSecondBucket(budget)
      return run(
        trip, pending: { now, _, _ in max(now, bucket.ready) }, sent: { bucket.spend(at: $0) })
    }
  }

  /// Drives a policy that says when pending changes are due.
  ///
  /// - Parameter pending: from now, the oldest and the newest pending change to the second in
  ///   which they are sent; asked at each change and at the second that it gave.
  private static func run(
    _ trip: ReplayTrip, pending due: (Int, Int, Int) -> Int, sent: (Int) -> Void = { _ in }
  ) -> [Int] {
    var waiting: (oldest: Int, newest: Int)?
    return run(trip) { now, changes in
      if !changes.isEmpty { waiting = (waiting?.oldest ?? now, now) }
      guard let (oldest, newest) = waiting else { return nil }
      let moment = due(now, oldest, newest)
      guard moment <= now else { return moment }
      sent(now)
      waiting = nil
      return now
    }
  }

  /// Visits the seconds in which something changes or that `decide` asked for.
  ///
  /// - Parameter decide: from a second and the indices of its changes to that second (it was a
  ///   broadcast), a later one (ask again then), or nil (not before the next change).
  private static func run(_ trip: ReplayTrip, decide: (Int, Range<Int>) -> Int?) -> [Int] {
    var broadcasts: [Int] = []
    var index = 0
    var wake: Int?
    while true {
      let change = index < trip.changes.count ? trip.changes[index] : nil
      guard let now = [change, wake].compactMap({ $0 }).min(), now < trip.end else {
        return broadcasts
      }
      let first = index
      while index < trip.changes.count, trip.changes[index] == now { index += 1 }
      wake = decide(now, first..<index)
      if wake == now {
        broadcasts.append(now)
        wake = nil
      }
    }
  }

  /// The real publisher, with a driver whose requests take no time.
  private struct RuleSession {
    private var publisher: ChannelPublisher
    private var revision = Revision.initial
    private var random = SystemRandomNumberGenerator()

    init(_ policy: PublishingPolicy) {
      var policy = policy
      policy.isTailOn = false
      publisher = ChannelPublisher(policy: policy, at: .origin)
    }

    /// - Parameter changes: of this second, whether each is significant.
    mutating func decide(second: Int, changes: [Bool]) -> Int? {
      let now = Moment.origin + .seconds(second)
      let wall = UnixTime(wholeSeconds: Int64(second) + 1)
      for isSignificant in changes {
        revision = revision.next
        publisher.changed(to: revision, at: now, isSignificant: isSignificant)
      }
      switch publisher.plan(at: now, wall: wall) {
      case .wake(let moment):
        return Int((moment - .origin + .nanoseconds(999_999_999)).components.seconds)
      case .send:
        broadcast(at: now, wall: wall)
        return second
      case .idle, .stopped:
        return nil
      }
    }

    private mutating func broadcast(at now: Moment, wall: UnixTime) {
      guard let reservation = publisher.beginSend(at: now, wall: wall) else {
        preconditionFailure("a planned broadcast can begin")
      }
      publisher.sent(
        reservation.id, revision: revision,
        timestampSeconds: reservation.proposedTimestampSeconds)
      // Accepted broadcasts draw no randomness.
      _ = publisher.answered(reservation.id, .accepted, at: now, using: &random)
    }
  }
}
