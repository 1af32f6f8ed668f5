package import Clocks

/// When a waiting change is worth a token.
///
/// Waiting on costs note-seconds: the `n` notes that wait would wait for about another gap, and
/// `quiet`, the time since the newest, says that the burst is over. A token costs its refill
/// interval τ, the less the fuller the bucket:
///
///     n × (gapFactor × gap + quiet)  ≥  price × τ × (1 − fill)
///
/// Both sides are linear in time, so the moment at which they meet has a closed form: a weighted
/// mean of "when the bucket is full" and "the newest note, less two gaps".
package struct DueRule: Sendable, Equatable {
  /// Gaps that the notes will probably wait on, 0...20. Plateau from 1 to 3.
  package var gapFactor = 2.0
  /// Note-seconds, in refill intervals, that a token of an empty bucket is worth, 0.1...50.
  /// Plateau from 2 to 6.
  package var price = 3.0

  package static let standard = DueRule.weightedMean
  package static let weightedMean = DueRule()

  package init() {}

  func validate() throws(PolicyError) {
    try PolicyError.check("gapFactor", gapFactor, 0...20, "gaps")
    try PolicyError.check("price", price, 0.1...50, "refill intervals")
  }

  /// What the rule looks at.
  package struct Situation: Sendable {
    /// Not empty.
    package var backlog: Backlog
    package var gapSeconds: Double
    package var bucket: TokenBucket

    package init(backlog: Backlog, gapSeconds: Double, bucket: TokenBucket) {
      self.backlog = backlog
      self.gapSeconds = gapSeconds
      self.bucket = bucket
    }
  }

  /// The first moment at which the inequality holds, which may be past. Looks neither at the
  /// longest wait nor at whether a token is there.
  package func due(_ situation: Situation) -> Moment {
    let (backlog, bucket) = (situation.backlog, situation.bucket)
    let weight = price / Double(bucket.capacity)
    let notes = Double(backlog.count)
    // Counted from the newest note, so that the doubles stay small and exact to a nanosecond.
    let full = (bucket.full - backlog.newest).inSeconds
    let seconds = (weight * full - notes * gapFactor * situation.gapSeconds) / (weight + notes)
    return backlog.newest + .nanoseconds(Int64((seconds * 1e9).rounded(.up)))
  }
}
