import Clocks
import JSON
import Testing

@testable import LoadHarness

@Suite struct `The report of a load` {
  private func report() -> LoadReport {
    var report = LoadReport()
    report.conditions.trips = 40
    report.conditions.phonesPerTrip = 50
    report.conditions.capturesPerSecond = 40
    report.conditions.seconds = 4
    report.conditions.shape = "<poisson & Söhne>"
    report.conditions.doors = ["rest", "stream"]
    report.conditions.command = "fieldcast load --trips 40 \"--html\""
    report.conditions.cores = 2
    var fast = LatencyHistogram()
    for value in 1...1_000 { fast.add(value * 10) }
    report.latencies = [
      .init(name: "capture to APNs", stamps: "schedule; simulator", histogram: fast),
      .init(name: "capture to phone", stamps: "schedule; phone", histogram: fast),
    ]
    report.stages = [
      .init(name: "ingest", stamps: "schedule; log", histogram: fast),
      .init(name: "commit", stamps: "log; cursor", histogram: LatencyHistogram()),
    ]
    report.captures = 160
    report.capturesShown = 160
    report.broadcasts = [10: 30, 5: 10]
    report.broadcastsWithNews = 32
    report.doors = [("rest", 80, 0), ("stream", 80, 0)]
    report.measuredSeconds = 4
    report.secondsUntilSettled = 5
    var service = LoadReport.Process(name: "service")
    service.cpuSeconds = 0.3
    service.cpuSecondsUntilSettled = 0.4
    service.idleShare = 0.02
    report.processes = [service]
    var memory = LoadReport.Memory()
    memory.residentWithOneTrip = 10_000_000
    memory.residentWithTrips = 10_390_000
    memory.residentWithMembers = 10_292_500
    memory.trips = 39
    memory.members = 1_950
    report.memory = memory
    report.convergence.phones = 2_000
    report.convergence.phonesRight = 2_000
    for second in 1...4 {
      var point = LoadReport.Point()
      point.seconds = Double(second)
      point.captures = 40
      point.notesBehind = 0.5
      point.toAPNs = second == 2 ? nil : (1_000, 20_000)
      point.cpu = ["service": 0.1]
      point.residentBytes = ["service": 40 << 20]
      report.points.append(point)
    }
    return report
  }

  @Test func `works out what follows from its figures`() throws {
    let report = report()
    #expect(report.isGood)
    #expect(report.conflation == 5)
    let cost = try #require(report.cpuPerCapture)
    #expect(abs(cost.gross - 2_500) < 1e-6)
    // 0.4 s less 2 % of five seconds: the backlog after the last capture counts.
    #expect(abs(cost.net - 1_875) < 1e-6)
    #expect(report.memory?.bytesPerTrip == 10_000)
    #expect(report.memory?.bytesPerMember == -50)
    #expect(report.isLagGrowing == nil)
  }

  @Test func `is not good when anything is missing`() {
    let changes: [(String, (inout LoadReport) -> Void)] = [
      ("a phone is wrong", { $0.convergence.phonesRight -= 1 }),
      (
        "a card is missing",
        { report in
          report.convergence.wrong = [.init(trip: "t", expected: "3", shown: "no card", phones: 1)]
        }
      ),
      ("a capture was not shown", { $0.capturesShown -= 1 }),
      ("a door refused", { $0.doors[0].failed = 1 }),
      ("a broadcast was not seen", { $0.missedBroadcasts = 1 }),
    ]
    for (what, change) in changes {
      var report = report()
      change(&report)
      #expect(!report.isGood, "\(what)")
    }
  }

  @Test func `says that a lag grows when the last quarter is far behind the first`() {
    var report = report()
    report.firstQuarterLag.add(5_000, times: 10)
    report.lastQuarterLag.add(9_000, times: 10)
    #expect(report.isLagGrowing == false)
    report.lastQuarterLag = LatencyHistogram()
    report.lastQuarterLag.add(400_000, times: 10)
    #expect(report.isLagGrowing == true)
  }

