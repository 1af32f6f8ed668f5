import JSON
import Testing

@testable import LoadHarness

@Suite struct `The demo's view` {
  private func snapshot() -> DemoSnapshot {
    let card = LockScreenCard(
      phone: "phone 1 of 40", clock: "12:41", title: "Heron mudflats", notebook: "Rock pools",
      state: .live, notesCaptured: 143, lastPlace: "Old lighthouse steps", ageSeconds: 17)
    var snapshot = DemoSnapshot(
      traceName: "heron-mudflats-2025-04-12", traceKind: "read from a trace file", card: card)
    snapshot.speed = 120
    snapshot.elapsedSeconds = 3_040
    snapshot.durationSeconds = 7_481
    snapshot.phase = .live
    snapshot.captures = 143
    snapshot.capturesInTrace = 412
    snapshot.doors = DemoSnapshot.Doors(rest: 48, publish: 48, stream: 47)
    snapshot.broadcasts = DemoSnapshot.Broadcasts(priority10: 38, priority5: 23)
    snapshot.meanStalenessNotes = 0.84
    snapshot.maxWaitSeconds = 58
    snapshot.phones = 40
    snapshot.convergedPhones = 40
    snapshot.budget = DemoSnapshot.Budget(tokens: 6.2, capacity: 10)
    for index in 0..<20 {
      let at = Double(2_900 + index * 7)
      let event =
        index.isMultiple(of: 3)
        ? DemoSnapshot.Event(
          atSeconds: at, kind: .broadcast, text: "priority 10 carries 3 captures")
        : DemoSnapshot.Event(atSeconds: at, kind: .capture, text: "o\(index) at Place \(index)")
      snapshot.events.append(event)
    }
    return snapshot
  }

  private func text(_ snapshot: DemoSnapshot) -> String {
    DemoView(coloured: false).lines(snapshot).map(trimmed).joined(separator: "\n")
  }

  private func trimmed(_ line: String) -> String {
    String(line.reversed().drop { $0 == " " }.reversed())
  }

  @Test func `draws figures, a Lock Screen card, and what happened`() {
    let expected = """
      heron-mudflats-2025-04-12  read from a trace file                     120× speed
      ━━━━━━━━━━━━━━━━━━━────────────────────────────  50 min 40 s of 2 h 04 min  live

        captures    143 of 412      REST 48 · pub/sub 48 · stream 47
        broadcasts  61              priority 10: 38 · priority 5: 23
        conflation  2.34            captures in each broadcast
        staleness   0.84            notes behind on average, longest wait 58 s
        phones      40 of 40        show the newest state
        budget      ███████░░░░░    6.2 of 10 priority-10 broadcasts left

      ╭──────────────────────────────────╮  what happened
      │              12:41               │  0:49:23  priority 10 carries 3 captures
      │          phone 1 of 40           │  0:49:30  o10 at Place 10
      │ ╭──────────────────────────────╮ │  0:49:37  o11 at Place 11
      │ │ Heron mudflats        ● LIVE │ │  0:49:44  priority 10 carries 3 captures
      │ │ Rock pools                   │ │  0:49:51  o13 at Place 13
      │ │                              │ │  0:49:58  o14 at Place 14
      │ │ 143 notes captured           │ │  0:50:05  priority 10 carries 3 captures
      │ │ last at Old lighthouse steps │ │  0:50:12  o16 at Place 16
      │ │ updated 17 s ago             │ │  0:50:19  o17 at Place 17
      │ ╰──────────────────────────────╯ │  0:50:26  priority 10 carries 3 captures
      ┆                                  ┆  0:50:33  o19 at Place 19
      """
    #expect(text(snapshot()) == expected)
  }

  @Test func `keeps to 80 columns and one height, whatever it is given`() {
    var wild = snapshot()
    wild.traceName = String(repeating: "Farthest-Shore-", count: 20)
    wild.traceKind = String(repeating: "kind ", count: 40)
    wild.captures = 1_234_567
    wild.capturesInTrace = 9_999_999
    wild.phones = 1_000_000
    wild.doors = DemoSnapshot.Doors(rest: 1_234_567, publish: 1_234_567, stream: 1_234_567)
    wild.broadcasts = DemoSnapshot.Broadcasts(priority10: 99_999, priority5: 99_999, throttled: 999)
    wild.budget = DemoSnapshot.Budget(tokens: -4, capacity: 10)
    wild.maxWaitSeconds = 1e7
    wild.card.title = "漢字の長い名前のトリップと散歩の一日"
    wild.card.lastPlace = String(repeating: "é", count: 90)
    wild.events[19].text = String(repeating: "🦆", count: 60)
    var empty = DemoSnapshot(
      traceName: "", traceKind: "", card: LockScreenCard(phone: "", clock: "", title: ""))
    empty.events = []
    for state in [wild, empty] {
      let lines = DemoView(coloured: false).lines(state)
      let unknown = state.budget.capacity == 0 ? 1 : 0
      #expect(lines.count == DemoView(coloured: false).lines(snapshot()).count - unknown)
      for line in lines { #expect(Text.width(of: line) <= DemoView.columns, "\(line)") }
    }
  }

  @Test func `lets no place name move the cursor`() {
    var hostile = snapshot()
    hostile.card.lastPlace = "Pond\u{1B}[2J\u{7}\r\n\u{202E}west"
    hostile.events[19].text = "\u{9B}31mred"
    hostile.traceName = "a\u{1B}]0;title\u{7}"
    for line in DemoView(coloured: false).lines(hostile) {
      let isHarmless = line.unicodeScalars.allSatisfy {
        ![.control, .format].contains($0.properties.generalCategory)
      }
      #expect(isHarmless, "\(line)")
    }
  }

  @Test func `has the same text with colours as without`() {
    let plain = DemoView(coloured: false).lines(snapshot())
    let coloured = DemoView(coloured: true).lines(snapshot()).map(withoutColours)
    #expect(coloured == plain)
    #expect(DemoView(coloured: true).lines(snapshot()) != plain)
  }

  @Test func `draws a frame over the one before`() {
    let view = DemoView(coloured: false)
    let first = view.frame(snapshot(), previousHeight: 0)
    let second = view.frame(snapshot(), previousHeight: first.height)
    #expect(first.text.hasPrefix("\rheron"))
    #expect(second.text.hasPrefix("\u{1B}[\(first.height)A\rheron"))
    #expect(first.text.filter { $0 == "\n" }.count == first.height)
  }

  @Test(arguments: [
    (LockScreenCard.State.stale, "○ STALE"), (.ended, "■ ENDED"), (.waiting, "No Live Activity"),
    (.dismissed, "No longer on the Lock Screen"),
  ])
  func `shows what state a card is in`(state: LockScreenCard.State, words: String) {
    var changed = snapshot()
    changed.card.state = state
    #expect(text(changed).contains(words))
    #expect(!text(changed).contains("LIVE"))
  }

  @Test func `says how it goes in one line where there is no terminal`() {
    #expect(
      DemoView(coloured: false).progressLine(snapshot())
        == "0:50:40 live: 143/412 captures, 38 + 23 broadcasts (priority 10 + 5), "
        + "0.84 notes stale, 40/40 phones current")
  }

