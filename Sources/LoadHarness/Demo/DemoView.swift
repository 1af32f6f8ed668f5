/// Draws the demo: a snapshot in, lines of text out. Writes nothing itself.
package struct DemoView: Sendable {
  /// Every line has at most this many columns, so that the smallest usual terminal shows it.
  package static let columns = 80

  private let ink: Ink

  package init(coloured: Bool) { ink = Ink(coloured: coloured) }

  // MARK: On a terminal

  /// The whole picture; the same number of lines for all snapshots of one demo, so that each can be
  /// drawn over the last one.
  package func lines(_ snapshot: DemoSnapshot) -> [String] {
    header(snapshot) + [""] + figures(snapshot) + [""]
      + sideBySide(snapshot.card.drawn(ink: ink), events(snapshot))
  }

  /// What to write to replace the picture before: up by its height, each line cleared and written
  /// anew. Nothing is erased first, since that would flicker.
  ///
  /// - Parameter previousHeight: lines of the picture before; 0 for the first.
  package func frame(_ snapshot: DemoSnapshot, previousHeight: Int) -> (text: String, height: Int) {
    let lines = lines(snapshot)
    let up = previousHeight > 0 ? "\u{1B}[\(previousHeight)A" : ""
    let text = lines.map { "\r" + $0 + "\u{1B}[K\n" }.joined()
    return (up + text, lines.count)
  }

  private func header(_ snapshot: DemoSnapshot) -> [String] {
    let pace = Text.fixed(snapshot.speed, decimals: 0) + "× speed"
    let kind = Text.harmless(snapshot.traceKind)
    let name = Text.cut(Text.harmless(snapshot.traceName), columns: 38)
    let rest = "  " + kind
    let right = "  " + pace
    let space = Self.columns - Text.width(of: name) - Text.width(of: right)
    return [
      ink(.title, name) + ink(.faint, Text.fitted(rest, columns: space) + right),
      progress(snapshot),
    ]
  }

  private func progress(_ snapshot: DemoSnapshot) -> String {
    let elapsed = min(snapshot.elapsedSeconds, snapshot.durationSeconds)
    let share = snapshot.durationSeconds > 0 ? elapsed / snapshot.durationSeconds : 0
    let label =
      "  \(Text.span(seconds: elapsed)) of \(Text.span(seconds: snapshot.durationSeconds))"
      + "  \(snapshot.phase.rawValue)"
    let columns = Self.columns - Text.width(of: label)
    let filled = Int((share * Double(columns)).rounded())
    return ink(.cyan, String(repeating: "━", count: filled))
      + ink(.faint, String(repeating: "─", count: columns - filled) + label)
  }

  private func figures(_ snapshot: DemoSnapshot) -> [String] {
    let doors = snapshot.doors
    let broadcasts = snapshot.broadcasts
    let allConverged = snapshot.convergedPhones == snapshot.phones
    var lines = [
      figure(
        "captures",
        "\(Text.grouped(snapshot.captures)) of \(Text.grouped(snapshot.capturesInTrace))",
        "REST \(doors.rest) · pub/sub \(doors.publish) · stream \(doors.stream)"),
      figure(
        "broadcasts", Text.grouped(broadcasts.all),
        "priority 10: \(broadcasts.priority10) · priority 5: \(broadcasts.priority5)"
          + (broadcasts.throttled > 0 ? " · throttled: \(broadcasts.throttled)" : "")),
      figure(
        "conflation", Text.fixed(snapshot.conflation, decimals: 2), "captures in each broadcast"),
      figure(
        "staleness", Text.fixed(snapshot.meanStalenessNotes, decimals: 2),
        "notes behind on average, longest wait "
          + Text.span(seconds: snapshot.maxWaitSeconds)),
      figure(
        "phones", "\(Text.grouped(snapshot.convergedPhones)) of \(Text.grouped(snapshot.phones))",
        "show the newest state", colour: allConverged ? .green : .yellow),
    ]
    // Who plays the demo from outside does not know the bucket.
    if snapshot.budget.capacity > 0 {
      lines.append(figure("budget", gauge(snapshot.budget), budget(snapshot.budget)))
    }
    return lines
  }

  private func figure(
    _ name: String, _ value: String, _ explanation: String, colour: Ink.Colour = .strong
  ) -> String {
    ink(.faint, Text.fitted("  " + name, columns: 14))
      + ink(colour, Text.fitted(value, columns: 15)) + " "
      + Text.cut(explanation, columns: Self.columns - 30)
  }

  private func gauge(_ budget: DemoSnapshot.Budget) -> String {
    let share = min(max(budget.tokens / budget.capacity, 0), 1)
    let filled = Int((share * 12).rounded())
    return String(repeating: "█", count: filled) + String(repeating: "░", count: 12 - filled)
  }

  private func budget(_ budget: DemoSnapshot.Budget) -> String {
    let tokens = Text.fixed(budget.tokens, decimals: 1)
    let capacity = Text.fixed(budget.capacity, decimals: 0)
    return "\(tokens) of \(capacity) priority-10 broadcasts left"
  }

  private func events(_ snapshot: DemoSnapshot) -> [String] {
    let columns = Self.columns - LockScreenCard.columns - 2
    // What came from several sources is told in order of its own time, not of its arrival.
    let inOrder = snapshot.events.sorted { $0.atSeconds < $1.atSeconds }
    let shown = inOrder.suffix(LockScreenCard.lines - 1)
    return [ink(.faint, "what happened")]
      + shown.map { event in
        let time = Text.fitted(Text.clock(seconds: event.atSeconds), columns: 9)
        let text = Text.cut(Text.harmless(event.text), columns: columns - 9)
        return ink(.faint, time) + (colour(of: event.kind).map { ink($0, text) } ?? text)
      }
  }

  private func colour(of kind: DemoSnapshot.Event.Kind) -> Ink.Colour? {
    switch kind {
    case .trip: .title
    case .broadcast: .green
    case .tail: .blue
    case .throttled: .red
    case .phone: .yellow
    case .capture: nil
    }
  }

  private func sideBySide(_ left: [String], _ right: [String]) -> [String] {
    left.indices.map { index in
      index < right.count ? left[index] + "  " + right[index] : left[index]
    }
  }

  // MARK: Elsewhere

  /// One line of progress, for a log or a pipe.
  package func progressLine(_ snapshot: DemoSnapshot) -> String {
    let converged = "\(snapshot.convergedPhones)/\(snapshot.phones)"
    return "\(Text.clock(seconds: snapshot.elapsedSeconds)) \(snapshot.phase.rawValue): "
      + "\(snapshot.captures)/\(snapshot.capturesInTrace) captures, "
      + "\(snapshot.broadcasts.priority10) + \(snapshot.broadcasts.priority5) broadcasts "
      + "(priority 10 + 5), "
      + "\(Text.fixed(snapshot.meanStalenessNotes, decimals: 2)) notes stale, "
      + "\(converged) phones current"
  }
}
