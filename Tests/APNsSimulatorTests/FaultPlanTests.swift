import APNsSimulator
import Clocks
import Testing

@Suite struct `A fault plan` {
  private func draws(_ seed: UInt64, _ faults: SimulatorFaults, _ count: Int = 50) -> [String] {
    var plan = FaultPlan(seed: seed)
    var connection = plan.connection(faults)
    return (0..<count).map { _ in "\(plan.request(on: &connection, faults))" }
  }

  @Test func `repeats itself with its seed`() throws {
    let faults = try FaultText.parse("silence=30%,latency=0ms..1s")
    #expect(draws(1, faults) == draws(1, faults))
    #expect(draws(1, faults) != draws(2, faults))
  }

  @Test func `counts what it draws, and draws about as often as it was told`() throws {
    let faults = try FaultText.parse(
      "429=10%x20,503=5%,expired=1%,refuse=2%,drop=2%,reset=3%,silence=4%,half=2%,garble=2%,"
        + "goaway=2%x3,goaway-gently=2%,stall=1%x2s")
    var plan = FaultPlan(seed: 7)
    var connections = (0..<10).map { _ in plan.connection(faults) }
    var counts: [String: Int] = [:]
    for number in 0..<100_000 {
      let fate = plan.request(on: &connections[number % 10], faults).fate
      if let name = fate.name { counts[name, default: 0] += 1 }
    }
    #expect(plan.counts == counts)
    let expected = [
      "429": 10.0, "503": 5, "expired": 1, "refuse": 2, "drop": 2, "reset": 3, "silence": 4,
      "half": 2, "garble": 2, "goaway": 2, "goaway-gently": 2, "stall": 1,
    ]
    #expect(Set(counts.keys) == Set(expected.keys))
    for (name, percent) in expected {
      let share = Double(counts[name, default: 0]) / 1000
      // A burst begins at a share of what others leave, so that others come a tenth less.
      #expect(share > percent * 0.7 && share < percent * 1.3, "\(name): \(share) %")
    }
  }

  @Test func `meets one connection with a burst`() throws {
    let faults = try FaultText.parse("503=5%x20")
    var plan = FaultPlan(seed: 3)
    var connection = plan.connection(faults)
    var run = 0
    var runs: Set<Int> = []
    for _ in 0..<10_000 {
      if plan.request(on: &connection, faults).fate == .none {
        if run > 0 { runs.insert(run) }
        run = 0
      } else {
        run += 1
      }
    }
    // Two bursts may follow each other at once.
    #expect(runs.contains(20))
    #expect(runs.allSatisfy { $0 % 20 == 0 })
  }

  @Test func `answers everything so at 100 %`() throws {
    let faults = try FaultText.parse("429=100%x5")
    #expect(draws(1, faults).allSatisfy { $0.contains("tooManyRequests") })
  }

  @Test func `opens the windows of all connections but a share`() throws {
    let faults = try FaultText.parse("windows=25%")
    var plan = FaultPlan(seed: 1)
    let shut = (0..<1_000).count { _ in !plan.connection(faults).opensWindows }
    #expect(shut > 200 && shut < 300)
    #expect(plan.counts == ["windows": shut])
  }
}

@Suite struct `Faults as text` {
  @Test func `read every term's own example`() throws {
    var all: [SimulatorFaults] = []
    for term in FaultText.terms {
      let faults = try FaultText.parse("\(term.name)=\(term.example)")
      #expect(faults != SimulatorFaults(), "\(term.name)")
      #expect(!all.contains(faults), "\(term.name) says what another term says")
      all.append(faults)
    }
    #expect(try FaultText.parse("") == SimulatorFaults())
  }

  @Test func `read shares, spans, bursts and counts`() throws {
    let faults = try FaultText.parse(
      "latency=20ms..1.5s,429=2%x20,503=0.5%,goaway=1%x40,stall=100%x2m,skew=-90s,token-expiry=1h,"
        + "drop-every=7")
    var expected = SimulatorFaults()
    expected.latencyLow = .milliseconds(20)
    expected.latencyHigh = .milliseconds(1_500)
    expected.throttled = .init(share: 0.02, length: 20)
    expected.unavailable = .init(share: 0.005)
    expected.goAwayShare = 0.01
    expected.goAwayStreamsBack = 40
    expected.stalledShare = 1
    expected.stallLength = .seconds(120)
    expected.clockSkew = .seconds(-90)
    expected.tokenExpiry = .seconds(3_600)
    expected.dropEvery = 7
    #expect(faults == expected)
    #expect(try FaultText.parse("latency=5ms").latencyLow == .milliseconds(5))
  }

  @Test(arguments: [
    ("rest=1%", "there is no fault rest."), ("reset", "reset: expected reset=1%, or the like."),
    ("reset=1", "reset=1: expected reset=1%, or the like."),
    ("reset=101%", "reset=101%: expected"), ("reset=-1%", "reset=-1%: expected"),
    ("reset=nan%", "reset=nan%: expected"), ("429=1%x", "429=1%x: expected 429=2%x20"),
    ("429=1%x0", "faults.throttled.length=0: expected 1...1000000 requests"),
    ("latency=2s..1s", "latency=2s..1s: expected latency=20ms..200ms"),
    ("latency=5", "latency=5: expected"), ("latency=-5ms", "faults.latencyLow="),
    ("stall=1%x5", "stall=1%x5: expected stall=0.1%x5s"), ("skew=1e9h", "skew=1e9h: expected"),
    ("drop-every=0", "faults.dropEvery=0"), ("reset=1%,reset=2%", "reset is given twice."),
  ])
  func `say what is wrong with a term`(_ text: String, _ message: String) {
    let problem = #expect(throws: FaultText.Problem.self) { try FaultText.parse(text) }
    #expect(problem?.description.hasPrefix(message) == true, "\(problem?.description ?? "")")
  }

  @Test func `are refused out of their range, by name`() {
    var faults = SimulatorFaults()
    faults.resetShare = 1.5
    let error = #expect(throws: InvalidSetting.self) { try faults.validate() }
    #expect(error?.description == "faults.resetShare=1.5: expected 0.0...1.0")
  }
}
