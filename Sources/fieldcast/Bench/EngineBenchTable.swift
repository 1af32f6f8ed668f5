internal import EngineBench
internal import LoadHarness

/// A report of the engine's benchmark as a person reads it.
struct EngineBenchTable {
  private let report: EngineBenchReport
  private let style: Style

  init(_ report: EngineBenchReport, style: Style) {
    self.report = report
    self.style = style
  }

  var text: String {
    ([heading] + contests + [summary]).joined(separator: "\n")
  }

  private var heading: String {
    """
    One TLS connection, POST with 300 bytes, \(Text.count(report.rounds, "round")): medians, and \
    [least to most].
    \(report.machine), load \(Text.fixed(report.loadBefore, decimals: 2)) before and \
    \(Text.fixed(report.loadAfter, decimals: 2)) after.

    """
  }

  /// The rows of each workload together, under its name.
  private var contests: [String] {
    var titles: [String] = []
    for row in report.rows where !titles.contains(title(row)) { titles.append(title(row)) }
    return titles.map { title in
      let rows = report.rows.filter { self.title($0) == title }
      let columns = style.faint(
        "  " + Text.fitted("", columns: 26) + right("CPU µs a request", 22)
          + right("requests/s", 12) + right("CPU ÷ h2load's", 22) + right("rate ÷", 8))
      return ([style.bold(title), columns] + rows.map { line($0) } + [""]).joined(separator: "\n")
    }
  }

  private func title(_ row: EngineBenchReport.Row) -> String {
    let known = row.workload.answersAfterMilliseconds > 0 || row.workload.halfBad
    return known
      ? row.workload.title
      : "\(row.workload.title), \(Text.grouped(row.workload.requests))"
  }

  private func line(_ row: EngineBenchReport.Row) -> String {
    let ratios = report.ratios(row, \.cpuMicroseconds)
    let rates = report.ratios(row, \.perSecond)
    return "  " + Text.fitted(row.contender.title, columns: 26)
      + right(spread(row.cpuMicroseconds), 22)
      + right(Text.grouped(Int(EngineBenchReport.median(row.perSecond))), 12)
      + (ratios.isEmpty ? "" : right(spread(ratios), 22))
      + (rates.isEmpty ? "" : right(Text.fixed(EngineBenchReport.median(rates), decimals: 2), 8))
  }

  private func spread(_ values: [Double]) -> String {
    guard let least = values.min(), let most = values.max() else { return "" }
    let words = [EngineBenchReport.median(values), least, most].map { Text.fixed($0, decimals: 2) }
    return "\(words[0]) [\(words[1]) to \(words[2])]"
  }

  private func right(_ text: String, _ columns: Int) -> String {
    String(repeating: " ", count: max(columns - Text.width(of: text), 1)) + text
  }

  private var summary: String {
    func megabytes(_ bytes: Double) -> String { Text.fixed(bytes / 1e6, decimals: 2) + " MB" }
    var lines = [
      "Memory: at most \(megabytes(Double(report.peakBytes))); the heap grew by "
        + "\(megabytes(report.heapGrowthBytes)) between the first fifth and the last request."
    ]
    if !report.goodRateRatios.isEmpty {
      lines.append(
        "With as many bad tokens beside them, good ones are accepted at "
          + "\(spread(report.goodRateRatios)) of their rate without.")
    }
    return lines.joined(separator: "\n") + "\n"
  }
}
