package import FieldTrips

/// How fresh cards were with the whole service between notes and phones: doors, log, mapper,
/// commits, the app's queue, TLS and APNs' answers. The rule alone knows none of these.
///
/// All times are the service's, which pass `speed` times faster than real ones; so the machine's
/// delays count `speed` times.
package struct ServiceCoalescing: Sendable {
  /// One trip that was played twice at the same time.
  package struct Played: Sendable {
    package let trip: ReplayTrip
    /// With no note significant: the ratio to the optimum is taken from this one, since borrowing
    /// tokens would change the optimum too.
    package let plain: ServiceReplay.Record
    /// With the first note and the milestones significant.
    package let marked: ServiceReplay.Record

    package init(trip: ReplayTrip, plain: ServiceReplay.Record, marked: ServiceReplay.Record) {
      self.trip = trip
      self.plain = plain
      self.marked = marked
    }
  }

  package let kind: CoalescingReport.Pool.Kind
  package let budget: ReplayBudget
  package let speed: Double
  package let trips: [ReplayTrip]
  /// By trip, in order.
  package let metrics: [ReplayMetrics]
  package let ratios: [Double]
  package let leastAreas: [Double]
  package let pooled: ReplayMetrics
  package let ratio: Double
  /// Of the same trips by the rule alone, on a virtual clock.
  package let ruleRatio: Double
  /// Broadcasts without a token, by APNs' record, a second of grace allowed: acceptance does not
  /// always take the same time.
  package let excess: Int
  package let throttled: Int
  /// Of significant changes, the shortest first, in seconds.
  package let significantWaits: [Double]
  package let isConverged: Bool

  package init(
    _ kind: CoalescingReport.Pool.Kind, _ budget: ReplayBudget, speed: Double, _ played: [Played],
    policy: PublishingPolicy = PublishingPolicy()
  ) {
    self.kind = kind
    self.budget = budget
    self.speed = speed
    trips = played.map(\.trip)
    let metrics = played.map(\.plain.metrics)
    let least = zip(played, metrics).map { trip, metrics in
      ClairvoyantBound(
        realTimes: trip.plain.changes, end: metrics.tripSeconds,
        refillSeconds: budget.refillSeconds, capacity: budget.capacity
      ).leastArea()
    }
    let pairs = zip(metrics, least).map { (metrics: $0, leastArea: $1) }
    self.metrics = metrics
    leastAreas = least
    ratios = pairs.map { ReplayMetrics.stalenessRatio([$0]) }
    ratio = ReplayMetrics.stalenessRatio(pairs)
    pooled = ReplayMetrics(pooling: metrics)
    let rule = played.map { trip in
      let schedule = PolicyReplay.broadcasts(
        of: .rule(budget.applied(to: policy)), over: trip.trip)
      let bound = ClairvoyantBound(
        trip.trip, refillSeconds: budget.refillSeconds, capacity: budget.capacity)
      return (
        metrics: ReplayMetrics(trip.trip, broadcasts: schedule), leastArea: bound.leastArea()
      )
    }
    ruleRatio = ReplayMetrics.stalenessRatio(rule)
    excess = played.reduce(0) { sum, trip in
      sum + budget.excess(of: trip.plain.budgeted, slackSeconds: 1)
        + budget.excess(
          of: trip.marked.budgeted, overdraft: policy.overdraft, slackSeconds: 1)
    }
    throttled = played.reduce(0) { $0 + $1.plain.throttled + $1.marked.throttled }
    significantWaits = played.flatMap { trip in
      trip.marked.waits(ofNotes: SignificantWaits.numbers(in: trip.trip))
    }.sorted()
    isConverged = played.allSatisfy { $0.plain.isConverged && $0.marked.isConverged }
  }

  /// Tells the machine's own delay, since these changes wait for nothing but a free second.
  package var significantP50: Double {
    significantWaits.isEmpty ? 0 : significantWaits[significantWaits.count / 2]
  }

  package var significantP99: Double { SignificantWaits.p99(of: significantWaits) }

  /// What a wait may be longer than the rule allows: 50 ms on the machine's clock.
  package var allowance: Double { 0.05 * speed }

  package var brokenPromises: [String] {
    var broken: [String] = []
    if excess > 0 { broken.append("\(Text.count(excess, "broadcast")) beyond the budget") }
    if pooled.maxWait > Double(budget.refillSeconds + 1) + allowance {
      broken.append("a note waited for \(Text.fixed(pooled.maxWait, decimals: 1)) s")
    }
    if significantP99 > 1 + allowance {
      broken.append(
        "significant changes waited for \(Text.fixed(significantP99, decimals: 1)) s (p99)")
    }
    if !isConverged { broken.append("a phone ended on another state than the last") }
    return broken
  }
}
