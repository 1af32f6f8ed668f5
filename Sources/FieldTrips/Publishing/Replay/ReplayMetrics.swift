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
  /// How long each note waited to be shown, in seconds, the shortest first.
  package let waits: [Double]

  package var meanWait: Double { waits.isEmpty ? 0 : area / Double(waits.count) }
  package var p95Wait: Double { wait(at: 0.95) }
  package var maxWait: Double { waits.last ?? 0 }

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
    var index = 0
    let shown = changes.map { change in
      while index < broadcasts.count, broadcasts[index] < change { index += 1 }
      return index < broadcasts.count ? min(broadcasts[index], end) : end
    }
    self.init(changes: changes, shown: shown, broadcasts: broadcasts.count, end: end)
  }

  /// - Parameter shown: for each change, when APNs accepted the first priority-10 broadcast, or the
  ///   end, that carries it; not falling.
  package init(changes: [Double], shown: [Double], broadcasts: Int, end: Double) {
    precondition(changes.count == shown.count, "each change is shown at some time")
    var waits: [Double] = []
    waits.reserveCapacity(changes.count)
    var (wrong, wrongUntil) = (0.0, -Double.infinity)
    for (change, shown) in zip(changes, shown) {
      waits.append(max(0, shown - change))
      wrong += max(0, shown - max(change, wrongUntil))
      wrongUntil = max(wrongUntil, shown)
    }
    notes = changes.count
    tripSeconds = end
    self.broadcasts = broadcasts
    area = waits.reduce(0, +)
    wrongSeconds = wrong
    waits.sort()
    self.waits = waits
  }

  /// Several trips' together.
  package init(pooling trips: [ReplayMetrics]) {
    func sum(_ part: (ReplayMetrics) -> Double) -> Double { trips.reduce(0) { $0 + part($1) } }
    notes = trips.reduce(0) { $0 + $1.notes }
    tripSeconds = sum(\.tripSeconds)
    broadcasts = trips.reduce(0) { $0 + $1.broadcasts }
    area = sum(\.area)
    wrongSeconds = sum(\.wrongSeconds)
    waits = trips.flatMap(\.waits).sorted()
  }

  /// - Parameter share: of the notes, 0...1, that waited no longer than what is returned;
  ///   linearly interpolated.
  package func wait(at share: Double) -> Double { Percentile.of(waits, at: share) }

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
}

enum Percentile {
  /// - Parameter sorted: in rising order; of none, the answer is 0.
  static func of(_ sorted: [Double], at share: Double) -> Double {
    guard !sorted.isEmpty else { return 0 }
    let position = share * Double(sorted.count - 1)
    let low = Int(position)
    let high = min(low + 1, sorted.count - 1)
    return sorted[low] + (sorted[high] - sorted[low]) * (position - Double(low))
  }
}
