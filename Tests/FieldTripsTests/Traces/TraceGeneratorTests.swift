import Testing

@testable import FieldTrips

@Suite struct `The trace generator` {
  /// FNV-1a over the written trace.
  private func fingerprint(_ trace: CaptureTrace) -> UInt64 {
    trace.csv().utf8.reduce(0xcbf2_9ce4_8422_2325) { ($0 ^ UInt64($1)) &* 0x0000_0100_0000_01b3 }
  }

  @Test func `gives the same trace for the same seed, on every machine`() {
    #expect(fingerprint(TraceGenerator.trace(.outing, seed: 1)) == 16_593_584_543_703_317_117)
    #expect(fingerprint(TraceGenerator.trace(.bioblitz, seed: 1)) == 8_798_090_617_078_371_923)
  }

  @Test func `gives another trace for another seed`() {
    let traces = (1...20).map { fingerprint(TraceGenerator.trace(.outing, seed: $0)) }
    #expect(Set(traces).count == 20)
  }

  @Test(arguments: TraceGenerator.Shape.all.map(\.name))
  func `writes traces that its own reader takes`(name: String) throws {
    let shape = try #require(TraceGenerator.Shape.all.first { $0.name == name })
    for seed in UInt64(0)..<10 {
      let trace = TraceGenerator.trace(shape, seed: seed)
      let read = try CaptureTrace.parse(csv: Array(trace.csv().utf8), name: trace.name)
      #expect(read.captures == trace.captures)
      #expect(trace.captures.first?.offsetSeconds == 0)
      #expect(trace.captures.first?.observer == "o1")
      #expect(trace.kind == .generated(seed: seed))
    }
  }

  // The bands are those of recorded events of the same length and size, widened by what forty
  // seeds vary. Poisson arrivals would have a variation and a Fano factor of 1 and be out of them.

  @Test func `makes outings as bursty as a recorded one`() {
    for seed in UInt64(1)...40 {
      let found = TraceStatistics(TraceGenerator.trace(.outing, seed: seed))
      #expect((160...380).contains(found.captures), "seed \(seed)")
      #expect(found.observers == 8, "seed \(seed)")
      #expect((6...8).contains(found.places), "seed \(seed)")
      #expect((6_300...7_260).contains(found.durationSeconds), "seed \(seed)")
      #expect((1.3...2.5).contains(found.gapVariation), "seed \(seed)")
      #expect((1.2...2.6).contains(found.fano), "seed \(seed)")
      #expect((0.01...0.10).contains(found.zeroGapShare), "seed \(seed)")
      #expect((0.58...0.90).contains(found.busyMinuteShare), "seed \(seed)")
      #expect((300...900).contains(found.longestGapSeconds), "seed \(seed)")
      #expect((3.0...8.5).contains(found.peakOverMean), "seed \(seed)")
    }
  }

  @Test func `makes bioblitz days as bursty as recorded ones`() {
    for seed in UInt64(1)...40 {
      let found = TraceStatistics(TraceGenerator.trace(.bioblitz, seed: seed))
      #expect((600...1_700).contains(found.captures), "seed \(seed)")
      #expect((27...40).contains(found.observers), "seed \(seed)")
      #expect((24...28).contains(found.places), "seed \(seed)")
      #expect((1.4...5.0).contains(found.gapVariation), "seed \(seed)")
      #expect((1.7...3.4).contains(found.fano), "seed \(seed)")
      #expect((0.10...0.36).contains(found.zeroGapShare), "seed \(seed)")
      #expect((0.40...0.80).contains(found.busyMinuteShare), "seed \(seed)")
      #expect((6.0...16.0).contains(found.peakOverMean), "seed \(seed)")
      #expect((0.06...0.30).contains(found.busiestObserverShare), "seed \(seed)")
      #expect((4...12).contains(found.largestStack), "seed \(seed)")
    }
  }

  @Test func `has plateaus and lulls, not one even day`() {
    let trace = TraceGenerator.trace(.bioblitz, seed: 3)
    var hours = [Int](repeating: 0, count: 12)
    for capture in trace.captures { hours[min(Int(capture.offsetSeconds) / 3_600, 11)] += 1 }
    let (most, least) = (hours.max() ?? 0, hours[1...10].min() ?? 0)
    #expect(most > 3 * least, "captures by hour: \(hours)")
  }
}