  @Test func `is text in lines that fit a wide terminal`() {
    let text = report().text(coloured: false)
    #expect(text.contains("40 trips, 2,000 members, 40 captures a second"))
    #expect(text.contains("no coordinated omission"))
    #expect(text.contains("2,000 of 2,000 phones"))
    #expect(!text.contains("\u{1B}"))
    for line in text.split(separator: "\n") { #expect(line.count <= 96, "\(line)") }
  }

  @Test func `is JSON that says the same`() throws {
    let value = try JSONValue.parse(Array(report().json().utf8))
    #expect(value["good"]?.bool == true)
    #expect(value["load"]?["trips"]?.int64 == 40)
    #expect(value["latencies"]?["capture to APNs"]?["p50"]?.int64 == 5_055)
    #expect(value["capturesPerBroadcast"]?.double == 5)
    #expect(value["spans"]?.array?.count == 4)
  }

  @Test func `says what was never shown, in each of its forms`() throws {
    var report = report()
    report.capturesShown -= 10
    report.latencies[0].histogram.addEndless(times: 500)
    report.points[0].toAPNs = (1_000, LatencyHistogram.never)
    let text = report.text(coloured: false)
    #expect(text.contains("never shown") && text.contains("10, which count"))
    let value = try JSONValue.parse(Array(report.json().utf8))
    let latency = value["latencies"]?["capture to APNs"]
    #expect(latency?["count"]?.int64 == 1_500)
    #expect(latency?["endless"]?.int64 == 500)
    #expect(latency?["p50"]?.int64 != nil)
    #expect(latency?["p99"] == .null)
    #expect(value["spans"]?.array?[0]["toAPNsP99"] == .null)
    #expect(report.html().contains("<td>never</td>"))
  }

  @Test func `is a page whose tags are all closed`() {
    let page = report().html()
    let void: Set<String> = ["meta", "br", "line", "circle", "rect", "path", "!doctype"]
    var open: [String] = []
    for match in page.matches(of: /<(\/?)([a-z!][a-z0-9]*)[^>]*>/) {
      let name = String(match.output.2)
      if void.contains(name) { continue }
      if match.output.1.isEmpty {
        open.append(name)
      } else {
        #expect(open.popLast() == name, "\(match.output.0)")
      }
    }
    #expect(open.isEmpty)
  }

  @Test func `is a page with nothing from elsewhere, and what is text stays text`() {
    let page = report().html()
    for word in ["http:", "https:", "<script", "@import", "url(", "src="] {
      #expect(!page.contains(word), "\(word)")
    }
    #expect(page.contains("&lt;poisson &amp; Söhne&gt;"))
    #expect(!page.contains("<poisson"))
    #expect(page.contains("coordinated omission"))
  }

  @Test func `writes times and sizes as people do`() {
    #expect(LoadReport.time(850) == "850 µs")
    #expect(LoadReport.time(4_236) == "4.24 ms")
    #expect(LoadReport.time(1_250_000) == "1.25 s")
    #expect(LoadReport.time(125_000_000) == "125 s")
    #expect(LoadReport.bytes(812) == "812 B")
    #expect(LoadReport.bytes(4_198) == "4.1 KB")
    #expect(LoadReport.bytes(40_894_464) == "39.0 MB")
    #expect(LoadReport.growth(-17) == "none seen")
  }
}

@Suite struct `A plot's scale` {
  @Test func `ends at a round number above what it shows`() {
    let scale = PlotScale.linear(upTo: 23)
    #expect(scale.ticks == [0, 5, 10, 15, 20, 25])
    #expect(scale.place(of: 12.5) == 0.5)
    #expect(scale.place(of: 99) == 1)
    #expect(PlotScale.linear(upTo: 0).high == 1)
  }

  @Test func `spans the powers of ten around what it shows`() {
    let scale = PlotScale.logarithmic(from: 400, to: 12_000)
    #expect(scale.low == 100 && scale.high == 100_000)
    #expect(abs(scale.place(of: 1_000) - 1.0 / 3) < 1e-9)
    #expect(scale.place(of: 0) == 0)
    #expect(PlotScale.logarithmic(from: 1, to: 1e12).ticks.count == 8)
    #expect(PlotScale.logarithmic(from: 1_000, to: 1_000).high > 0)
  }

  @Test func `ends a span of time where the time ends`() {
    let scale = PlotScale.span(47)
    #expect(scale.high == 47)
    #expect(scale.ticks == [0, 10, 20, 30, 40])
  }
}

@Suite struct `The view of a load` {
  private func snapshot() -> LoadSnapshot {
    var snapshot = LoadSnapshot()
    snapshot.phase = .loading
    snapshot.trips = 10_000
    snapshot.members = 1_000_000
    snapshot.elapsedSeconds = 30
    snapshot.durationSeconds = 60
    snapshot.captures = 1_234_567
    snapshot.capturesBehind = 123_456
    snapshot.cpu = [.service: 0.97, .redis: 0.5]
    snapshot.residentBytes = [.service: 60 << 20, .redis: 900 << 20]
    return snapshot
  }

  @Test func `draws over its last picture, in lines of one terminal's width`() {
    let view = LoadProgressView(coloured: false)
    let first = view.frame(snapshot(), previousHeight: 0)
    let next = view.frame(snapshot(), previousHeight: first.height)
    #expect(next.text.hasPrefix("\u{1B}[\(first.height)A"))
    for line in first.text.split(separator: "\n") {
      #expect(line.replacing("\u{1B}[2K", with: "").count <= 80, "\(line)")
    }
    #expect(first.text.contains("30 s of 60 s"))
  }

  @Test func `clears what a higher picture left behind`() {
    let view = LoadProgressView(coloured: false)
    var before = snapshot()
    before.phase = .settingUp(what: "trips", done: 3, of: 10)
    let small = view.frame(before, previousHeight: 9)
    #expect(small.height < 9)
    #expect(small.text.hasSuffix("\u{1B}[\(9 - small.height)A"))
  }

  @Test func `is one line elsewhere`() {
    let line = LoadProgressView(coloured: false).line(snapshot())
    #expect(!line.contains("\n") && !line.contains("\u{1B}"))
    #expect(line.contains("captures 1,234,567"))
  }
}