  private func withoutColours(_ line: String) -> String {
    var rest = line[...]
    var plain = ""
    while let escape = rest.firstIndex(of: "\u{1B}") {
      plain += rest[..<escape]
      let end = rest[escape...].firstIndex(of: "m") ?? rest.index(before: rest.endIndex)
      rest = rest[rest.index(after: end)...]
    }
    return plain + rest
  }
}

@Suite struct `The demo's summary` {
  private func summary(converged: Int = 40, left: Int = 0) -> DemoSummary {
    var snapshot = DemoSnapshot(
      traceName: "outing-1", traceKind: "invented by the generator, seed 1",
      card: LockScreenCard(phone: "phone 1", clock: "9:41", title: "Outing"))
    snapshot.speed = 600
    snapshot.elapsedSeconds = 7_481
    snapshot.captures = 412
    snapshot.doors = DemoSnapshot.Doors(rest: 138, publish: 137, stream: 137)
    snapshot.broadcasts = DemoSnapshot.Broadcasts(priority10: 154, priority5: 52)
    snapshot.phones = 40
    snapshot.meanStalenessNotes = 0.8404
    snapshot.maxWaitSeconds = 59.9996
    return DemoSummary(snapshot, convergedPhones: converged, channelsLeft: left)
  }

  @Test func `is one JSON object with every figure`() throws {
    let json = try JSONValue.parse(Array(summary().json().utf8))
    let expected: JSONValue = [
      "trace": "outing-1", "trace_kind": "invented by the generator, seed 1", "speed": 600,
      "duration_seconds": 7481, "captures": 412,
      "doors": ["rest": 138, "publish": 137, "stream": 137], "broadcasts": 206, "priority10": 154,
      "priority5": 52, "throttled": 0, "conflation": 2, "phones": 40, "converged": 40,
      "mean_staleness_notes": 0.84, "max_wait_seconds": 60, "channels_left": 0,
    ]
    #expect(json.object?.keys == expected.object?.keys)
    for key in expected.object?.keys ?? [] where expected[key]?.number != nil {
      #expect(json[key]?.double == expected[key]?.double, "\(key)")
    }
    #expect(json["doors"] == expected["doors"])
    #expect(json["trace"] == expected["trace"])
  }

  @Test func `says so when all is well`() {
    #expect(summary().isGood)
    #expect(summary().text(coloured: false).hasSuffix("Every phone ended on the right state.\n"))
  }

  @Test func `says what went wrong`() {
    #expect(!summary(converged: 39).isGood)
    #expect(!summary(left: 1).isGood)
    #expect(
      summary(converged: 39, left: 1).text(coloured: false).hasSuffix(
        "Not as it must be: 1 phone ended on another state than the trace gives, "
          + "1 channel left at APNs.\n"))
  }
}

@Suite struct `Text for people` {
  @Test func `writes numbers and spans`() {
    #expect(Text.fixed(2.345, decimals: 1) == "2.3")
    #expect(Text.fixed(-0.04, decimals: 1) == "0.0")
    #expect(Text.fixed(-1.06, decimals: 1) == "-1.1")
    #expect(Text.fixed(0.999, decimals: 2) == "1.00")
    #expect(Text.grouped(0) == "0")
    #expect(Text.grouped(4_517) == "4,517")
    #expect(Text.grouped(-1_234_567) == "-1,234,567")
    #expect(Text.span(seconds: 59.6) == "1 min 00 s")
    #expect(Text.span(seconds: 7_481) == "2 h 04 min")
    #expect(Text.clock(seconds: 3_725) == "1:02:05")
    #expect(Text.count(1, "phone") == "1 phone")
    #expect(Text.count(0, "phone") == "0 phones")
  }

  @Test func `counts columns, not letters`() {
    #expect(Text.width(of: "Müritzsee") == 9)
    #expect(Text.width(of: "e\u{301}") == 1)
    #expect(Text.width(of: "漢字") == 4)
    #expect(Text.width(of: "🦆") == 2)
    #expect(Text.cut("漢字漢字", columns: 6) == "漢字…")
    #expect(Text.fitted("漢字漢字", columns: 6) == "漢字… ")
    #expect(Text.spread("a long name", " END", columns: 10) == "a lon… END")
  }
}
