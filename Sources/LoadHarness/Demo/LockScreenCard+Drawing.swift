extension LockScreenCard {
  /// How many columns the drawn phone takes.
  package static let columns = 36
  /// How many lines.
  package static let lines = 12

  /// The upper part of a phone, with the card on its Lock Screen.
  ///
  ///     ╭──────────────────────────────────╮
  ///     │              9:41                │
  ///     │ ╭──────────────────────────────╮ │
  ///     │ │ Heron mudflats          LIVE │ │
  package func drawn(ink: Ink) -> [String] {
    let inner = Self.columns - 2
    var lines = [ink(.faint, "╭" + String(repeating: "─", count: inner) + "╮")]
    lines.append(framed(ink(.strong, centred(clock, columns: inner)), ink))
    lines.append(framed(ink(.faint, centred(Text.harmless(phone), columns: inner)), ink))
    lines += card(ink: ink).map { framed(" " + $0 + " ", ink) }
    lines.append(ink(.faint, "┆" + String(repeating: " ", count: inner) + "┆"))
    return lines
  }

  private func card(ink: Ink) -> [String] {
    let columns = Self.columns - 4
    let edge: Ink.Colour = state == .live ? .green : .faint
    let body = state == .waiting || state == .dismissed ? emptyBody : filledBody
    let top = ink(edge, "╭" + String(repeating: "─", count: columns - 2) + "╮")
    let bottom = ink(edge, "╰" + String(repeating: "─", count: columns - 2) + "╯")
    let middle = body.map { line in
      ink(edge, "│") + " " + ink(line.colour, Text.fitted(line.text, columns: columns - 4)) + " "
        + ink(edge, "│")
    }
    return [top] + middle + [bottom]
  }

  private struct Line {
    var text: String
    var colour: Ink.Colour
  }

  private var filledBody: [Line] {
    let columns = Self.columns - 8
    let head = Text.spread(Text.harmless(title), " " + badge, columns: columns)
    let place = lastPlace.map { "last at " + Text.harmless($0) } ?? "no place yet"
    let colour: Ink.Colour = state == .live ? .strong : .faint
    return [
      Line(text: head, colour: state == .live ? .green : .faint),
      Line(text: Text.harmless(notebook), colour: .faint),
      Line(text: "", colour: .faint),
      Line(
        text: Text.count(notesCaptured, "note") + " captured", colour: colour),
      Line(text: place, colour: colour),
      Line(text: age, colour: .faint),
    ]
  }

  private var emptyBody: [Line] {
    let text =
      state == .waiting ? "No Live Activity yet" : "No longer on the Lock Screen"
    return ["", "", text, "", "", ""].map { Line(text: $0, colour: .faint) }
  }

  private var badge: String {
    switch state {
    case .live: "● LIVE"
    case .stale: "○ STALE"
    case .ended: "■ ENDED"
    case .waiting, .dismissed: ""
    }
  }

  private var age: String {
    switch (state, ageSeconds) {
    case (.ended, _): "The trip is over"
    case (_, let age?) where age >= 1: "updated \(Text.span(seconds: age)) ago"
    case (_, _?): "updated just now"
    case (_, nil): ""
    }
  }

  private func framed(_ line: String, _ ink: Ink) -> String {
    ink(.faint, "│") + line + ink(.faint, "│")
  }

  private func centred(_ text: String, columns: Int) -> String {
    let cut = Text.cut(text, columns: columns)
    let before = (columns - Text.width(of: cut)) / 2
    return Text.fitted(String(repeating: " ", count: before) + cut, columns: columns)
  }
}
