internal import FieldTrips

extension LoadReport {
  /// The report as one HTML page without anything from elsewhere: no script, font or picture.
  package func html() -> String {
    """
    <!doctype html>
    <html lang="en">
    <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <meta name="color-scheme" content="light dark">
    <title>Fieldcast under load: \(HTMLText.escaped(headline))</title>
    <style>
    \(Self.style)
    </style>
    </head>
    <body>
    <main>
    \(header)
    \(tiles)
    <section>
    <h2>Where the time goes</h2>
    \(ranges)
    \(latencyRows)
    \(stampRows)
    </section>
    <section>
    <h2>Over time</h2>
    <div class="plots">
    \(plots.map { $0.figure() }.joined())</div>
    </section>
    <section class="columns">
    \(countRows)
    \(costRows)
    </section>
    \(problemRows)
    \(footer)
    </main>
    </body>
    </html>

    """
  }

  private var headline: String {
    "\(Text.count(conditions.trips, "trip")), "
      + "\(Text.grouped(members)) members, "
      + "\(Self.number(conditions.capturesPerSecond)) captures a second"
  }

  // MARK: Top

  private var header: String {
    var facts = [
      conditions.shape == "poisson" ? "Poisson arrivals" : "\(conditions.shape) arrivals",
      "by \(conditions.doors.joined(separator: ", "))", Text.span(seconds: conditions.seconds),
    ]
    if conditions.rampSeconds > 0 {
      facts.append("ramp \(Text.span(seconds: conditions.rampSeconds))")
    }
    if joins + leaves > 0 { facts.append("\(joins) joins and \(leaves) leaves meanwhile") }
    facts.append(DateText.format(conditions.startedAt))
    let share =
      "\(Text.grouped(convergence.phonesRight)) of \(Text.grouped(convergence.phones)) phones show "
      + "exactly what was captured"
    let settled = Text.fixed(settleSeconds, decimals: 1)
    return """
      <header>
      <p class="eyebrow">Fieldcast under load</p>
      <h1>\(HTMLText.escaped(headline))</h1>
      <p class="facts">\(HTMLText.escaped(facts.joined(separator: " · ")))</p>
      <p class="verdict \(isGood ? "good" : "wrong")"><strong>\(isGood ? "Converged" : "Not right").\
      </strong> \(HTMLText.escaped(share)), \(settled) s after the last capture.</p>
      </header>
      """
  }

  private var tiles: String {
    let toAPNs = latency("capture to APNs")
    let toPhone = latency("capture to phone")
    var tiles: [(name: String, value: String, more: String)] = [
      (
        "To APNs, p99", Self.time(toAPNs.quantile(0.99)),
        "p50 \(Self.time(toAPNs.quantile(0.5)))"
      ),
      (
        "To phones, p99", Self.time(toPhone.quantile(0.99)),
        "p50 \(Self.time(toPhone.quantile(0.5)))"
      ),
      (
        "Notes behind", Text.fixed(notesBehind, decimals: 2),
        "cards wrong \(Text.fixed(shareWrong * 100, decimals: 1)) % of the time"
      ),
      (
        "Captures a broadcast", conflation.map { Text.fixed($0, decimals: 1) } ?? "–",
        "\(Text.grouped(broadcastCount)) broadcasts, \(Text.grouped(throttled)) 429s"
      ),
    ]
    if let cost = cpuPerCapture {
      tiles.append(
        (
          "CPU a capture", Self.time(Int(cost.gross.rounded())),
          "\(Self.time(Int(cost.net.rounded()))) beyond idle"
        ))
    }
    if let memory, let trip = memory.bytesPerTrip {
      tiles.append(
        (
          "Memory a trip", Self.growth(trip),
          memory.bytesPerMember.map { "\(Self.growth($0)) a member" } ?? ""
        ))
    }
    let drawn = tiles.map { tile in
      """
      <div class="tile"><p>\(HTMLText.escaped(tile.name))</p><b>\(HTMLText.escaped(tile.value))</b>\
      <small>\(HTMLText.escaped(tile.more))</small></div>
      """
    }
    return "<div class=\"tiles\">\n\(drawn.joined(separator: "\n"))\n</div>"
  }

