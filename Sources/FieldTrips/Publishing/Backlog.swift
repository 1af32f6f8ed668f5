package import Clocks

/// The changes that no priority-10 broadcast carries yet, as a few sums.
package struct Backlog: Sendable, Equatable {
  package private(set) var count = 0
  /// The time of the first of them. Means nothing while `count` is 0.
  package private(set) var oldest = Moment.origin
  package private(set) var newest = Moment.origin
  /// Sum of (time of change − `oldest`) in seconds.
  private var delaySeconds = 0.0
  /// Whether one of them is significant.
  package private(set) var isUrgent = false

  package init() {}

  package var isEmpty: Bool { count == 0 }

  package mutating func add(_ changes: Int, at now: Moment, isSignificant: Bool) {
    merge(Backlog(changes, oldest: now, newest: now, isUrgent: isSignificant))
  }

  package init(_ count: Int, oldest: Moment, newest: Moment, isUrgent: Bool) {
    self.count = count
    self.oldest = oldest
    self.newest = newest
    self.isUrgent = isUrgent
    delaySeconds = 0
  }

  /// Adds the changes of another backlog; either may be the older one.
  package mutating func merge(_ other: Backlog) {
    guard !other.isEmpty else { return }
    guard !isEmpty else {
      self = other
      return
    }
    let first = min(oldest, other.oldest)
    delaySeconds = delaySeconds(since: first) + other.delaySeconds(since: first)
    oldest = first
    newest = max(newest, other.newest)
    count += other.count
    isUrgent = isUrgent || other.isUrgent
  }

  /// Sets how many changes wait, when that is known better: the revisions tell. The times stay.
  package mutating func recount(_ changes: Int) {
    guard changes != count else { return }
    guard changes > 0 else {
      self = Backlog()
      return
    }
    delaySeconds *= Double(changes) / Double(max(count, 1))
    count = changes
  }

  package mutating func markUrgent() { isUrgent = isUrgent || !isEmpty }

  /// Note-seconds that these changes have waited until `now`.
  package func noteSeconds(at now: Moment) -> Double {
    Double(count) * (now - oldest).inSeconds - delaySeconds
  }

  private func delaySeconds(since first: Moment) -> Double {
    delaySeconds + Double(count) * (oldest - first).inSeconds
  }
}
