extension LoadReport {
  /// The report for a terminal.
  package func text(coloured: Bool) -> String {
    let ink = Ink(coloured: coloured)
    var lines: [String] = [""]
    lines += head(ink) + latencyTable(ink) + freshness() + broadcasting() + costs()
    lines += [""] + verdict(ink)
    return lines.joined(separator: "\n") + "\n"
  }

  private func head(_ ink: Ink) -> [String] {
    var first = "\(Text.count(conditions.trips, "trip")), "
    first += "\(Text.grouped(members)) members, "
    first += "\(Self.number(conditions.capturesPerSecond)) captures a second"
    var second = "\(conditions.shape), by \(conditions.doors.joined(separator: ", ")), "
    second += Text.span(seconds: conditions.seconds)
    if conditions.rampSeconds > 0 {
      second += ", ramp \(Text.span(seconds: conditions.rampSeconds))"
    }
    second += ", seed \(conditions.seed)"
    return [
      ink(.title, first), second,
      "Open loop: captures come by a schedule made beforehand, whether the service keeps up or",
      "not, and each wait counts from its scheduled moment (no coordinated omission).", "",
    ]
  }

  private func latencyTable(_ ink: Ink) -> [String] {
    let columns = ["p50", "p95", "p99", "max", "n"]
    var lines = [
      ink(.strong, Text.fitted("latency", columns: 24) + columns.map(Self.right).joined())
    ]
    lines += latencies.map { Self.row($0.name, $0.histogram) }
    lines.append(ink(.strong, "of that"))
    lines += stages.map { Self.row("  " + $0.name, $0.histogram) }
    lines.append(Self.row("harness behind schedule", lateness))
    lines.append("")
    lines.append("Where the stamps come from")
    for latency in latencies + stages {
      lines.append("  \(Text.fitted(latency.name, columns: 22)) \(latency.stamps)")
    }
    lines.append("  Ingest, commit and publisher are of one sample:")
    lines.append("  \(stagesSample).")
    if stagesLost > 0 {
      lines.append("  Of \(Text.count(stagesLost, "trip")) not every entry of the log was seen.")
    }
    return lines + [""]
  }

  /// Which captures the parts are of.
  var stagesSample: String {
    "the \(Text.grouped(stagesComplete)) captures with all stamps, of "
      + "\(Text.grouped(stagesCaptures)) in followed partitions"
  }

  private static func row(_ name: String, _ histogram: LatencyHistogram) -> String {
    let values = [0.5, 0.95, 0.99, 1].map { share in
      histogram.isEmpty ? "-" : Self.time(histogram.quantile(share))
    }
    return Text.fitted(name, columns: 24)
      + (values + [Text.grouped(histogram.total)]).map(right).joined()
  }

  private static func right(_ text: String) -> String {
    String(repeating: " ", count: max(1, 12 - text.count)) + text
  }

  private func freshness() -> [String] {
    var lines = [
      line("captures", "\(Text.grouped(captures)), on phones \(Text.grouped(capturesShown))")
    ]
    if neverShown > 0 {
      lines.append(
        line("  never shown", "\(Text.grouped(neverShown)), which count as the longest waits"))
    }
    for door in doors {
      let failed = door.failed > 0 ? ", failed \(Text.grouped(door.failed))" : ""
      lines.append(line("  by \(door.name)", Text.grouped(door.handedOver) + failed))
    }
    lines += problems.map { line("", $0) }
    lines.append(
      line("staleness", "\(Text.fixed(notesBehind, decimals: 3)) notes behind on average"))
    lines.append(
      line("card wrong", "\(Text.fixed(shareWrong * 100, decimals: 1)) % of the time"))
    if let isLagGrowing {
      let first = Self.time(firstQuarterLag.quantile(0.5))
      let last = Self.time(lastQuarterLag.quantile(0.5))
      lines.append(
        line(
          "lag to commit",
          "\(first) in the first quarter, \(last) in the last: "
            + (isLagGrowing ? "growing" : "not growing")))
    }
    return lines
  }

  private func broadcasting() -> [String] {
    let byPriority = broadcasts.sorted { $0.key > $1.key }.map {
      "\(Text.grouped($0.value)) at priority \($0.key)"
    }
    var lines = [line("broadcasts", byPriority.isEmpty ? "0" : byPriority.joined(separator: ", "))]
    if let conflation {
      lines.append(
        line("conflation", "\(Text.fixed(conflation, decimals: 2)) captures a broadcast with news"))
    }
    lines.append(line("429s", Text.grouped(throttled)))
    for (reason, count) in refusals.sorted(by: { $0.key < $1.key })
    where reason != "TooManyRequests" {
      lines.append(line("  \(reason)", Text.grouped(count)))
    }
    let rate = measuredSeconds > 0 ? Double(phonesReached) / measuredSeconds : 0
    lines.append(
      line(
        "members reached",
        "\(Text.grouped(phonesReached)), \(Text.grouped(Int(rate.rounded()))) a second"))
    if let joinsPerSecond {
      lines.append(
        line(
          "joined",
          "\(Text.grouped(members)) members in \(Self.number(joinSeconds)) s, "
            + "\(Text.grouped(joinsPerSecond)) a second"))
    }
    if joins + leaves > 0 {
      lines.append(line("churn", "\(joins) joins, \(leaves) leaves, \(churnFailures) failed"))
    }
    return lines
  }

