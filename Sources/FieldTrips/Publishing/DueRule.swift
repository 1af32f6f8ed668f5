package import Clocks

/// When a waiting change is worth a token.
///
/// Waiting on costs note-seconds: the `n` notes that wait will wait for about another gap, or for
/// longer, should the quiet since the newest one mean that the burst is over. A token costs its
/// refill interval τ, the less the fuller the bucket:
///
///     n × (gapFactor × gap + quietFactor × quiet)  ≥  price × τ × (1 − fill)
///
/// Both sides are linear in time, so the moment at which they meet has a closed form.
package struct DueRule: Sendable, Equatable {
  /// Gaps that the notes will probably wait on, 0.1...20.
  package var gapFactor: Double
  /// How much the quiet adds to that, 0...10.
  package var quietFactor: Double
  /// What a token of an empty bucket is worth, in refill intervals, 0.1...50.
  package var price: Double

  /// `n × gap ≥ 1.25 × τ × (1 − fill)`: broadcast when the notes that wait make up as much of the
  /// trip as the tokens that are gone.
  ///
  /// That the quiet plays no part is a finding, not an omission. On seven traces of field events,
  /// and on eight variations of each, every search for better factors took it out, while a better
  /// gap estimate paid: what tells the next gap is the rate of the last minutes, not of the last
  /// seconds. The loss is flat around these factors (within 2 % for a price from 1 to 1.5).
  package static let standard = DueRule(gapFactor: 1, quietFactor: 0, price: 1.25)

  /// `n × (2 gap + quiet) ≥ 3 τ (1 − fill)`: the rule by which others are judged. Needs no more
  /// than a fast geometric mean of the gaps.
  package static let reference = DueRule(gapFactor: 2, quietFactor: 1, price: 3)

  package init(gapFactor: Double, quietFactor: Double, price: Double) {
    self.gapFactor = gapFactor
    self.quietFactor = quietFactor
    self.price = price
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
    // The price falls by this much each second, since 1 − fill = (full − t) / (capacity × τ).
    let fall = price / Double(bucket.capacity)
    let notes = Double(backlog.count)
    // Counted from the newest note, so that the doubles stay small and exact to a nanosecond.
    let full = (bucket.full - backlog.newest).inSeconds
    let gain = notes * gapFactor * situation.gapSeconds
    let seconds = (fall * full - gain) / (fall + notes * quietFactor)
    // Thirty years either way are as good as any time, and no overflow.
    let bounded = min(max(seconds, -1e9), 1e9)
    return backlog.newest + .nanoseconds(Int64((bounded * 1e9).rounded(.up)))
  }
}
