import Clocks
import FieldTrips
import Testing

@Suite struct `The app's queue` {
  private func backlog(_ count: Int, since: Double) -> Backlog {
    Backlog(
      count, oldest: Moment(seconds: since), newest: Moment(seconds: since), isUrgent: false)
  }

  @Test func `serves ends, then significant changes, then ordinary ones, then tails`() {
    var queue = SendQueue<String>()
    let now = Moment(seconds: 10)
    queue.enqueue("tail", .tail, Backlog(), at: now)
    queue.enqueue("little", .ordinary, backlog(1, since: 9), at: now)
    queue.enqueue("much", .ordinary, backlog(3, since: 8), at: now)
    queue.enqueue("significant", .significant, backlog(1, since: 10), at: now)
    queue.enqueue("end", .end, Backlog(), at: now)
    queue.enqueue("later", .significant, backlog(9, since: 0), at: now)
    let order = drain(&queue, at: now)
    #expect(order == ["end", "significant", "later", "much", "little", "tail"])
  }

  @Test func `has a channel once, at its newest rank`() {
    var queue = SendQueue<Int>()
    let now = Moment(seconds: 10)
    for second in 0..<5 { queue.enqueue(1, .ordinary, backlog(second + 1, since: 2), at: now) }
    queue.enqueue(2, .significant, backlog(1, since: 2), at: now)
    queue.enqueue(1, .significant, backlog(6, since: 2), at: now)
    #expect(queue.count == 2)
    #expect(queue.rank(of: 1) == .significant)
    let order = drain(&queue, at: now)
    #expect(order.count == 2)
    queue.enqueue(3, .tail, Backlog(), at: now)
    queue.remove(3, at: now)
    queue.remove(4, at: now)
    let nobody = queue.next(at: now)
    #expect(nobody == nil)
  }

  @Test func `lets many waiting notes overtake an older one in time`() {
    var queue = SendQueue<String>()
    queue.enqueue("old", .ordinary, backlog(1, since: 0), at: Moment(seconds: 10))
    queue.enqueue("many", .ordinary, backlog(5, since: 10), at: Moment(seconds: 10))
    var sooner = queue
    let (first, other) = (
      sooner.next(at: Moment(seconds: 12)), queue.next(at: Moment(seconds: 13))
    )
    #expect(first?.channel == "old")
    #expect(other?.channel == "many")
  }

  @Test(arguments: 1...40 as ClosedRange<UInt64>)
  func `always finds the most note-seconds`(_ seed: UInt64) {
    var dice = PolicyDice(seed: seed)
    var queue = SendQueue<Int>()
    var waiting: [Int: Backlog] = [:]
    var now = Moment(seconds: 1_000)
    for _ in 0..<400 {
      now += .nanoseconds(Int64(dice.fraction() * 4e9))
      let channel = dice.roll(0...60)
      switch dice.roll(0...9) {
      case 0...5:
        var backlog = waiting[channel] ?? Backlog()
        backlog.add(dice.roll(1...6), at: now, isSignificant: false)
        waiting[channel] = backlog
        queue.enqueue(channel, .ordinary, backlog, at: now)
      case 6:
        waiting[channel] = nil
        queue.remove(channel, at: now)
      default:
        let best = waiting.values.map { $0.noteSeconds(at: now) }.max()
        let next = queue.next(at: now)
        #expect((next == nil) == (best == nil))
        guard let next, let best else { continue }
        let chosen = waiting.removeValue(forKey: next.channel)?.noteSeconds(at: now) ?? -1
        #expect(abs(chosen - best) < 1e-4, "seed \(seed)")
      }
      #expect(queue.count == waiting.count)
    }
  }

