package import FieldTrips

/// How fresh cards are under each publishing policy, as figures for a person or a script.
package struct CoalescingReport: Sendable {
  /// Traces that may be pooled: recorded days and invented ones never are.
  package struct Pool: Sendable {
    package enum Kind: String, Sendable {
      case recorded, generated
    }

    package let kind: Kind
    /// The same trips at each budget; not empty.
    package let comparisons: [PolicyComparison]

    package init(_ kind: Kind, _ comparisons: [PolicyComparison]) {
      precondition(!comparisons.isEmpty, "a pool has a budget")
      self.kind = kind
      self.comparisons = comparisons
    }

    package var trips: [ReplayTrip] { comparisons[0].trips }
  }

  /// Recorded traces first, if there are any.
  package let pools: [Pool]

  package init(_ pools: [Pool]) {
    precondition(!pools.isEmpty, "a report has traces")
    self.pools = pools
  }

  /// The budget that is quoted: 60 an hour, or the first where that was not asked for.
  package var headline: PolicyComparison {
    let comparisons = pools[0].comparisons
    return comparisons.first { $0.budget.perHour == 60 } ?? comparisons[0]
  }

  /// What the rule promises for any traffic and did not keep; empty if all is well.
  ///
  /// How close it comes to the optimum depends on the traffic, and is no promise.
  package var brokenPromises: [String] {
    pools.flatMap { pool in pool.comparisons.flatMap { Self.brokenPromises(of: $0, pool.kind) } }
  }

  private static func brokenPromises(
    of comparison: PolicyComparison, _ kind: Pool.Kind
  ) -> [String] {
    let (budget, rule) = (comparison.budget, comparison.rule)
    let place = "at \(budget.perHour) an hour, over the \(kind.rawValue) traces"
    var broken: [String] = []
    let excess = rule.excess + comparison.significant.excess
    if excess > 0 { broken.append("\(Text.count(excess, "broadcast")) beyond the budget \(place)") }
    if rule.pooled.maxWait > Double(budget.refillSeconds + 1) {
      let wait = Text.fixed(rule.pooled.maxWait, decimals: 0)
      broken.append("a note waited for \(wait) s, longer than a token takes, \(place)")
    }
    if comparison.significant.p99Seconds > 1 {
      let wait = Text.fixed(comparison.significant.p99Seconds, decimals: 1)
      broken.append("significant changes waited for \(wait) s (p99) \(place)")
    }
    return broken
  }
}

extension PolicyComparison.Contender {
  /// For a person.
  func title(_ budget: ReplayBudget) -> String {
    switch self {
    case .rule: "fieldcast"
    case .tokenBucket: "token bucket, greedy"
    case .throttle: "throttle, \(budget.refillSeconds) s"
    case .debounce: "debounce \(Self.quiet(budget)), max \(budget.refillSeconds) s"
    case .fixedInterval: "every \(budget.refillSeconds) s"
    case .sendAll: "every change"
    }
  }
}
