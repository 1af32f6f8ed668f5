package import Clocks

/// The remote starts of one device during the last day; stored with the device.
package struct StartBudget: Hashable, Sendable {
  /// When starts were sent, the oldest first.
  package private(set) var starts: [UnixTime]

  package init(starts: [UnixTime] = []) { self.starts = starts.sorted() }

  /// When the device may be sent the next start; now or earlier if at once.
  package func nextStart(at now: UnixTime, rules: StartRules) -> UnixTime {
    max(
      next(rules.perHour, in: .seconds(3_600), at: now),
      next(rules.perDay, in: .seconds(86_400), at: now))
  }

  /// Counts a start that is about to be sent. One of unknown outcome counts too.
  package mutating func count(at now: UnixTime) {
    starts.append(now)
    starts.sort()
    starts.removeAll { $0 <= now - .seconds(86_400) }
  }

  /// Takes back a start that certainly came to nothing.
  package mutating func refund(_ time: UnixTime) {
    if let index = starts.lastIndex(of: time) { starts.remove(at: index) }
  }

  private func next(_ limit: Int, in span: Duration, at now: UnixTime) -> UnixTime {
    let recent = starts.filter { $0 > now - span }
    guard recent.count >= limit else { return now }
    return recent[recent.count - limit] + span
  }
}