  @Test(arguments: 1...12 as ClosedRange<UInt64>)
  func `starves nobody while the app's rate is below demand`(_ seed: UInt64) {
    var dice = PolicyDice(seed: seed)
    var queue = SendQueue<Int>()
    var waiting: [Int: Backlog] = [:]
    var served: [Int: Moment] = [:]
    var longest = 0.0
    let busy = dice.roll(1...6)
    // Forty channels with a note each 4 s or so, a few of them very busy: ten sends a second would
    // be wanted, one is granted.
    for second in 0..<2_000 {
      let now = Moment(seconds: Double(second))
      for channel in 0..<40 where channel < busy || dice.happens(0.25) {
        waiting[channel, default: Backlog()].add(
          channel < busy ? 3 : 1, at: now, isSignificant: false)
        queue.enqueue(channel, .ordinary, waiting[channel] ?? Backlog(), at: now)
      }
      // Now and then something significant, which is next whatever waits.
      let urgent = dice.happens(0.05) ? 40 + dice.roll(0...9) : nil
      if let urgent { queue.enqueue(urgent, .significant, Backlog(), at: now) }
      guard let next = queue.next(at: now) else { continue }
      if let urgent {
        #expect(next.channel == urgent)
        continue
      }
      longest = max(longest, (now - (waiting[next.channel]?.oldest ?? now)).inSeconds)
      waiting[next.channel] = nil
      served[next.channel] = now
    }
    #expect(served.count == 40)
    #expect(served.values.allSatisfy { $0 > Moment(seconds: 1_850) })
    #expect(longest < 120)
  }

  private func drain<Channel>(_ queue: inout SendQueue<Channel>, at now: Moment) -> [Channel] {
    var order: [Channel] = []
    while let next = queue.next(at: now) { order.append(next.channel) }
    return order
  }
}

/// A rate with times in seconds.
private final class Rate {
  private var rate: AppRate<Int>

  init(_ settings: AppRateSettings = .init()) {
    rate = AppRate(settings: settings, at: .origin)
  }

  var requestsPerSecond: Double { rate.requestsPerSecond }

  @discardableResult
  func take(at seconds: Double) -> Double? { rate.take(at: Moment(seconds: seconds))?.seconds }

  @discardableResult
  func throttled(_ channel: Int, at seconds: Double) -> Bool {
    rate.slowed(channel, at: Moment(seconds: seconds))
  }
}

@Suite struct `The app's rate` {
  @Test func `grants a second's worth at once, then one after the other`() {
    let rate = Rate()
    for _ in 0..<100 { #expect(rate.take(at: 0) == nil) }
    #expect(rate.take(at: 0) == 0.01)
    #expect(rate.take(at: 0.01) == nil)
  }

  @Test func `falls when several channels are throttled, once in ten seconds`() {
    let rate = Rate()
    #expect(!rate.throttled(1, at: 0))
    #expect(!rate.throttled(1, at: 0.1))
    #expect(!rate.throttled(2, at: 0.2))
    #expect(rate.throttled(3, at: 0.3))
    #expect(rate.requestsPerSecond == 70)
    #expect(!rate.throttled(4, at: 0.4))
    #expect(rate.requestsPerSecond == 70)
  }

  @Test func `does not take single channels' limits for its own`() {
    let rate = Rate()
    for channel in 0..<20 {
      #expect(!rate.throttled(channel, at: Double(channel) * 6))
    }
  }

  @Test func `rises by one a second up to its ceiling`() {
    let rate = Rate()
    rate.take(at: 30.5)
    #expect(rate.requestsPerSecond == 130)
    rate.throttled(1, at: 60)
    rate.take(at: 60.9)
    #expect(rate.requestsPerSecond == 160)
    rate.take(at: 5_000)
    #expect(rate.requestsPerSecond == 1_000)
  }

  @Test func `never falls below its floor`() {
    var settings = AppRateSettings()
    (settings.start, settings.up) = (2, 0)
    let rate = Rate(settings)
    for second in 0..<300 { rate.throttled(second, at: Double(second)) }
    #expect(rate.requestsPerSecond == 1)
  }
}
