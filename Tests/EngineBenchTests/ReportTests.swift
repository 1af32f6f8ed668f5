import EngineBench
import JSON
import Testing

@Suite struct `The engine's benchmark` {
  private static let hundred = Workload(.inFlight(100), requests: 1_100)

  /// A row whose rounds took so many microseconds a request, after 5 ms of start-up.
  private static func row(
    _ contender: Contender, _ workload: Workload = hundred, cpu: [Double], rate: [Double]
  ) -> EngineBenchReport.Row {
    var row = EngineBenchReport.Row(workload, contender)
    row.startUp = BenchRun(requests: 100, processorSeconds: 0.005, perSecond: 1)
    row.runs = zip(cpu, rate).map { cpu, rate in
      BenchRun(requests: 1_100, processorSeconds: 0.005 + cpu * 1_000 / 1e6, perSecond: rate)
    }
    return row
  }

  private static func near(_ left: Double, _ right: Double) -> Bool { abs(left - right) < 1e-6 }

  @Test func `takes start-up off, and divides by the requests beyond it`() {
    let row = Self.row(.async, cpu: [2, 3], rate: [1, 1])
    #expect(zip(row.cpuMicroseconds, [2, 3]).allSatisfy { Self.near($0, $1) })
  }

  @Test func `compares runs of the same round, and takes the median of the quotients`() {
    // The machine slows down from round to round, and the quotient does not.
    let report = EngineBenchReport(
      rounds: 3,
      rows: [
        Self.row(.h2load, cpu: [2, 4, 8], rate: [400, 200, 100]),
        Self.row(.async, cpu: [1, 2, 6], rate: [400, 100, 100]),
        Self.row(.batch, cpu: [1, 1, 1], rate: [800, 400, 200]),
      ])
    #expect(report.json["cpu_ratio"]?.double == 0.5)
    #expect(report.json["rps_ratio"]?.double == 1)
    #expect(report.json["batch_cpu_ratio"]?.double == 0.25)
    #expect(report.json["batch_rps_ratio"]?.double == 2)
    #expect(report.json["elsewhere_cpu_ratio"]?.isNull == true)
    #expect(report.json["rows"]?.array?.count == 3)
    #expect(report.json["rows"]?[1]?["cpu_ratios"]?.array?.count == 3)
    #expect(report.json["rows"]?[0]?["cpu_ratios"]?.array?.isEmpty == true)
  }

  @Test func `takes headline figures from 100 in flight, and from good tokens`() {
    let narrow = Workload(.inFlight(1), requests: 1_100)
    var bad = Self.hundred
    bad.halfBad = true
    let report = EngineBenchReport(
      rounds: 1,
      rows: [
        Self.row(.async, bad, cpu: [9], rate: [90]),
        Self.row(.h2load, narrow, cpu: [20], rate: [10]),
        Self.row(.async, narrow, cpu: [40], rate: [10]),
        Self.row(.h2load, cpu: [2], rate: [100]),
        Self.row(.async, cpu: [3], rate: [100]),
      ])
    #expect(report.json["cpu_ratio"]?.double == 1.5)
  }

  @Test func `compares the good tokens with themselves`() {
    func run(_ requests: Int, accepted: Int, seconds: Double) -> BenchRun {
      var engine = EngineRun()
      engine.accepted = accepted
      engine.seconds = seconds
      return BenchRun(requests: requests, processorSeconds: 1, perSecond: 1, engine: engine)
    }
    let good = Workload(.perSecond(100), requests: 1_000)
    var halfBad = Workload(.perSecond(200), requests: 2_000)
    halfBad.halfBad = true
    var (pure, mixed) = (
      EngineBenchReport.Row(good, .async), EngineBenchReport.Row(halfBad, .async)
    )
    pure.runs = [run(1_000, accepted: 1_000, seconds: 10)]
    // As many were accepted, in more time.
    mixed.runs = [run(2_000, accepted: 1_000, seconds: 12.5)]
    #expect(EngineBenchReport(rounds: 1, rows: [pure, mixed]).goodRateRatios == [0.8])
  }

  @Test func `finds the highest peak, and growth where most requests were made`() {
    func run(requests: Int, peak: Int, warm: Int, last: Int) -> BenchRun {
      var engine = EngineRun()
      engine.peakBytes = peak
      engine.warmHeapBytes = warm
      engine.lastHeapBytes = last
      return BenchRun(requests: requests, processorSeconds: 1, perSecond: 1, engine: engine)
    }
    var row = EngineBenchReport.Row(Self.hundred, .async)
    row.runs = [
      run(requests: 10, peak: 900, warm: 0, last: 500),
      run(requests: 1_100, peak: 700, warm: 100, last: 130),
      run(requests: 1_100, peak: 800, warm: 100, last: 110),
    ]
    let report = EngineBenchReport(rounds: 3, rows: [row])
    #expect(report.peakBytes == 900)
    #expect(report.heapGrowthBytes == 20)
  }

  @Test func `knows the middle of an odd and of an even number`() {
    #expect(EngineBenchReport.median([3, 1, 2]) == 2)
    #expect(EngineBenchReport.median([4, 1, 2, 3]) == 2.5)
    #expect(EngineBenchReport.median([]) == 0)
  }

  @Test func `hands a run over between its processes whole`() {
    var run = EngineRun()
    run.accepted = 7
    run.refused = 3
    run.failed = 1
    run.firstFailure = "No answer \"came\"."
    run.seconds = 1.25
    run.warmHeapBytes = 100
    run.lastHeapBytes = 90
    run.peakBytes = 1 << 20
    #expect(EngineRun(run.json) == run)
    #expect(run.heapGrowthBytes == -10)
    #expect(EngineRun(["accepted": 1]) == nil)
  }
}
