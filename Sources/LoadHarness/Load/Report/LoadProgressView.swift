/// Draws a load while it runs: a few lines over one another on a terminal, one line elsewhere.
package struct LoadProgressView: Sendable {
  private let ink: Ink
  private static let columns = 76

  package init(coloured: Bool) { ink = Ink(coloured: coloured) }

  /// A picture that replaces the one before it.
  ///
  /// - Parameter previousHeight: lines of that one; 0 for the first.
  package func frame(
    _ snapshot: LoadSnapshot, previousHeight: Int
  ) -> (text: String, height: Int) {
    let lines = picture(snapshot)
    var text = previousHeight > 0 ? "\u{1B}[\(previousHeight)A" : ""
    for line in lines { text += "\u{1B}[2K" + line + "\n" }
    // What the picture before had more is cleared, and the cursor comes back.
    let rest = max(0, previousHeight - lines.count)
    for _ in 0..<rest { text += "\u{1B}[2K\n" }
    if rest > 0 { text += "\u{1B}[\(rest)A" }
    return (text, lines.count)
  }

  /// The same in one line.
  package func line(_ snapshot: LoadSnapshot) -> String {
    if case .settingUp = snapshot.phase { return Self.phase(snapshot) }
    let memory = snapshot.residentBytes[.service].map { LoadReport.bytes(Double($0)) } ?? "-"
    return [
      Self.phase(snapshot), "captures \(Text.grouped(snapshot.captures))",
      "behind \(Text.grouped(snapshot.capturesBehind))",
      "APNs p50 \(time(snapshot.toAPNsP50)) p99 \(time(snapshot.toAPNsP99))",
      "lag p99 \(time(snapshot.lagP99))",
      "p10 \(Text.grouped(snapshot.broadcasts10)) p5 \(Text.grouped(snapshot.broadcasts5))",
      "429s \(Text.grouped(snapshot.throttled))", "cpu \(percent(snapshot.cpu[.service]))", memory,
    ].joined(separator: "  ")
  }

  private func picture(_ snapshot: LoadSnapshot) -> [String] {
    let head = ink(
      .title,
      Text.spread(
        "fieldcast load",
        "\(Text.count(snapshot.trips, "trip")), "
          + "\(Text.grouped(snapshot.members)) members", columns: Self.columns))
    var lines = [head, bar(snapshot)]
    if case .settingUp = snapshot.phase { return lines + processes(snapshot) }
    lines.append(
      row(
        "captures", "\(Text.grouped(snapshot.captures))",
        "\(Text.fixed(snapshot.capturesPerSecond, decimals: 0)) a second, "
          + "\(Text.grouped(snapshot.capturesBehind)) not shown yet"))
    lines.append(
      row(
        "to APNs", "p50 \(time(snapshot.toAPNsP50))",
        "p99 \(time(snapshot.toAPNsP99)); commit p99 \(time(snapshot.lagP99))"))
    lines.append(
      row("to phones", "p50 \(time(snapshot.toPhonesP50))", "p99 \(time(snapshot.toPhonesP99))"))
    lines.append(
      row(
        "broadcasts", "\(Text.grouped(snapshot.broadcasts10 + snapshot.broadcasts5))",
        "\(Text.grouped(snapshot.broadcasts10)) at once, "
          + "\(Text.grouped(snapshot.broadcasts5)) late, 429s \(Text.grouped(snapshot.throttled)); "
          + "\(Text.fixed(snapshot.phonesPerSecond, decimals: 0)) phones a second"))
    return lines + processes(snapshot)
  }

  private func processes(_ snapshot: LoadSnapshot) -> [String] {
    LoadTarget.Process.allCases.compactMap { process in
      guard let bytes = snapshot.residentBytes[process] else { return nil }
      return row(
        process.rawValue, percent(snapshot.cpu[process]) + " cpu", LoadReport.bytes(Double(bytes)))
    }
  }

  private func bar(_ snapshot: LoadSnapshot) -> String {
    let width = 24
    let filled = min(width, max(0, Int(Self.share(snapshot) * Double(width))))
    let drawn =
      String(repeating: "█", count: filled) + String(repeating: "░", count: width - filled)
    return drawn + "  " + Self.phase(snapshot)
  }

  private static func share(_ snapshot: LoadSnapshot) -> Double {
    switch snapshot.phase {
    case .settingUp(_, let done, let all): all > 0 ? Double(done) / Double(all) : 0
    case .loading:
      snapshot.durationSeconds > 0 ? snapshot.elapsedSeconds / snapshot.durationSeconds : 0
    case .settling, .checking: 1
    }
  }

  private static func phase(_ snapshot: LoadSnapshot) -> String {
    switch snapshot.phase {
    case .settingUp(let what, let done, let all):
      "setting up: \(what) \(Text.grouped(done)) of \(Text.grouped(all))"
    case .loading:
      "\(Text.fixed(max(0, snapshot.elapsedSeconds), decimals: 0)) s of "
        + "\(LoadReport.number(snapshot.durationSeconds)) s"
    case .settling: "waiting for the phones"
    case .checking: "asking every phone"
    }
  }

  private func row(_ name: String, _ value: String, _ more: String) -> String {
    Text.fitted(name, columns: 12) + ink(.strong, Text.fitted(value, columns: 16))
      + Text.cut(more, columns: Self.columns - 28)
  }

  private func time(_ microseconds: Int) -> String {
    microseconds > 0 ? LoadReport.time(microseconds) : "-"
  }

  private func percent(_ share: Double?) -> String {
    share.map { Text.fixed($0 * 100, decimals: 0) + " %" } ?? "-"
  }
}