  // MARK: Latency

  private var ranges: String {
    let colours: [Plot.Colour] = [.first, .second, .second, .third, .third, .third, .fourth]
    let rows = zip(latencies + stages, colours).map {
      RangeChart.Row(name: $0.name, histogram: $0.histogram, colour: $1)
    }
    return """
      <p class="note">Bars reach from p50 to p99 with a notch at p95; the dot is the slowest. The \
      axis is logarithmic.</p>
      <div class="scroll">\(RangeChart(rows: rows).svg())</div>
      """
  }

  private var latencyRows: String {
    let rows = (latencies + stages).map { ($0.name, $0.histogram) }
    let all = rows + [("harness behind schedule", lateness)]
    let cells = all.map { name, histogram in
      let values = [0.5, 0.95, 0.99, 1].map { share in
        histogram.isEmpty ? "–" : Self.time(histogram.quantile(share))
      }
      return Self.row([name] + values + [Text.grouped(histogram.total)])
    }
    return Self.table(["", "p50", "p95", "p99", "max", "n"], cells, style: "numbers")
  }

  private var stampRows: String {
    let rows = (latencies + stages).map { latency -> String in
      let stamps = latency.stamps.split(separator: ";", maxSplits: 1).map {
        String($0.drop { $0 == " " })
      }
      return Self.row([latency.name] + stamps)
    }
    let offsets = clockOffsets.map { "\($0.name) \(Text.fixed($0.seconds * 1e3, decimals: 1)) ms" }
    return """
      <details><summary>Where each stamp comes from, and how to read this</summary>
      <p>The load is <strong>open-loop</strong>: captures come by a schedule that was made \
      beforehand, whether the service keeps up or not, and each wait counts from its scheduled \
      moment. A service that stalls gets no pause, so no wait is left out (coordinated omission). \
      What the harness itself was late is in these waits, and shown in a row of its own.</p>
      <p>No figure is the service's own word. Ingest, commit and publisher are of \(stagesSample)\
      \(stagesLost > 0 ? " (of \(stagesLost) trips not every entry was seen)" : ""); all else is of \
      every capture. A capture that no card showed counts as a wait longer than all others. How long a \
      push travels to a phone is a model of the simulator, not a measurement of Apple’s network.</p>
      \(Self.table(["", "from", "to"], rows, style: "words"))
      <p>Clocks against the harness: \(HTMLText.escaped(offsets.joined(separator: ", "))).</p>
      </details>
      """
  }

  // MARK: Counts and costs

  private var countRows: String {
    var rows: [[String]] = [
      ["captures", Text.grouped(captures)], ["on phones", Text.grouped(capturesShown)],
      ["never shown", Text.grouped(neverShown)],
    ]
    for door in doors {
      let failed = door.failed > 0 ? " (\(Text.grouped(door.failed)) failed)" : ""
      rows.append(["by \(door.name)", Text.grouped(door.handedOver) + failed])
    }
    for (priority, count) in broadcasts.sorted(by: { $0.key > $1.key }) {
      rows.append(["broadcasts at priority \(priority)", Text.grouped(count)])
    }
    rows.append(["429s", Text.grouped(throttled)])
    for (reason, count) in refusals.sorted(by: { $0.key < $1.key })
    where reason != "TooManyRequests" {
      rows.append([reason, Text.grouped(count)])
    }
    let rate = measuredSeconds > 0 ? Double(phonesReached) / measuredSeconds : 0
    rows.append(["phones reached", Text.grouped(phonesReached)])
    rows.append(["phones reached a second", Text.grouped(Int(rate.rounded()))])
    if let isLagGrowing {
      let first = Self.time(firstQuarterLag.quantile(0.5))
      let last = Self.time(lastQuarterLag.quantile(0.5))
      rows.append(["lag to commit, first and last quarter", "\(first), \(last)"])
      rows.append(["lag grows", isLagGrowing ? "yes" : "no"])
    }
    for (outcome, count) in convergence.outcomes.sorted(by: { $0.key < $1.key }) {
      rows.append(["pushes at phones: \(outcome)", Text.grouped(count)])
    }
    return "<div><h2>Counts</h2>\n"
      + Self.table(["", ""], rows.map(Self.row), style: "numbers plain") + "</div>"
  }

