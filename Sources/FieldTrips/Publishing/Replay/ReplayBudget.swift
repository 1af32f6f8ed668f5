/// A channel's budget of priority-10 broadcasts, in whole seconds, as replays need it.
package struct ReplayBudget: Sendable, Hashable {
  package let perHour: Int
  /// In which one token comes back.
  package let refillSeconds: Int
  /// Tokens in a full bucket.
  package let capacity: Int

  /// A full bucket holds ten minutes' worth, and at least 2.
  ///
  /// - Returns: nil unless tokens take a whole number of seconds, at least 2 and at most 300.
  package init?(perHour: Int) {
    guard (12...1_800).contains(perHour), 3_600 % perHour == 0 else { return nil }
    self.init(refillSeconds: 3_600 / perHour, capacity: max(2, perHour / 6))
  }

  package init(refillSeconds: Int, capacity: Int) {
    precondition(refillSeconds >= 1 && capacity >= 1, "a bucket has tokens, and they take time")
    perHour = 3_600 / refillSeconds
    self.refillSeconds = refillSeconds
    self.capacity = capacity
  }

  /// The policy of a service with this budget.
  package func applied(to policy: PublishingPolicy) -> PublishingPolicy {
    var policy = policy
    policy.budgetPerHour = Double(perHour)
    policy.burst = capacity
    return policy
  }

  /// How many of these broadcasts found no token in the bucket, that being full at second 0.
  ///
  /// Such a broadcast takes no token: APNs would have refused it.
  ///
  /// - Parameters:
  ///   - broadcasts: seconds, in order.
  ///   - overdraft: tokens that may be borrowed.
  ///   - slackSeconds: by which a broadcast may come early: answers do not all take the same time.
  package func excess(
    of broadcasts: [Double], overdraft: Int = 0, slackSeconds: Double = 0
  ) -> Int {
    let refill = Double(refillSeconds)
    var anchor = -refill * Double(capacity)
    var excess = 0
    for second in broadcasts {
      let start = max(anchor, second - refill * Double(capacity))
      if start + refill * Double(1 - overdraft) <= second + slackSeconds {
        anchor = start + refill
      } else {
        excess += 1
      }
    }
    return excess
  }
}

/// A token bucket on a clock of whole seconds, full at second 0.
struct WholeSecondBucket {
  private let budget: ReplayBudget
  private var anchor: Int

  init(_ budget: ReplayBudget) {
    self.budget = budget
    anchor = -budget.refillSeconds * budget.capacity
  }

  /// The second in which a token is there.
  var ready: Int { anchor + budget.refillSeconds }

  mutating func spend(at second: Int) {
    anchor = max(anchor, second - budget.refillSeconds * budget.capacity) + budget.refillSeconds
  }
}
