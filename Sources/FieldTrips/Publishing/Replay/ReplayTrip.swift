/// A trip on a virtual clock of whole seconds: when its content-state changed, and when it ended.
package struct ReplayTrip: Sendable, Equatable {
  package let name: String
  /// The second of each change, in order, from 0 up; equal ones are changes in one second.
  package let changes: [Int]
  /// The trip's length in seconds; later than every change. Its end shows whatever is still
  /// waiting.
  package let end: Int

  package init(name: String, changes: [Int], end: Int) {
    precondition(changes == changes.sorted(), "the changes of a trip are in order")
    precondition((changes.first ?? 0) >= 0, "a trip begins at second 0")
    precondition((changes.last ?? -1) < end, "a trip ends after its last change")
    self.name = name
    self.changes = changes
    self.end = end
  }

  /// Its first seconds; the whole trip, if it is no longer.
  package func prefix(seconds: Int) -> ReplayTrip {
    guard seconds < end else { return self }
    return ReplayTrip(name: name, changes: changes.filter { $0 < seconds }, end: seconds)
  }
}

extension ReplayTrip {
  /// A trace's captures, spread as they must be before policies are judged by it.
  ///
  /// Many sources note whole minutes only, and such captures would resonate with one broadcast a
  /// minute. So the most frequent second of the minute is taken for rounding, and its rows are
  /// moved by `37 × row mod 60` seconds, always the same way. Four or more rows of one observer at
  /// one offset are one walk typed in at once: they stay together. The trip ends 300 s after its
  /// last capture.
  package init(spreading trace: CaptureTrace) {
    let offsets = trace.captures.map { Int($0.offsetSeconds.rounded(.down)) }
    let rounded = ReplayTrip.mostFrequentSecond(offsets)
    var stacks: [Stack: (first: Int, rows: Int)] = [:]
    for (row, capture) in trace.captures.enumerated() where offsets[row] % 60 == rounded {
      let stack = Stack(offset: offsets[row], observer: capture.observer)
      stacks[stack, default: (row, 0)].rows += 1
    }
    let spread = trace.captures.enumerated().map { row, capture in
      guard offsets[row] % 60 == rounded else { return offsets[row] }
      let stack = stacks[Stack(offset: offsets[row], observer: capture.observer)]
      let source = stack.map { $0.rows >= 4 ? $0.first : row } ?? row
      return offsets[row] + 37 * source % 60
    }
    let first = spread.min() ?? 0
    let changes = spread.map { $0 - first }.sorted()
    self.init(name: trace.name, changes: changes, end: (changes.last ?? 0) + 300)
  }

  private struct Stack: Hashable {
    let offset: Int
    let observer: String
  }

  /// Of equally frequent ones the smallest.
  private static func mostFrequentSecond(_ offsets: [Int]) -> Int {
    var counts = [Int](repeating: 0, count: 60)
    for offset in offsets { counts[offset % 60] += 1 }
    return counts.indices.max { counts[$0] < counts[$1] || (counts[$0] == counts[$1] && $0 > $1) }
      ?? 0
  }
}
