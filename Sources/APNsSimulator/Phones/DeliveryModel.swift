package import Clocks

/// How accepted pushes travel to phones. Every fate is drawn from the seed, the phone and the
/// message, so it can be computed again at any time and need not be stored.
package struct DeliveryModel: Sendable, Equatable {
  /// Every push takes at least so long.
  package var latencyLow: Duration = .milliseconds(40)
  /// And, unless delayed by its priority, at most so long. Reordering follows from the spread.
  package var latencyHigh: Duration = .milliseconds(400)
  /// Share of pushes that never arrive, per phone: 0 to 1.
  package var lossShare = 0.0
  /// Share of pushes that arrive twice, the second within `latencyHigh` of the first.
  package var duplicateShare = 0.0
  /// Share of pushes of priority 5 or 1 that the phone gets only when it next wakes.
  package var delayedShare = 0.0
  /// Delayed ones arrive together, at whole multiples of this time.
  package var batchInterval: Duration = .seconds(15)

  package init() {}

  /// Every push arrives at every phone after the same time.
  package static func constant(_ latency: Duration) -> DeliveryModel {
    var model = DeliveryModel()
    model.latencyLow = latency
    model.latencyHigh = latency
    return model
  }

  func validate() throws(InvalidSetting) {
    try require("delivery.latencyLow", latencyLow, in: .zero ... .seconds(3600), "")
    try require("delivery.latencyHigh", latencyHigh, in: latencyLow ... .seconds(3600), "")
    try require("delivery.lossShare", lossShare, in: 0...1, "")
    try require("delivery.duplicateShare", duplicateShare, in: 0...1, "")
    try require("delivery.delayedShare", delayedShare, in: 0...1, "")
    try require(
      "delivery.batchInterval", batchInterval, in: .milliseconds(1) ... .seconds(3600), "")
  }

  /// When one push reaches one phone: not at all, once or twice.
  package struct Arrivals: Sendable, Equatable {
    package var first: UnixTime?
    package var second: UnixTime?
  }

  /// Whether all phones share each push's fate, so that one phone's card stands for all.
  var isSameForAll: Bool {
    latencyLow == latencyHigh && lossShare == 0 && duplicateShare == 0
      && (delayedShare == 0 || delayedShare == 1)
  }

  /// Every push reaches every phone once, only not at the same moment.
  ///
  /// Then all phones come to the same state once a push has arrived everywhere, provided that what
  /// happens on arrival is dated alike: with the moment at which the first phone may get it.
  var isPureLatency: Bool { lossShare == 0 && duplicateShare == 0 && delayedShare == 0 }

  /// What is between the first arrival and the last.
  var latencySpread: Duration { latencyHigh - latencyLow }

  /// No push arrives later than this after it set out.
  var longestDelay: Duration {
    isPureLatency
      ? latencyHigh : latencyHigh + latencyHigh + (delayedShare > 0 ? batchInterval : .zero)
  }

  /// - Parameter departure: when it was accepted, or when the phone became reachable.
  package func arrivals(
    of message: UInt64, priority: Int, at phone: UInt64, departure: UnixTime, seed: UInt64
  ) -> Arrivals {
    var bits = SeededRandom(seed: SeededRandom.hash(seed, phone, message))
    let spread = Double((latencyHigh - latencyLow).wholeNanoseconds)
    var arrival =
      departure + latencyLow + .nanoseconds(spread > 0 ? Int64(spread * bits.fraction()) : 0)
    if lossShare > 0, bits.fraction() < lossShare { return Arrivals() }
    if priority < 10, delayedShare > 0, bits.fraction() < delayedShare {
      let interval = batchInterval.wholeNanoseconds
      let rest = arrival.nanoseconds % interval
      if rest > 0 { arrival = UnixTime(nanoseconds: arrival.nanoseconds - rest + interval) }
    }
    guard duplicateShare > 0, bits.fraction() < duplicateShare else {
      return Arrivals(first: arrival)
    }
    let gap = Double(latencyHigh.wholeNanoseconds) * bits.fraction()
    return Arrivals(first: arrival, second: arrival + .nanoseconds(Int64(gap)))
  }
}
