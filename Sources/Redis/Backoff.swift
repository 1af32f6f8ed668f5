/// The pauses between attempts to connect: longer after each failure, and never alike on two nodes.
struct Backoff: Sendable {
  private let first: Duration
  private let longest: Duration
  /// Failures in a row.
  private(set) var failures = 0

  init(first: Duration, longest: Duration) {
    self.first = first
    self.longest = longest
  }

  /// The pause after one more failure: doubled each time up to the longest, shortened by chance by
  /// up to a half.
  mutating func pause(using generator: inout some RandomNumberGenerator) -> Duration {
    // Sixteen doublings of a millisecond are a minute: beyond any longest pause that makes sense.
    let doubled = first * (1 << min(failures, 16))
    failures += 1
    return min(doubled, longest) * Double.random(in: 0.5...1, using: &generator)
  }

  /// A connection ended that had lasted for `span`. One that ended at once proves nothing: the
  /// next pause then goes on growing.
  mutating func lasted(_ span: Duration) {
    if span > longest { failures = 0 }
  }
}
