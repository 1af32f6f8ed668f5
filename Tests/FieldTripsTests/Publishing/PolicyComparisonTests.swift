import FieldTrips
import Testing

@Suite struct `A replay's budget` {
  @Test func `is a divisor of the hour`() throws {
    let budget = try #require(ReplayBudget(perHour: 60))
    #expect((budget.refillSeconds, budget.capacity) == (60, 10))
    #expect(ReplayBudget(perHour: 12)?.capacity == 2)
    for wrong in [0, 7, 11, 61, 3_600] { #expect(ReplayBudget(perHour: wrong) == nil) }
  }

  @Test func `counts the broadcasts that found no token`() {
    let budget = ReplayBudget(refillSeconds: 60, capacity: 2)
    #expect(budget.excess(of: [0, 1, 60, 120]) == 0)
    #expect(budget.excess(of: [0, 1, 59, 60]) == 1)
    // What was refused took no token, so that the next one finds it.
    #expect(budget.excess(of: [0, 1, 2, 3, 60, 61]) == 3)
    #expect(budget.excess(of: [0, 1, 2, 3], overdraft: 2) == 0)
    #expect(budget.excess(of: [0, 1, 2, 3, 4], overdraft: 2) == 1)
    #expect(budget.excess(of: [0, 1, 59.5], slackSeconds: 0.5) == 0)
  }

  @Test(arguments: 1...12 as ClosedRange<UInt64>)
  func `is kept by everyone but those who send all`(_ seed: UInt64) throws {
    var dice = PolicyDice(seed: seed)
    let trip = dice.trip(changes: 40, meanGap: [4.0, 20, 60][dice.roll(0...2)])
    let budget = try #require(ReplayBudget(perHour: [30, 60, 120][dice.roll(0...2)]))
    let comparison = PolicyComparison([trip], [.init(trip, budget)], budget)
    for row in comparison.rows where row.contender != .sendAll {
      #expect(row.excess == 0, "\(row.contender)")
      // No schedule within the budget is better than the one that knows the future.
      #expect(row.ratio >= 1, "\(row.contender)")
      #expect(row.pooled.wrongSeconds >= comparison.optima[0].leastWrongSeconds)
      #expect(row.pooled.maxWait >= Double(comparison.optima[0].leastMaxWait))
    }
    #expect(comparison.significant.excess == 0)
  }
}

@Suite struct `A comparison of policies` {
  private func comparison() throws -> PolicyComparison {
    var dice = PolicyDice(seed: 4)
    let trips = (0..<3).map { _ in dice.trip(changes: 60, meanGap: 15) }
    let budget = try #require(ReplayBudget(perHour: 60))
    return PolicyComparison(trips, trips.map { .init($0, budget) }, budget)
  }

  @Test func `pools the trips`() throws {
    let comparison = try comparison()
    for row in comparison.rows {
      #expect(row.pooled.notes == 180)
      #expect(row.pooled.area == row.trips.reduce(0) { $0 + $1.area })
      #expect(row.pooled.maxWait == row.trips.map(\.maxWait).max())
      let least = comparison.optima.reduce(0) { $0 + $1.leastArea }
      #expect(abs(row.ratio - (row.pooled.area + 180) / (least + 180)) < 1e-12)
      #expect(row.ratios.count == 3)
    }
  }

  @Test func `has the rule first, which waits no longer than a token takes`() throws {
    let comparison = try comparison()
    let rule = comparison.rule
    #expect(rule.contender == comparison.rows.first?.contender)
    #expect(rule.pooled.maxWait <= 60)
    #expect(comparison.rows.allSatisfy { $0.contender == .sendAll || $0.ratio >= rule.ratio })
  }

  @Test func `lets significant changes out at once`() throws {
    let significant = try comparison().significant
    // The first note, 10, 25 and 50 of each trip.
    #expect(significant.count == 12)
    #expect(significant.maxSeconds <= 1)
    #expect(significant.p99Seconds <= significant.maxSeconds)
  }
}
