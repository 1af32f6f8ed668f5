internal import Clocks

/// What groups would have seen on the same trips, with the same budget, under each policy.
package struct PolicyComparison: Sendable {
  /// The rule, and what others do instead.
  package enum Contender: String, Sendable, CaseIterable {
    case rule
    case tokenBucket = "token_bucket"
    case throttle
    case debounce
    case fixedInterval = "fixed_interval"
    case sendAll = "send_all"

    /// Every one but ``sendAll`` keeps to the budget, so that they can be compared.
    func policy(_ budget: ReplayBudget, rule: PublishingPolicy) -> PolicyReplay.Policy {
      let refill = budget.refillSeconds
      return switch self {
      case .rule: .rule(budget.applied(to: rule))
      case .tokenBucket: .tokenBucket(budget)
      case .throttle: .throttle(seconds: refill)
      case .debounce:
        .debounce(quiet: Contender.quiet(budget), maxWait: refill, within: budget)
      case .fixedInterval: .fixedClock(seconds: refill)
      case .sendAll: .sendAll
      }
    }

    /// Of the debounce: a quarter of a refill. The less quiet it asks for, the more it is a greedy
    /// token bucket, which stands beside it.
    package static func quiet(_ budget: ReplayBudget) -> Int { max(1, budget.refillSeconds / 4) }
  }

  /// What could be reached at best, each by a schedule of its own that knows the future.
  package struct Optimum: Sendable {
    package let leastArea: Double
    package let leastWrongSeconds: Double
    package let leastMaxWait: Int

    package init(_ trip: ReplayTrip, _ budget: ReplayBudget) {
      let bound = ClairvoyantBound(
        trip, refillSeconds: budget.refillSeconds, capacity: budget.capacity)
      leastArea = bound.leastArea()
      leastWrongSeconds = bound.leastWrongTime()
      leastMaxWait = bound.leastMaxWait()
    }
  }

  package struct Row: Sendable {
    package let contender: Contender
    /// In the order of ``PolicyComparison/trips``.
    package let trips: [ReplayMetrics]
    /// ``ReplayMetrics/stalenessRatio(_:)``, by trip and pooled.
    package let ratios: [Double]
    package let ratio: Double
    package let pooled: ReplayMetrics
    /// Broadcasts that found no token in the bucket.
    package let excess: Int
  }

  package let budget: ReplayBudget
  package let trips: [ReplayTrip]
  package let optima: [Optimum]
  package let rows: [Row]
  /// How the rule treats significant changes, in a replay of their own.
  package let significant: SignificantWaits

  /// - Parameters:
  ///   - optima: of these trips at this budget, in their order.
  ///   - policy: the rule's; its budget is replaced.
  package init(
    _ trips: [ReplayTrip], _ optima: [Optimum], _ budget: ReplayBudget,
    policy: PublishingPolicy = PublishingPolicy()
  ) {
    precondition(trips.count == optima.count, "an optimum for each trip")
    self.trips = trips
    self.optima = optima
    self.budget = budget
    rows = Contender.allCases.map { contender in
      let schedules = trips.map {
        PolicyReplay.broadcasts(of: contender.policy(budget, rule: policy), over: $0)
      }
      return Row(contender, trips, schedules, optima, budget)
    }
    significant = SignificantWaits(trips, budget, policy: policy)
  }

  package var rule: Row {
    guard let row = rows.first(where: { $0.contender == .rule }) else {
      preconditionFailure("every comparison has the rule")
    }
    return row
  }
}

extension PolicyComparison.Row {
  fileprivate init(
    _ contender: PolicyComparison.Contender, _ trips: [ReplayTrip], _ schedules: [[Int]],
    _ optima: [PolicyComparison.Optimum], _ budget: ReplayBudget
  ) {
    self.contender = contender
    let metrics = zip(trips, schedules).map { ReplayMetrics($0, broadcasts: $1) }
    self.trips = metrics
    let pairs = zip(metrics, optima).map { (metrics: $0, leastArea: $1.leastArea) }
    ratios = pairs.map { ReplayMetrics.stalenessRatio([$0]) }
    ratio = ReplayMetrics.stalenessRatio(pairs)
    pooled = ReplayMetrics(pooling: metrics)
    excess = schedules.reduce(0) { $0 + budget.excess(of: $1.map(Double.init)) }
  }
}

/// How long changes waited that must not wait, and what they did to the others.
///
/// The first note and the milestones of the built-in field trip are significant here. They may
/// borrow tokens, so that these replays are not held against the optimum.
package struct SignificantWaits: Sendable {
  package let count: Int
  package let p99Seconds: Double
  package let maxSeconds: Double
  /// Of all changes: one refill, unless debt had to be repaid first.
  package let longestWaitOfAll: Double
  /// Broadcasts beyond the bucket and what may be borrowed.
  package let excess: Int

  init(_ trips: [ReplayTrip], _ budget: ReplayBudget, policy: PublishingPolicy) {
    let rules = ActivityType.fieldTrip.definition.significance
    var (waits, longest, excess) = ([Double](), 0.0, 0)
    for trip in trips {
      let schedule = PolicyReplay.broadcasts(
        of: .rule(budget.applied(to: policy)), over: trip,
        isSignificant: { rules.isSignificant(noteNumber: Int64($0) + 1) })
      let part = ReplayMetrics(
        changes: SignificantWaits.numbers(in: trip).map { Double(trip.changes[$0 - 1]) },
        broadcasts: schedule.map(Double.init), end: Double(trip.end))
      waits += part.waits
      longest = max(longest, ReplayMetrics(trip, broadcasts: schedule).maxWait)
      excess += budget.excess(of: schedule.map(Double.init), overdraft: policy.overdraft)
    }
    waits.sort()
    count = waits.count
    p99Seconds = SignificantWaits.p99(of: waits)
    maxSeconds = waits.last ?? 0
    longestWaitOfAll = longest
    self.excess = excess
  }

  /// The significant notes of a trip, by their numbers from 1.
  package static func numbers(in trip: ReplayTrip) -> [Int] {
    let rules = ActivityType.fieldTrip.definition.significance
    return trip.changes.indices.map { $0 + 1 }.filter {
      rules.isSignificant(noteNumber: Int64($0))
    }
  }

  /// - Parameter waits: the shortest first.
  package static func p99(of waits: [Double]) -> Double { Percentile.of(waits, at: 0.99) }
}

extension SignificanceRules {
  /// Whether a trip's note of this number, from 1, is its first or passes a milestone.
  fileprivate func isSignificant(noteNumber number: Int64) -> Bool {
    (firstNote && number == 1)
      || milestones.contains { $0.isPassed(from: number - 1, to: number) }
  }
}
