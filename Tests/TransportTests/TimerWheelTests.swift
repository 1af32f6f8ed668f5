import Clocks
import Randomness
import Testing

@testable import Transport

@Suite struct `The timer wheel` {
  @Test func `fires each timer in its millisecond and never early`() {
    var wheel = TimerWheel<Int>(now: Moment(seconds: 1))
    let moments = [1.0004, 1.001, 1.2, 1.9, 70, 5_000, 100_000]
    for (index, seconds) in moments.enumerated() {
      _ = wheel.schedule(at: Moment(seconds: seconds), index)
    }
    for (index, seconds) in moments.enumerated() {
      var fired: [Int] = []
      wheel.expire(at: Moment(seconds: seconds) - .milliseconds(1), into: &fired)
      #expect(!fired.contains(index))
      wheel.expire(at: Moment(seconds: seconds) + .milliseconds(1), into: &fired)
      #expect(fired.contains(index) || wheel.count < moments.count - index)
    }
    #expect(wheel.count == 0)
    #expect(wheel.nextExpiry == nil)
  }

  @Test func `forgets a cancelled timer, and a stale name cancels nothing`() {
    var wheel = TimerWheel<String>(now: .origin)
    let first = wheel.schedule(at: Moment(seconds: 1), "first")
    #expect(wheel.cancel(first) == "first")
    let second = wheel.schedule(at: Moment(seconds: 1), "second")
    #expect(wheel.cancel(first) == nil)
    var fired: [String] = []
    wheel.expire(at: Moment(seconds: 2), into: &fired)
    #expect(fired == ["second"])
    #expect(wheel.cancel(second) == nil)
  }

  /// Against a sorted list, through random arming, cancelling and jumps of time.
  @Test(arguments: 0..<40)
  func `agrees with a sorted list`(seed: UInt64) {
    var random = SplitMix64(seed: seed)
    var now = Moment(seconds: Double(random.next() % 1_000_000) / 1000)
    var wheel = TimerWheel<Int>(now: now)
    var model: [Int: (due: Int64, timer: LoopTimer)] = [:]
    for step in 0..<2_000 {
      switch random.next() % 4 {
      case 0, 1:
        let scale = [1, 300, 70_000, 20_000_000, 6_000_000_000][Int(random.next() % 5)]
        let ahead = Int64(random.next() % UInt64(scale))
        let moment = Moment(nanoseconds: now.nanoseconds + ahead * 1_000_000)
        let timer = wheel.schedule(at: moment, step)
        model[step] = (moment.nanoseconds, timer)
      case 2:
        guard let victim = model.keys.min() else { continue }
        #expect(wheel.cancel(model[victim]!.timer) == victim)
        model[victim] = nil
      default:
        if let next = wheel.nextExpiry, let earliest = model.values.map(\.due).min() {
          // The wheel may wake early to sort, but never late.
          #expect(next.nanoseconds <= max(earliest + 1_000_000, now.nanoseconds + 1_000_000))
        }
        let scale = [2, 500, 100_000, 50_000_000][Int(random.next() % 4)]
        now = Moment(
          nanoseconds: now.nanoseconds + Int64(random.next() % UInt64(scale)) * 1_000_000)
        var fired: [Int] = []
        wheel.expire(at: now, into: &fired)
        for index in fired {
          #expect(model[index].map { $0.due <= now.nanoseconds } == true)
          model[index] = nil
        }
        // Nothing that was due more than a tick ago is left.
        #expect(!model.values.contains { $0.due < now.nanoseconds - 1_000_000 })
      }
      #expect(wheel.count == model.count)
    }
  }
}
