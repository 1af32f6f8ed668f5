internal import Clocks
package import FieldTrips

/// When which trip captures a note: fixed before anything is sent, and blind to how the service
/// fares.
///
/// That is what makes the load open-loop. A harness that waits for an answer before it sends the
/// next stops asking just when the service is slow, and then leaves the worst waits out of its
/// figures (coordinated omission). Here a late service gets the captures all the same, and each wait
/// counts from the moment at which its capture was to happen.
package struct CaptureSchedule: Sendable {
  /// How captures of one trip follow each other.
  package enum Shape: Sendable {
    /// Without memory, each for itself.
    case poisson
    /// At a regular pace, each trip from a moment of its own.
    case even
    /// In bouts of a dozen, seconds apart, as people stop at a find.
    case bursty
    /// As a recorded or invented day, over and over, each trip from another point of it; made
    /// faster or slower to the rate that is asked for.
    case trace(CaptureTrace)
  }

  package struct Arrival: Sendable, Equatable {
    /// Since the beginning of the load.
    package let nanoseconds: Int64
    /// 0 ..< trips.
    package let trip: Int
  }

  private var source: Source
  private let ramp: Ramp
  private let endSeconds: Double

  /// - Parameters:
  ///   - shape: a trace among them has captures.
  ///   - rate: captures a second over all trips, above 0.
  ///   - seconds: how long captures come.
  ///   - rampSeconds: the rate rises evenly over so long; 0 begins at full rate.
  package init(
    _ shape: Shape, trips: Int, rate: Double, seconds: Double, rampSeconds: Double, seed: UInt64
  ) {
    precondition(trips > 0 && rate > 0, "a schedule needs trips and a rate")
    ramp = Ramp(seconds: min(rampSeconds, seconds))
    endSeconds = seconds
    let random = LoadRandom(seed: seed)
    switch shape {
    case .poisson: source = .poisson(PoissonSource(trips: trips, rate: rate, random: random))
    case .even:
      // A day of one capture, over and over.
      let beat = CaptureTrace.Capture(offsetSeconds: 0, observer: "o1", place: "Place 1")
      let trace = CaptureTrace(name: "even", captures: [beat])
      source = .trace(TraceSource(trace, trips: trips, rate: rate, random: random))
    case .bursty: source = .bursty(BurstySource(trips: trips, rate: rate, random: random))
    case .trace(let trace):
      precondition(!trace.captures.isEmpty, "a trace to play has captures")
      source = .trace(TraceSource(trace, trips: trips, rate: rate, random: random))
    }
  }

  /// The next arrival, in the order of time; nil when the load is over.
  package mutating func next() -> Arrival? {
    let (workTime, trip) = source.next()
    let seconds = ramp.seconds(at: workTime)
    guard seconds < endSeconds else { return nil }
    return Arrival(nanoseconds: Int64(seconds * 1e9), trip: trip)
  }

  /// Turns time at full rate into time with a slow beginning.
  private struct Ramp {
    let seconds: Double

    func seconds(at workTime: Double) -> Double {
      // Up to t of the ramp, t²/2R of work is done.
      workTime < seconds / 2
        ? (2 * seconds * workTime).squareRoot() : workTime + seconds / 2
    }
  }

  private enum Source: Sendable {
    case poisson(PoissonSource)
    case bursty(BurstySource)
    case trace(TraceSource)

    mutating func next() -> (seconds: Double, trip: Int) {
      switch self {
      case .poisson(var source):
        defer { self = .poisson(source) }
        return source.next()
      case .bursty(var source):
        // Parked while it is changed, or its queue would be copied each time.
        self = .poisson(PoissonSource(trips: 1, rate: 1, random: LoadRandom(seed: 0)))
        defer { self = .bursty(source) }
        return source.next()
      case .trace(var source):
        self = .poisson(PoissonSource(trips: 1, rate: 1, random: LoadRandom(seed: 0)))
        defer { self = .trace(source) }
        return source.next()
      }
    }
  }
}

/// Many memoryless streams together are one, of which each arrival falls to any trip.
private struct PoissonSource: Sendable {
  let trips: Int
  let rate: Double
  var random: LoadRandom
  var seconds = 0.0

  init(trips: Int, rate: Double, random: LoadRandom) {
    self.trips = trips
    self.rate = rate
    self.random = random
  }

  mutating func next() -> (seconds: Double, trip: Int) {
    seconds += random.exponential(mean: 1 / rate)
    return (seconds, random.below(trips))
  }
}

/// Bouts begin without memory; within one, captures follow each other within seconds.
private struct BurstySource: Sendable {
  private struct Bout: Sendable {
    let trip: Int
    let left: Int
  }

  private static let size = 12.0
  private static let gapSeconds = 2.0

  private let trips: Int
  private let boutsPerSecond: Double
  private var random: LoadRandom
  private var nextBout: Double
  private var bouts = TimeQueue<Bout>()

  init(trips: Int, rate: Double, random: LoadRandom) {
    self.trips = trips
    boutsPerSecond = rate / Self.size
    self.random = random
    // Begun before the load, so that its first seconds are like all others.
    nextBout = -10 * Self.size * Self.gapSeconds
  }

  mutating func next() -> (seconds: Double, trip: Int) {
    while true {
      while let due = bouts.nextAt, due <= nextBout, let (at, bout) = bouts.removeNext() {
        follow(bout, at)
        if at >= 0 { return (at, bout.trip) }
      }
      bouts.add(
        Bout(trip: random.below(trips), left: random.geometric(mean: Self.size)), at: nextBout)
      nextBout += random.exponential(mean: 1 / boutsPerSecond)
    }
  }

  private mutating func follow(_ bout: Bout, _ at: Double) {
    guard bout.left > 1 else { return }
    bouts.add(
      Bout(trip: bout.trip, left: bout.left - 1),
      at: at + random.exponential(mean: Self.gapSeconds))
  }
}

/// Each trip plays the same day from a point of its own, again from the beginning at its end.
private struct TraceSource: Sendable {
  private struct Position: Sendable {
    let trip: Int
    let next: Int
  }

  private let offsets: [Double]
  /// From one beginning to the next, with a mean gap between.
  private let cycle: Double
  private var positions = TimeQueue<Position>()

  init(_ trace: CaptureTrace, trips: Int, rate: Double, random: LoadRandom) {
    var random = random
    let count = Double(trace.captures.count)
    let length = max(trace.durationSeconds, 1)
    let cycle = count * Double(trips) / rate
    let scale = cycle / (length * (1 + 1 / max(1, count)))
    let first = trace.captures.first?.offsetSeconds ?? 0
    let offsets = trace.captures.map { ($0.offsetSeconds - first) * scale }
    self.offsets = offsets
    self.cycle = cycle
    for trip in 0..<trips {
      let start = random.fraction() * cycle
      let next = offsets.firstIndex { $0 >= start } ?? 0
      let wait = (next < offsets.count ? offsets[next] : 0) - start
      positions.add(Position(trip: trip, next: next), at: wait < 0 ? wait + cycle : wait)
    }
  }

  mutating func next() -> (seconds: Double, trip: Int) {
    guard let (at, position) = positions.removeNext() else { return (.infinity, 0) }
    let following = position.next + 1
    let isOver = following >= offsets.count
    let gap =
      isOver
      ? offsets[0] + cycle - offsets[position.next] : offsets[following] - offsets[position.next]
    positions.add(Position(trip: position.trip, next: isOver ? 0 : following), at: at + gap)
    return (at, position.trip)
  }
}
