import Testing

@testable import LoadHarness

@Suite struct `A latency histogram` {
  @Test func `counts waits without an end as longer than all others`() {
    var histogram = LatencyHistogram()
    histogram.add(10, times: 98)
    histogram.addEndless(times: 2)
    #expect(histogram.total == 100)
    #expect(histogram.quantile(0.98) == 10)
    #expect(histogram.quantile(0.99) == LatencyHistogram.never)
    #expect(histogram.distribution.last?.share == 0.98)
    #expect(LoadReport.time(histogram.quantile(1)) == "never")
    var other = LatencyHistogram()
    #expect(other.isEmpty && other.quantile(0.99) == 0)
    other.add(histogram)
    #expect(other.endless == 2 && !other.isEmpty)
  }

  @Test func `reads back what it was given, at most one part in sixty-four too much`() {
    for value in [0, 1, 63, 127, 128, 129, 255, 256, 999, 65_535, 1_000_000, 3_600_000_000] {
      var histogram = LatencyHistogram()
      histogram.add(value)
      // A larger one, so that the answer is the bucket's end and not simply the maximum.
      histogram.add(value * 4 + 1_000)
      let read = histogram.quantile(0.5)
      #expect(read >= value && read - value <= value / 64, "\(value) came back as \(read)")
    }
  }

  @Test func `gives the quantiles of a hundred known values`() {
    var histogram = LatencyHistogram()
    for value in 1...100 { histogram.add(value) }
    #expect(histogram.quantile(0) == 1)
    #expect(histogram.quantile(0.5) == 50)
    #expect(histogram.quantile(0.99) == 99)
    #expect(histogram.quantile(1) == 100)
    #expect(histogram.meanMicroseconds == 50.5)
    #expect(histogram.count == 100)
  }

  @Test func `counts many values of one size at once, and a negative one as none`() {
    var histogram = LatencyHistogram()
    histogram.add(-5, times: 3)
    histogram.add(7, times: 1_000_000)
    histogram.add(9, times: 0)
    #expect(histogram.count == 1_000_003)
    #expect(histogram.quantile(0.5) == 7)
    #expect(histogram.maxMicroseconds == 7)
  }

  @Test func `takes in another one as if its values had come here`() {
    var all = LatencyHistogram()
    var left = LatencyHistogram()
    var right = LatencyHistogram()
    for value in stride(from: 1, to: 5_000_000, by: 7_919) {
      all.add(value)
      if value.isMultiple(of: 2) { left.add(value) } else { right.add(value) }
    }
    left.add(right)
    #expect(left == all)
  }

  @Test func `stays small, whatever comes`() {
    var histogram = LatencyHistogram()
    for exponent in 0..<40 { histogram.add(1 << exponent) }
    #expect(histogram.distribution.count == 40)
    #expect(MemoryLayout<Int>.size * LatencyHistogram.buckets(upTo: 1 << 40) < 32_768)
  }

  @Test func `draws its distribution up to all of its values`() {
    var histogram = LatencyHistogram()
    for value in [10, 10, 20, 40] { histogram.add(value) }
    let points = histogram.distribution
    #expect(points.map(\.microseconds) == [10, 20, 40])
    #expect(points.map(\.share) == [0.5, 0.75, 1])
  }
}
