package import Clocks

/// A token bucket as one number: the moment at which it was, or would have been, empty.
///
/// The level at t is `min(capacity, (t − anchor) / refillInterval)` tokens, so refilling needs no
/// timer and no arithmetic. A level may be negative: that is debt. Spending a token moves the
/// anchor one refill interval later. (The form is known as GCRA, the generic cell rate algorithm.)
package struct TokenBucket: Sendable, Equatable {
  /// The time in which one token comes back; above zero.
  package private(set) var refillInterval: Duration
  /// Tokens in a full bucket; at least 1.
  package private(set) var capacity: Int
  package private(set) var anchor: Moment

  /// - Parameter level: tokens at `now`; more than `capacity` counts as full.
  package init(refillInterval: Duration, capacity: Int, level: Double, at now: Moment) {
    precondition(refillInterval > .zero, "a token takes time to refill, not \(refillInterval)")
    precondition(capacity >= 1, "a bucket holds a token or more, not \(capacity)")
    self.refillInterval = refillInterval
    self.capacity = capacity
    anchor = now
    setLevel(level, at: now)
  }

  /// Tokens at `now`, at most `capacity`; negative in debt.
  package func level(at now: Moment) -> Double {
    min(Double(capacity), (now - anchor) / refillInterval)
  }

  /// When the bucket is, or became, full.
  package var full: Moment { anchor + refillInterval * capacity }

  /// When a token is there to spend, or with `overdraft`, may be borrowed.
  package func ready(overdraft: Int = 0) -> Moment { anchor + refillInterval * (1 - overdraft) }

  /// Takes one token, borrowing it if none is there: whether that is allowed is the caller's rule.
  package mutating func spend(at now: Moment) {
    anchor = max(anchor, now - refillInterval * capacity) + refillInterval
  }

  /// Gives back a token that was spent on something that certainly did not happen.
  package mutating func refund() { anchor = anchor - refillInterval }

  /// Takes all tokens; debt stays.
  package mutating func empty(at now: Moment) { anchor = max(anchor, now) }

  /// Changes the rate and keeps the number of tokens, as far as they fit.
  package mutating func retune(refillInterval: Duration, capacity: Int, at now: Moment) {
    let level = level(at: now)
    self = TokenBucket(
      refillInterval: refillInterval, capacity: capacity, level: level, at: now)
  }

  private mutating func setLevel(_ level: Double, at now: Moment) {
    let age = (refillInterval.inSeconds * min(level, Double(capacity)) * 1e9).rounded(.down)
    anchor = now - .nanoseconds(Int64(age))
  }
}