  private func costs() -> [String] {
    var lines: [String] = []
    for process in processes {
      let share = measuredSeconds > 0 ? process.cpuSeconds / measuredSeconds * 100 : 0
      lines.append(
        line(
          "\(process.name)",
          "\(Text.fixed(share, decimals: 1)) % of a core (idle "
            + "\(Text.fixed(process.idleShare * 100, decimals: 1)) %), "
            + "\(Self.bytes(Double(process.residentAtEnd))), at most "
            + Self.bytes(Double(process.residentPeak))))
    }
    if let cost = cpuPerCapture {
      lines.append(
        line(
          "CPU per capture",
          "\(Text.fixed(cost.gross, decimals: 1)) µs of the service, "
            + "\(Text.fixed(cost.net, decimals: 1)) µs without its idle load"))
      lines.append(line("", "until APNs had accepted everything, the backlog included"))
    }
    if let trip = memory?.bytesPerTrip, let after = memory?.bytesPerTripAfterLoad {
      lines.append(
        line("memory per trip", "\(Self.growth(trip)), after the load \(Self.growth(after))"))
    }
    if let member = memory?.bytesPerMember {
      lines.append(line("memory per member", Self.growth(member)))
    }
    return lines
  }

  private func verdict(_ ink: Ink) -> [String] {
    var lines: [String] = []
    if isHarnessLate {
      lines.append(
        ink(.yellow, "The harness was behind its own schedule: its waits are in these figures."))
    }
    if missedBroadcasts > 0 {
      lines.append(
        ink(.red, "\(Text.count(missedBroadcasts, "broadcast")) went unseen: figures are too low."))
    }
    let share = "\(Text.grouped(convergence.phonesRight)) of \(Text.grouped(convergence.phones))"
    let what =
      "\(share) phones show what was captured, \(Self.number(settleSeconds)) s after the end"
    lines.append(ink(convergence.hasConverged ? .green : .red, what))
    for wrong in convergence.wrong.prefix(5) {
      lines.append(
        "  trip \(wrong.trip): \(Text.count(wrong.phones, "phone")) with \(wrong.shown), "
          + "expected \(wrong.expected)")
    }
    return lines
  }

  private func line(_ name: String, _ value: String) -> String {
    Text.fitted(name, columns: 20) + value
  }

  // MARK: Units

  /// A time in microseconds as a person reads it: `850 µs`, `4.2 ms`, `1.25 s`.
  package static func time(_ microseconds: Int) -> String {
    let value = Double(microseconds)
    switch value {
    case _ where microseconds == LatencyHistogram.never: return "never"
    case ..<1_000: return "\(microseconds) µs"
    case ..<10_000: return Text.fixed(value / 1e3, decimals: 2) + " ms"
    case ..<100_000: return Text.fixed(value / 1e3, decimals: 1) + " ms"
    case ..<1_000_000: return Text.fixed(value / 1e3, decimals: 0) + " ms"
    case ..<100_000_000: return Text.fixed(value / 1e6, decimals: 2) + " s"
    default: return Text.fixed(value / 1e6, decimals: 0) + " s"
    }
  }

  /// `812 B`, `4.1 KB`, `38 MB`, in powers of 1,024.
  package static func bytes(_ bytes: Double) -> String {
    let size = abs(bytes)
    switch size {
    case ..<1_000: return Text.fixed(bytes, decimals: 0) + " B"
    case ..<1_024_000:
      return Text.fixed(bytes / 1_024, decimals: size < 102_400 ? 1 : 0) + " KB"
    case ..<1_048_576_000:
      return Text.fixed(bytes / 1_048_576, decimals: size < 104_857_600 ? 1 : 0) + " MB"
    default: return Text.fixed(bytes / 1_073_741_824, decimals: 2) + " GB"
    }
  }

  /// How much something took of memory; less than none is the allocator's noise.
  package static func growth(_ bytes: Double) -> String {
    bytes < 0.5 ? "none seen" : Self.bytes(bytes)
  }

  /// A number without needless decimals.
  package static func number(_ value: Double) -> String {
    value == value.rounded() ? Text.grouped(Int(value)) : Text.fixed(value, decimals: 2)
  }
}