  private var costRows: String {
    guard !processes.isEmpty else { return "" }
    var text = "<div><h2>Costs</h2>\n"
    let rows = processes.map { process -> String in
      let share = measuredSeconds > 0 ? process.cpuSeconds / measuredSeconds : 0
      return Self.row([
        process.name, Text.fixed(share * 100, decimals: 1) + " %",
        Text.fixed(process.idleShare * 100, decimals: 1) + " %",
        Self.bytes(Double(process.residentAtEnd)), Self.bytes(Double(process.residentPeak)),
      ])
    }
    text += Self.table(["", "CPU", "idle", "memory", "peak"], rows, style: "numbers")
    var costs: [[String]] = []
    if let cost = cpuPerCapture {
      costs.append(["service CPU a capture", Text.fixed(cost.gross, decimals: 1) + " µs"])
      costs.append(["the same beyond idle", Text.fixed(cost.net, decimals: 1) + " µs"])
    }
    if let memory {
      if let bytes = memory.bytesPerTrip { costs.append(["memory a trip", Self.growth(bytes)]) }
      if let bytes = memory.bytesPerTripAfterLoad {
        costs.append(["after the load, a trip", Self.growth(bytes)])
      }
      if let bytes = memory.bytesPerMember {
        costs.append(["memory a member", Self.growth(bytes)])
      }
    }
    if let joinsPerSecond {
      costs.append(["joins a second while setting up", Text.grouped(joinsPerSecond)])
    }
    if !costs.isEmpty {
      text += Self.table(["", ""], costs.map(Self.row), style: "numbers plain")
    }
    return text
      + "<p class=\"note\">CPU in shares of one core, by the kernel’s books; memory is resident. "
      + "Memory a trip and a member: how the service grew while they were made.</p></div>"
  }

  private var problemRows: String {
    var lines = problems
    if isHarnessLate {
      lines.append("The harness was behind its own schedule: its waits are in these figures.")
    }
    if missedBroadcasts > 0 {
      lines.append("\(Text.count(missedBroadcasts, "broadcast")) went unseen.")
    }
    lines += convergence.wrong.map {
      "Trip \($0.trip): \(Text.count($0.phones, "phone")) with \($0.shown), "
        + "expected \($0.expected)."
    }
    guard !lines.isEmpty else { return "" }
    let items = lines.map { "<li>\(HTMLText.escaped($0))</li>" }.joined(separator: "\n")
    return "<section><h2>What was not right</h2>\n<ul>\(items)</ul></section>"
  }

  private var footer: String {
    let machine = "\(Text.count(conditions.cores, "core")) for everything together"
    return """
      <footer><p>To run it again, on \(HTMLText.escaped(machine)):</p>
      <pre>\(HTMLText.escaped(conditions.command))</pre></footer>
      """
  }

  // MARK: Tables

  private static func row(_ cells: [String]) -> String {
    let rest = cells.dropFirst().map { "<td>\(HTMLText.escaped($0))</td>" }.joined()
    return "<tr><th scope=\"row\">\(HTMLText.escaped(cells[0]))</th>\(rest)</tr>"
  }

  private static func table(_ head: [String], _ rows: [String], style: String) -> String {
    let titles = head.map { "<th scope=\"col\">\(HTMLText.escaped($0))</th>" }.joined()
    let top = head.allSatisfy(\.isEmpty) ? "" : "<thead><tr>\(titles)</tr></thead>"
    return "<div class=\"scroll\"><table class=\"\(style)\">\(top)<tbody>\n"
      + rows.joined(separator: "\n") + "\n</tbody></table></div>\n"
  }
}
