internal import FieldTrips
internal import JSON

extension ServiceCoalescing {
  /// For a person, at most 80 columns wide; ends in a line end.
  package func text(coloured: Bool) -> String {
    let ink = Ink(coloured: coloured)
    let seconds = trips.reduce(0) { $0 + Double($1.end) }
    func fixed(_ number: Double, _ decimals: Int = 2) -> String {
      Text.fixed(number, decimals: decimals)
    }
    let rows = [
      (
        "traces",
        "\(trips.count) \(kind.rawValue), \(Text.grouped(pooled.notes)) notes in "
          + "\(Text.span(seconds: seconds)), at \(fixed(speed, 0)) times their pace"
      ),
      ("budget", "\(budget.perHour) broadcasts an hour, \(budget.capacity) at once"),
      ("R", "\(fixed(ratio)) through the service, \(fixed(ruleRatio)) by the rule alone"),
      (
        "behind",
        "\(fixed(pooled.meanStaleness)) notes on average, "
          + "\(fixed(pooled.wrongShare * 100, 1)) % of the time wrong"
      ),
      (
        "waits",
        "p50 \(fixed(pooled.wait(at: 0.5), 1)) s, p95 \(fixed(pooled.p95Wait, 1)) s, "
          + "longest \(fixed(pooled.maxWait, 1)) s"
      ),
      (
        "significant",
        "\(Text.count(significantWaits.count, "change")), p50 "
          + "\(fixed(significantP50, 1)) s, p99 \(fixed(significantP99, 1)) s, "
          + "longest \(fixed(significantWaits.last ?? 0, 1)) s"
      ),
      (
        "broadcasts",
        "\(Text.grouped(pooled.broadcasts)) at priority 10, "
          + "\(excess) beyond the budget, \(throttled) throttled"
      ),
    ]
    var lines = rows.map { ink(.faint, Text.fitted("  " + $0.0, columns: 15)) + $0.1 }
    lines += zip(trips, ratios).map { trip, ratio in
      ink(.faint, Text.fitted("  R", columns: 15)) + "\(fixed(ratio))  "
        + Text.cut(Text.harmless(trip.name), columns: 55)
    }
    let machine =
      "Waits are on the service's clock: a millisecond of the machine is \(fixed(speed / 1_000)) s."
    let broken = brokenPromises
    let verdict =
      broken.isEmpty
      ? ink(.green, "Within the budget, and no wait longer than it may be.")
      : ink(.red, "Not as it must be: \(broken.joined(separator: "; ")).")
    return lines.joined(separator: "\n") + "\n\n" + machine + "\n" + verdict + "\n"
  }

  /// One JSON object, without a line end. Times are seconds of the service's clock.
  package func json() -> String {
    let object: JSONValue = [
      "ratio_to_optimum": .decimal(ratio),
      "ratio_of_the_rule": .decimal(ruleRatio),
      "budget_per_hour": .whole(budget.perHour),
      "burst": .whole(budget.capacity),
      "traces": .string(kind.rawValue),
      "through": "the service",
      "speed": .decimal(speed),
      "broken_promises": .array(brokenPromises.map(JSONValue.string)),
      "over_budget_sends": .whole(excess),
      "throttled": .whole(throttled),
      "significant": [
        "changes": .whole(significantWaits.count),
        "wait_p50_seconds": .decimal(significantP50),
        "wait_p99_seconds": .decimal(significantP99),
        "wait_max_seconds": .decimal(significantWaits.last ?? 0),
      ],
      "pooled": .object(CoalescingReport.metrics(pooled)),
      "by_trace": .array(
        trips.indices.map { index in
          var trace = CoalescingReport.metrics(metrics[index])
          trace["trace"] = .string(trips[index].name)
          trace["ratio_to_optimum"] = .decimal(ratios[index])
          trace["least_area_note_seconds"] = .decimal(leastAreas[index])
          return .object(trace)
        }),
    ]
    return object.serializedText
  }
}
