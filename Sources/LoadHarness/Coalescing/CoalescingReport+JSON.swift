internal import FieldTrips
internal import JSON

extension CoalescingReport {
  /// One JSON object, without a line end. Times are seconds; waits are of notes, to the first
  /// priority-10 broadcast that carries them.
  package func json() -> String {
    let headline = headline
    let object: JSONValue = [
      "ratio_to_optimum": .decimal(headline.rule.ratio),
      "budget_per_hour": .whole(headline.budget.perHour),
      "burst": .whole(headline.budget.capacity),
      "traces": .string(pools[0].kind.rawValue),
      "through": "the rule",
      "broken_promises": .array(brokenPromises.map(JSONValue.string)),
      "pools": .array(pools.map(Self.object)),
    ]
    return object.serializedText
  }

  private static func object(_ pool: Pool) -> JSONValue {
    [
      "traces": .string(pool.kind.rawValue),
      "notes": .whole(pool.trips.reduce(0) { $0 + $1.changes.count }),
      "seconds": .whole(pool.trips.reduce(0) { $0 + $1.end }),
      "budgets": .array(pool.comparisons.map(object)),
    ]
  }

  private static func object(_ comparison: PolicyComparison) -> JSONValue {
    let significant = comparison.significant
    return [
      "budget_per_hour": .whole(comparison.budget.perHour),
      "burst": .whole(comparison.budget.capacity),
      "ratio_to_optimum": .decimal(comparison.rule.ratio),
      "policies": .array(comparison.rows.map { object($0, comparison) }),
      "optimum": [
        "least_area_note_seconds": .decimal(
          comparison.optima.reduce(0) { $0 + $1.leastArea }),
        "least_wrong_seconds": .decimal(
          comparison.optima.reduce(0) { $0 + $1.leastWrongSeconds }),
        "least_max_wait_seconds": .whole(comparison.optima.map(\.leastMaxWait).max() ?? 0),
      ],
      "significant": [
        "changes": .whole(significant.count),
        "wait_p99_seconds": .decimal(significant.p99Seconds),
        "wait_max_seconds": .decimal(significant.maxSeconds),
        "longest_wait_of_all_seconds": .decimal(significant.longestWaitOfAll),
        "over_budget_sends": .whole(significant.excess),
      ],
    ]
  }

  private static func object(
    _ row: PolicyComparison.Row, _ comparison: PolicyComparison
  ) -> JSONValue {
    var object = metrics(row.pooled)
    object["policy"] = .string(row.contender == .rule ? "fieldcast" : row.contender.rawValue)
    object["ratio_to_optimum"] = .decimal(row.ratio)
    object["over_budget_sends"] = .whole(row.excess)
    object["by_trace"] = .array(
      comparison.trips.indices.map { index in
        var trace = metrics(row.trips[index])
        trace["trace"] = .string(comparison.trips[index].name)
        trace["ratio_to_optimum"] = .decimal(row.ratios[index])
        trace["least_area_note_seconds"] = .decimal(comparison.optima[index].leastArea)
        return .object(trace)
      })
    return .object(object)
  }

  static func metrics(_ metrics: ReplayMetrics) -> JSONObject {
    [
      "notes": .whole(metrics.notes),
      "seconds": .decimal(metrics.tripSeconds),
      "area_note_seconds": .decimal(metrics.area),
      "mean_staleness_notes": .decimal(metrics.meanStaleness),
      "wrong_share": .decimal(metrics.wrongShare),
      "wait_mean_seconds": .decimal(metrics.meanWait),
      "wait_p50_seconds": .decimal(metrics.wait(at: 0.5)),
      "wait_p95_seconds": .decimal(metrics.p95Wait),
      "wait_max_seconds": .decimal(metrics.maxWait),
      "sends": .whole(metrics.broadcasts),
    ]
  }
}

extension JSONValue {
  static func whole(_ number: Int) -> JSONValue { .number(JSONNumber(number)) }

  /// To four decimals.
  static func decimal(_ number: Double) -> JSONValue {
    .number(JSONNumber(Text.fixed(number, decimals: 4)) ?? JSONNumber(0))
  }
}
