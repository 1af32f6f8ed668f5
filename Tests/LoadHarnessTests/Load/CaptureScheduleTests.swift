import FieldTrips
import Testing

@testable import LoadHarness

@Suite struct `A capture schedule` {
  private static let day = CaptureTrace(
    name: "day",
    captures: [0, 1, 1, 5, 20, 60].map {
      CaptureTrace.Capture(offsetSeconds: $0, observer: "o1", place: "Place 1")
    })

  private static let shapes: [(name: String, shape: CaptureSchedule.Shape)] = [
    ("poisson", .poisson), ("even", .even), ("bursty", .bursty), ("trace", .trace(day)),
  ]

  private func all(
    _ shape: CaptureSchedule.Shape, trips: Int = 20, rate: Double = 200, seconds: Double = 100,
    ramp: Double = 0, seed: UInt64 = 7
  ) -> [CaptureSchedule.Arrival] {
    var schedule = CaptureSchedule(
      shape, trips: trips, rate: rate, seconds: seconds, rampSeconds: ramp, seed: seed)
    var arrivals: [CaptureSchedule.Arrival] = []
    while let next = schedule.next() { arrivals.append(next) }
    return arrivals
  }

  @Test func `comes in order, within its time, to trips that there are`() {
    for (name, shape) in Self.shapes {
      let arrivals = all(shape)
      let isInOrder = zip(arrivals, arrivals.dropFirst()).allSatisfy {
        $0.nanoseconds <= $1.nanoseconds
      }
      #expect(isInOrder, "\(name)")
      #expect(
        arrivals.allSatisfy { (0..<100_000_000_000).contains($0.nanoseconds) }, "\(name)")
      #expect(Set(arrivals.map(\.trip)) == Set(0..<20), "\(name)")
    }
  }

  @Test func `has the rate that was asked for`() {
    for (name, shape) in Self.shapes {
      let count = Double(all(shape).count)
      #expect(abs(count - 20_000) < 1_200, "\(name): \(count)")
    }
  }

  @Test func `is the same for the same seed, and another for another`() {
    for (name, shape) in Self.shapes {
      #expect(all(shape, seed: 3) == all(shape, seed: 3), "\(name)")
      #expect(all(shape, seed: 3) != all(shape, seed: 4), "\(name)")
    }
  }

  @Test func `rises evenly over its ramp`() {
    // 100 s of ramp give half of what 100 s at full rate give; the first half of it a quarter of
    // that.
    for (name, shape) in Self.shapes {
      let arrivals = all(shape, ramp: 100)
      let firstHalf = arrivals.count { $0.nanoseconds < 50_000_000_000 }
      #expect(abs(Double(arrivals.count) - 10_000) < 900, "\(name): \(arrivals.count)")
      #expect(abs(Double(firstHalf) - 2_500) < 500, "\(name): \(firstHalf)")
    }
  }

  @Test func `is memoryless or bursty as its name says`() {
    // Of one trip: how gaps vary, as a share of their mean. 1 for a memoryless stream.
    func variation(_ shape: CaptureSchedule.Shape) -> Double {
      let times = all(shape, trips: 4, rate: 4, seconds: 2_000).filter { $0.trip == 0 }
        .map { Double($0.nanoseconds) / 1e9 }
      let gaps = zip(times.dropFirst(), times).map { $0 - $1 }
      let mean = gaps.reduce(0, +) / Double(gaps.count)
      let square = gaps.reduce(0) { $0 + ($1 - mean) * ($1 - mean) } / Double(gaps.count)
      return square.squareRoot() / mean
    }
    #expect(abs(variation(.poisson) - 1) < 0.1)
    #expect(variation(.even) < 1e-6)
    #expect(variation(.bursty) > 1.3)
    #expect(variation(.trace(Self.day)) > 1.1)
  }
}
