import Clocks
import FieldTrips
import Testing

@Suite struct `The rule` {
  @Test(arguments: 1...300 as ClosedRange<UInt64>)
  func `is due in the first moment at which its inequality holds`(_ seed: UInt64) {
    var dice = PolicyDice(seed: seed)
    let refill = [30.0, 60, 120, 300, 85.714][dice.roll(0...4)]
    let capacity = dice.roll(2...20)
    let start = Moment(seconds: dice.fraction() * 1e6)
    let bucket = TokenBucket(
      refillInterval: .nanoseconds(Int64(refill * 1e9)), capacity: capacity,
      level: dice.fraction() * Double(capacity + 5) - 5, at: start)
    let oldest = start + .nanoseconds(Int64(dice.fraction() * 60e9))
    let newest = oldest + .nanoseconds(Int64(dice.fraction() * 30e9))
    let backlog = Backlog(dice.roll(1...40), oldest: oldest, newest: newest, isUrgent: false)
    let gap = dice.fraction() * 40 + 0.5
    let situation = DueRule.Situation(backlog: backlog, gapSeconds: gap, bucket: bucket)
    let rule = seed % 2 == 0 ? DueRule.standard : .reference

    func holds(_ moment: Moment) -> Bool {
      let quiet = (moment - newest).inSeconds
      // Not clamped: where the bucket is full before, the publisher sends anyway.
      let fill = (moment - bucket.anchor).inSeconds / (refill * Double(capacity))
      return Double(backlog.count) * (rule.gapFactor * gap + rule.quietFactor * quiet)
        >= rule.price * refill * (1 - fill)
    }
    var (low, high) = (newest - .seconds(100_000), newest + .seconds(100_000))
    while (high - low).wholeNanoseconds > 1 {
      let middle = low + .nanoseconds((high - low).wholeNanoseconds / 2)
      if holds(middle) { high = middle } else { low = middle }
    }
    #expect(abs((rule.due(situation) - high).inSeconds) < 1e-5, "seed \(seed)")
  }

  @Test func `lets a note out at once from a full bucket`() {
    var bench = PublisherBench(policy: .default, level: 10)
    bench.advance(to: 100)
    bench.change()
    #expect(bench.decision == .send(.ordinary))
  }

  @Test func `sends one broadcast for a burst, and nothing more`() {
    var bench = PublisherBench(policy: .default, level: 2)
    for second in stride(from: 10.0, to: 20, by: 0.25) {
      bench.run(until: second)
      bench.change()
    }
    bench.run(until: 1_000)
    let immediate = bench.broadcasts.filter { $0.priority == 10 }
    #expect(immediate.count <= 2)
    #expect(immediate.last?.revision == 40)
  }
}

@Suite struct `A gap estimate` {
  @Test(arguments: [nil, .seconds(3_000)] as [Duration?])
  func `is the mean gap of evenly random traffic`(_ window: Duration?) throws {
    var dice = PolicyDice(seed: 11)
    var (estimate, now, sum) = (GapEstimate(), Moment.origin, 0.0)
    var settings = GapEstimate.Settings()
    settings.smoothing = 0.001
    settings.floor = .milliseconds(1)
    settings.window = window
    for count in 1...20_000 {
      // Inversion by a uniform draw: exponential gaps of mean 10 s.
      let gap = dice.exponential() * 10
      now += .nanoseconds(Int64(gap * 1e9))
      estimate.observe(1, at: now, settings)
      if count > 10_000 { sum += try #require(estimate.typicalSeconds(settings)) / 10_000 }
    }
    #expect(abs(sum - 10) < 0.5)
  }

  @Test func `knows nothing before the second change, and floors equal times`() throws {
    var estimate = GapEstimate()
    var settings = GapEstimate.Settings()
    settings.window = nil
    estimate.observe(1, at: .origin, settings)
    #expect(estimate.typicalSeconds(settings) == nil)
    estimate.observe(1, at: .origin, settings)
    let gap = try #require(estimate.typicalSeconds(settings))
    #expect(abs(gap - 0.5 / 0.561_459_483_566_885) < 1e-12)
  }
}

@Suite struct `A token bucket` {
  @Test func `refills by itself, up to its capacity`() {
    var bucket = TokenBucket(refillInterval: .seconds(60), capacity: 3, level: 1, at: .origin)
    #expect(bucket.level(at: Moment(seconds: 30)) == 1.5)
    #expect(bucket.level(at: Moment(seconds: 9_000)) == 3)
    #expect(bucket.full == Moment(seconds: 120))
    bucket.spend(at: Moment(seconds: 30))
    #expect(bucket.level(at: Moment(seconds: 30)) == 0.5)
    #expect(bucket.ready() == Moment(seconds: 60))
    #expect(bucket.ready(overdraft: 2) == Moment(seconds: -60))
    bucket.refund()
    #expect(bucket.level(at: Moment(seconds: 30)) == 1.5)
    bucket.empty(at: Moment(seconds: 30))
    #expect(bucket.level(at: Moment(seconds: 30)) == 0)
    bucket.spend(at: Moment(seconds: 30))
    bucket.empty(at: Moment(seconds: 30))
    #expect(bucket.level(at: Moment(seconds: 30)) == -1)
  }

  @Test func `keeps its tokens when the rate changes, as far as they fit`() {
    var bucket = TokenBucket(refillInterval: .seconds(60), capacity: 10, level: 4, at: .origin)
    bucket.retune(refillInterval: .seconds(90), capacity: 7, at: .origin)
    #expect(abs(bucket.level(at: .origin) - 4) < 1e-8)
    #expect(abs(bucket.level(at: Moment(seconds: 90)) - 5) < 1e-8)
    bucket.retune(refillInterval: .seconds(300), capacity: 2, at: .origin)
    #expect(bucket.level(at: .origin) == 2)
  }
}

@Suite struct `A publishing policy` {
  @Test func `has profiles that are valid`() throws {
    for policy in [PublishingPolicy.standard, .default, .frequent] { try policy.validate() }
    #expect(PublishingPolicy.standard.overdraft == 3)
  }

  @Test func `refuses wrong settings by name, value and range`() {
    func complaint(_ change: (inout PublishingPolicy) -> Void) -> String? {
      var policy = PublishingPolicy()
      change(&policy)
      do {
        try policy.validate()
        return nil
      } catch {
        return "\(error)"
      }
    }
    #expect(complaint { _ in } == nil)
    #expect(complaint { $0.budgetPerHour = 0 } == "budget=0: expected 1...3600 broadcasts an hour")
    #expect(complaint { $0.budgetPerHour = .nan }?.hasPrefix("budget=nan") == true)
    #expect(complaint { $0.burst = 1 } == "burst=1: expected 2...1000 broadcasts, or auto")
    #expect(complaint { $0.rateDown = 1 } == "rate-down=1: expected 0.01...0.99")
    #expect(complaint { $0.tailGap = .zero } == "tail-gap=0: expected 1...3600 s")
    #expect(complaint { $0.skewLimit = .zero }?.hasPrefix("skew-limit") == true)
    #expect(complaint { $0.tailPause = .seconds(80_000) }?.hasPrefix("tail-pause=") == true)
    #expect(complaint { $0.overdraft = -1 }?.hasPrefix("overdraft") == true)
  }
}
