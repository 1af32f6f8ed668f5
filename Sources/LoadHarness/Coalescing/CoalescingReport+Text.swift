internal import FieldTrips

extension CoalescingReport {
  /// Tables for a person, at most 80 columns wide; ends in a line end.
  package func text(coloured: Bool) -> String {
    let ink = Ink(coloured: coloured)
    var parts = pools.map { pool in
      ([title(of: pool, ink)] + pool.comparisons.map { table($0, ink) }).joined(separator: "\n\n")
    }
    parts.append(Self.legend)
    parts.append(verdict(ink))
    return parts.joined(separator: "\n\n") + "\n"
  }

  private func title(of pool: Pool, _ ink: Ink) -> String {
    let notes = pool.trips.reduce(0) { $0 + $1.changes.count }
    let seconds = pool.trips.reduce(0) { $0 + $1.end }
    let what =
      pool.kind == .recorded
      ? "recorded " + (pool.trips.count == 1 ? "trace" : "traces")
      : "traces that the generator invented"
    let size = "\(Text.grouped(notes)) notes in \(Text.span(seconds: Double(seconds)))"
    return ink(.title, "\(Text.grouped(pool.trips.count)) \(what): \(size)")
  }

  // MARK: One table

  private static let policyColumns = 23

  private func table(_ comparison: PolicyComparison, _ ink: Ink) -> String {
    let budget = comparison.budget
    let heading =
      "\(budget.perHour) broadcasts an hour, \(budget.capacity) at once; "
      + "a token takes \(budget.refillSeconds) s"
    let cells = ["R", "behind", "wrong", "p50", "p95", "max", "sends", "over"]
    var lines = [ink(.strong, heading), ink(.faint, Self.line("policy", cells))]
    for row in comparison.rows {
      let line = Self.line(row.contender.title(budget), Self.cells(of: row))
      lines.append(row.contender == .rule ? ink(.green, line) : line)
    }
    lines.append(Self.line("optimum", Self.optimumCells(comparison)))
    lines.append(Self.significant(comparison.significant))
    if comparison.budget == headline.budget, comparison.trips.count > 1 {
      lines += Self.byTrace(comparison)
    }
    return lines.joined(separator: "\n")
  }

  private static let widths = [6, 8, 9, 6, 6, 7, 7, 6]

  private static func line(_ policy: String, _ cells: [String]) -> String {
    zip(cells, widths).reduce(Text.fitted(policy, columns: policyColumns)) { line, cell in
      line + String(repeating: " ", count: max(1, cell.1 - Text.width(of: cell.0))) + cell.0
    }
  }

  private static func cells(of row: PolicyComparison.Row) -> [String] {
    let pooled = row.pooled
    return [
      Text.fixed(row.ratio, decimals: 2), Text.fixed(pooled.meanStaleness, decimals: 2),
      percent(pooled.wrongShare), seconds(pooled.wait(at: 0.5)), seconds(pooled.p95Wait),
      seconds(pooled.maxWait), Text.grouped(pooled.broadcasts), Text.grouped(row.excess),
    ]
  }

  private static func optimumCells(_ comparison: PolicyComparison) -> [String] {
    let time = Double(comparison.trips.reduce(0) { $0 + $1.end })
    let area = comparison.optima.reduce(0) { $0 + $1.leastArea }
    let wrong = comparison.optima.reduce(0) { $0 + $1.leastWrongSeconds }
    let wait = comparison.optima.map(\.leastMaxWait).max() ?? 0
    return [
      "1.00", Text.fixed(area / time, decimals: 2), percent(wrong / time), "–", "–",
      seconds(Double(wait)), "–", "0",
    ]
  }

  private static func significant(_ waits: SignificantWaits) -> String {
    "significant changes: \(Text.grouped(waits.count)), waited p99 "
      + "\(Text.fixed(waits.p99Seconds, decimals: 1)) s, max "
      + "\(Text.fixed(waits.maxSeconds, decimals: 1)) s"
  }

  private static func byTrace(_ comparison: PolicyComparison) -> [String] {
    var lines = ["R by trace:"]
    for (trip, ratio) in zip(comparison.trips, comparison.rule.ratios) {
      let part =
        " \(Text.cut(Text.harmless(trip.name), columns: 40)) "
        + Text.fixed(ratio, decimals: 2)
      if Text.width(of: lines[lines.count - 1] + part) > 78 { lines.append(" ") }
      lines[lines.count - 1] += part + (trip == comparison.trips.last ? "" : ",")
    }
    return lines
  }

  private static func percent(_ share: Double) -> String {
    Text.fixed(share * 100, decimals: 1) + " %"
  }

  private static func seconds(_ seconds: Double) -> String {
    Text.fixed(seconds, decimals: 0) + " s"
  }

  // MARK: What it means

  private static let legend = """
    R       note-seconds lost, over the fewest that a schedule could lose that has
            the same budget and knows the future; both with one second more a note
    behind  notes that the group does not see yet, on average over the time
    wrong   share of the time in which something is missing on the cards
    over    broadcasts for which the budget had no token
    Waits are from a note to the first priority-10 broadcast that carries it. The
    optimum's figures belong to three schedules, each the best for one of them.
    """

  private func verdict(_ ink: Ink) -> String {
    let broken = brokenPromises
    guard broken.isEmpty else {
      return ink(.red, "Not as it must be: \(broken.joined(separator: "; ")).")
    }
    let ratio = Text.fixed(headline.rule.ratio, decimals: 2)
    let budget = headline.budget
    return ink(
      .green,
      "R is \(ratio) at \(budget.perHour) an hour and a burst of \(budget.capacity), "
        + "over the \(pools[0].kind.rawValue) traces.")
  }
}
