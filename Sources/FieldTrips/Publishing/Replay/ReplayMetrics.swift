/// How far behind a group was on one trip.
package struct ReplayMetrics: Sendable, Equatable {
  package let notes: Int
  package let tripSeconds: Double
  /// Priority-10 broadcasts, the trip's end not counted.
  package let broadcasts: Int
  /// Sum of all waits, in note-seconds.
  package let area: Double
  /// Seconds in which at least one note was waiting.
  package let wrongSeconds: Double
  package let meanWait: Double
  /// 95th percentile of the waits, linearly interpolated.
  package let p95Wait: Double
  package let maxWait: Double

  /// Notes that the group was behind, on average over the trip.
  package var meanStaleness: Double { area / tripSeconds }
  package var wrongShare: Double { wrongSeconds / tripSeconds }

  package init(_ trip: ReplayTrip, broadcasts: [Int]) {
    self.init(
      changes: trip.changes.map(Double.init), broadcasts: broadcasts.map(Double.init),
      end: Double(trip.end))
  }

  /// - Parameters:
  ///   - changes: when each was accepted by the service, in seconds, in order.
  ///   - broadcasts: when APNs accepted each priority-10 broadcast, in order. A change counts as
  ///     carried by the first one at or after it.
  ///   - end: when the trip's end was accepted; it carries all that is left.
  package init(changes: [Double], broadcasts: [Double], end: Double) {
    var waits: [Double] = []
    waits.reserveCapacity(changes.count)
    var (wrong, wrongUntil) = (0.0, -Double.infinity)
    var index = 0
    for change in changes {
      while index < broadcasts.count, broadcasts[index] < change { index += 1 }
      let shown = index < broadcasts.count ? min(broadcasts[index], end) : end
      waits.append(shown - change)
      wrong += max(0, shown - max(change, wrongUntil))
      wrongUntil = max(wrongUntil, shown)
    }
    notes = changes.count
    tripSeconds = end
    self.broadcasts = broadcasts.count
    area = waits.reduce(0, +)
    wrongSeconds = wrong
    meanWait = waits.isEmpty ? 0 : area / Double(waits.count)
    waits.sort()
    p95Wait = ReplayMetrics.percentile(0.95, of: waits)
    maxWait = waits.last ?? 0
  }

  /// How much more note-seconds were lost than had to be, pooled over trips; 1 is perfect.
  ///
  /// One second a note is added above and below: the resolution of timestamps, which keeps the
  /// ratio finite where nothing need be lost.
  package static func stalenessRatio(_ trips: [(metrics: ReplayMetrics, leastArea: Double)])
    -> Double
  {
    let notes = trips.reduce(0) { $0 + Double($1.metrics.notes) }
    let area = trips.reduce(0) { $0 + $1.metrics.area }
    let least = trips.reduce(0) { $0 + $1.leastArea }
    return notes == 0 ? 1 : (area + notes) / (least + notes)
  }

  private static func percentile(_ share: Double, of sorted: [Double]) -> Double {
    guard !sorted.isEmpty else { return 0 }
    let position = share * Double(sorted.count - 1)
    let low = Int(position)
    let high = min(low + 1, sorted.count - 1)
    return sorted[low] + (sorted[high] - sorted[low]) * (position - Double(low))
  }
}
