import Clocks
import Randomness
import Transport

/// Everything that happens, on virtual time and from one seed: the machines of the nodes take their
/// turns, and messages between them, Redis, APNs and phones arrive when their delay is over.
///
/// One thread runs all of it, so the seed alone decides in which order things happen.
final class World {
  private struct Event {
    let at: Moment
    /// Events of one moment happen in the order in which they were planned.
    let number: UInt64
    let body: () -> Void
  }

  let seed: UInt64
  private(set) var now = World.start
  var random: SplitMix64
  let trace: Trace
  /// How often small things go wrong at present.
  var faults = FaultLevels()
  private(set) var machines: [Machine] = []
  private var events: [Event] = []
  private var lastNumber: UInt64 = 0

  static let start = Moment(seconds: 1_000)
  private static let wallAtStart = UnixTime(wholeSeconds: 1_716_620_400)

  init(seed: UInt64, isTracing: Bool) {
    self.seed = seed
    random = SplitMix64(seed: SplitMix64.mixed(seed &+ 0x5EED))
    trace = Trace(isKept: isTracing)
  }

  /// The date by a clock that nobody stepped.
  var wall: UnixTime { Self.wallAtStart + (now - Self.start) }
  var elapsed: Duration { now - Self.start }

  func add(_ machine: Machine) { machines.append(machine) }

  // MARK: Events

  func at(_ moment: Moment, _ body: @escaping () -> Void) {
    lastNumber += 1
    var index = events.count
    let event = Event(at: max(moment, now), number: lastNumber, body: body)
    events.append(event)
    while index > 0 {
      let parent = (index - 1) / 2
      guard Self.isEarlier(event, events[parent]) else { break }
      events[index] = events[parent]
      index = parent
    }
    events[index] = event
  }

  func after(_ span: Duration, _ body: @escaping () -> Void) { at(now + span, body) }

  /// Lets everything happen up to `end`.
  func run(until end: Moment) {
    while let next = nextMoment, next <= end {
      now = next
      while let event = events.first, event.at <= now {
        removeFirst()
        event.body()
      }
      for machine in machines { machine.takeTurn(at: now) }
    }
    now = end
  }

  /// Lets time pass, a second at a time, until `isDone` or the span is over.
  ///
  /// - Returns: whether it was done.
  func run(for span: Duration, until isDone: () -> Bool) -> Bool {
    let end = now + span
    while !isDone() {
      if now >= end { return false }
      run(until: now + .seconds(1))
    }
    return true
  }

  private var nextMoment: Moment? {
    var next = events.first?.at
    for machine in machines {
      guard let turn = machine.nextTurn else { continue }
      next = min(next ?? turn, max(turn, now))
    }
    return next.map { max($0, now) }
  }

  private func removeFirst() {
    guard let last = events.popLast(), !events.isEmpty else { return }
    var index = 0
    while true {
      var child = 2 * index + 1
      guard child < events.count else { break }
      if child + 1 < events.count, Self.isEarlier(events[child + 1], events[child]) { child += 1 }
      guard Self.isEarlier(events[child], last) else { break }
      events[index] = events[child]
      index = child
    }
    events[index] = last
  }

  private static func isEarlier(_ left: Event, _ right: Event) -> Bool {
    left.at == right.at ? left.number < right.number : left.at < right.at
  }
}

// MARK: Chance

extension World {
  func chance(_ probability: Double) -> Bool { random.fraction() < probability }

  /// Evenly between the two.
  func span(_ shortest: Duration, _ longest: Duration) -> Duration {
    let (low, high) = (shortest.wholeNanoseconds, longest.wholeNanoseconds)
    return .nanoseconds(low + Int64(random.fraction() * Double(high - low)))
  }

  func number(_ range: ClosedRange<Int>) -> Int {
    range.lowerBound + random.below(range.count)
  }

  func one<Element>(of elements: [Element]) -> Element? {
    elements.isEmpty ? nil : elements[random.below(elements.count)]
  }
}
