/// How often a call is tried, and how long it waits in between.
///
/// All calls of ``FieldcastClient`` may be repeated: what creates something carries an
/// `Idempotency-Key`, and the rest has the same effect twice as once.
public struct RetryPolicy: Hashable, Sendable {
  /// The first one included; at least 1.
  public var attempts: Int
  /// Before the second attempt; it doubles from one to the next.
  public var firstPause: Duration
  public var longestPause: Duration
  /// A service that asks to wait longer than this is not waited for: the caller gets the error, with
  /// the time.
  public var longestRetryAfter: Duration

  public init(
    attempts: Int = 4, firstPause: Duration = .milliseconds(500),
    longestPause: Duration = .seconds(20), longestRetryAfter: Duration = .seconds(60)
  ) {
    self.attempts = max(1, attempts)
    self.firstPause = firstPause
    self.longestPause = longestPause
    self.longestRetryAfter = longestRetryAfter
  }

  /// Tries once.
  public static let never = RetryPolicy(attempts: 1)

  /// How long to wait after a failed attempt; nil gives up.
  ///
  /// - Parameters:
  ///   - attempt: the one that failed, counted from 1.
  ///   - random: 0 to 1. Clients that failed together come back apart, and none before the service
  ///     wants it to.
  func pause(after error: FieldcastError, attempt: Int, random: Double) -> Duration? {
    guard attempt < attempts, error.isPassing, error != .cancelled else { return nil }
    let doubled = firstPause * Double(1 << min(attempt - 1, 16))
    let pause = min(doubled, longestPause)
    guard let retryAfter = error.retryAfter else { return pause * (0.5 + random / 2) }
    return retryAfter > longestRetryAfter ? nil : retryAfter + pause * random
  }

  /// Whether an answer of this status may be another the next time.
  static func isPassing(status: Int) -> Bool {
    status == 408 || status == 425 || status == 429 || (status >= 500 && status != 501)
  }
}
