package import Clocks

/// Works out how stale the phones were: when each note was captured, and when a broadcast that
/// carries it was accepted.
///
/// Notes are known by their number, since a card counts them: a broadcast that shows 12 carries the
/// first twelve.
package struct StalenessLedger: Sendable {
  private var captured: [UnixTime] = []
  /// The broadcasts that showed more notes than any before them.
  private var shown: (any: [Showing], urgent: [Showing]) = ([], [])

  private struct Showing: Sendable {
    let at: UnixTime
    let notes: Int
  }

  package init() {}

  package var notesCaptured: Int { captured.count }
  package var notesShown: Int { shown.any.last?.notes ?? 0 }

  /// A note was captured: accepted by the service.
  package mutating func capture(at time: UnixTime) {
    captured.append(max(time, captured.last ?? time))
  }

  /// APNs accepted a broadcast that shows so many notes.
  package mutating func broadcast(at time: UnixTime, notes: Int, priority: Int) {
    if notes > (shown.any.last?.notes ?? 0) { shown.any.append(Showing(at: time, notes: notes)) }
    if priority == 10, notes > (shown.urgent.last?.notes ?? 0) {
      shown.urgent.append(Showing(at: time, notes: notes))
    }
  }

  /// Note-seconds that notes waited for their first broadcast of any priority, up to `end`.
  package func area(until end: UnixTime) -> Double { waits(shown.any, end).reduce(0, +) }

  /// The same for broadcasts of priority 10 alone, as policies are compared.
  package func urgentArea(until end: UnixTime) -> Double { waits(shown.urgent, end).reduce(0, +) }

  /// Notes that the phones were behind on average.
  package func meanStaleness(from start: UnixTime, until end: UnixTime) -> Double {
    let span = (end - start).inSeconds
    return span > 0 ? area(until: end) / span : 0
  }

  /// The longest that a note waited for a broadcast of priority 10, in seconds.
  package func longestWait(until end: UnixTime) -> Double { waits(shown.urgent, end).max() ?? 0 }

  private func waits(_ showings: [Showing], _ end: UnixTime) -> [Double] {
    var next = 0
    return captured.enumerated().map { index, time in
      while next < showings.count, showings[next].notes <= index { next += 1 }
      let seen = next < showings.count ? showings[next].at : end
      return max(0, (min(seen, end) - time).inSeconds)
    }
  }
}
