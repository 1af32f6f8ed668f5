internal import Transport

/// The pauses between attempts at something that must succeed in the end: 20 ms, and twice as long
/// each time up to the longest.
///
/// ```swift
/// var retry = Retry()
/// while stillWanted {
///   do { return try await attempt() } catch {
///     if retry.isFirst { log.warning("…; trying again", ["reason": "\(error)"]) }
///     try await retry.pause(on: loop)
///   }
/// }
/// ```
struct Retry: Sendable {
  private let longest: Duration
  private var failures = 0

  /// - Parameter longest: real time.
  init(longest: Duration = .seconds(1)) { self.longest = longest }

  /// Whether there was no pause yet, so that a log names a failure once and not each attempt.
  var isFirst: Bool { failures == 0 }

  /// Waits until the next attempt is due.
  ///
  /// - Throws: `CancellationError` as soon as the task is cancelled.
  nonisolated(nonsending) mutating func pause(
    on loop: EventLoop
  ) async throws(CancellationError) {
    // Twelve doublings of 20 ms are a minute: beyond any longest pause that makes sense.
    let span = min(longest, .milliseconds(20 << min(failures, 12)))
    failures += 1
    try await loop.sleep(for: span)
  }
}
