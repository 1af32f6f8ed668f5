import FieldTrips
import JSON
import LoadHarness
import Testing

@Suite struct `A coalescing report` {
  private func report() throws -> CoalescingReport {
    // The first half hour of two invented days.
    let trips = [1, 2].map { (seed: UInt64) in
      let trace = TraceGenerator.trace(.outing, seed: seed)
      let captures = trace.captures.prefix { $0.offsetSeconds < 1_800 }
      return ReplayTrip(spreading: CaptureTrace(name: trace.name, captures: Array(captures)))
    }
    let comparisons = try [60, 90].map { (perHour: Int) in
      let budget = try #require(ReplayBudget(perHour: perHour))
      return PolicyComparison(trips, trips.map { .init($0, budget) }, budget)
    }
    return CoalescingReport([CoalescingReport.Pool(.generated, comparisons)])
  }

  @Test func `quotes sixty an hour, or else the first budget`() throws {
    let report = try report()
    #expect(report.headline.budget.perHour == 60)
    let other = CoalescingReport([
      CoalescingReport.Pool(.generated, [report.pools[0].comparisons[1]])
    ])
    #expect(other.headline.budget.perHour == 90)
    #expect(report.brokenPromises.isEmpty)
  }

  @Test func `gives a script every figure`() throws {
    let report = try report()
    let object = try JSONValue.parse(Array(report.json().utf8))
    let ratio = try #require(object["ratio_to_optimum"]?.number?.double)
    #expect(abs(ratio - report.headline.rule.ratio) < 1e-3)
    #expect(object["traces"] == "generated")
    let budgets = try #require(object["pools"]?[0]?["budgets"]?.array)
    #expect(budgets.map { $0["budget_per_hour"] } == [60, 90])
    for budget in budgets {
      let policies = try #require(budget["policies"]?.array)
      #expect(policies.count == PolicyComparison.Contender.allCases.count)
      #expect(policies[0]["policy"] == "fieldcast")
      for policy in policies {
        #expect(policy["by_trace"]?.array?.count == 2)
        #expect(policy["sends"]?.int64 ?? 0 > 0)
      }
      #expect(policies.last?["over_budget_sends"]?.int64 ?? 0 > 0)
    }
  }

  @Test func `fits a terminal and says whose days they are`() throws {
    let text = try report().text(coloured: false)
    for line in text.split(separator: "\n") {
      #expect(Text.width(of: String(line)) <= 80, "\(line)")
    }
    #expect(text.contains("2 traces that the generator invented"))
    #expect(!text.contains("recorded"))
    #expect(text.contains("every change"))
  }
}
