/// A date: nanoseconds since 1970-01-01T00:00:00Z, without leap seconds.
///
/// A wall clock may be stepped, so never measure a wait with it: that is what ``Moment`` is for.
package struct UnixTime: Hashable, Comparable, Sendable {
  package var nanoseconds: Int64

  package init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }
  package init(milliseconds: Int64) { nanoseconds = milliseconds * 1_000_000 }
  package init(wholeSeconds: Int64) { nanoseconds = wholeSeconds * 1_000_000_000 }
  package init(seconds: Double) { nanoseconds = Int64((seconds * 1e9).rounded()) }

  /// Whole seconds since 1970, rounded down: the unit of every date in an APNs payload.
  package var wholeSeconds: Int64 {
    let (quotient, remainder) = nanoseconds.quotientAndRemainder(dividingBy: 1_000_000_000)
    return remainder < 0 ? quotient - 1 : quotient
  }

  /// Milliseconds since 1970, rounded down.
  package var milliseconds: Int64 {
    let (quotient, remainder) = nanoseconds.quotientAndRemainder(dividingBy: 1_000_000)
    return remainder < 0 ? quotient - 1 : quotient
  }

  package var seconds: Double { Double(nanoseconds) / 1e9 }

  package static func < (left: UnixTime, right: UnixTime) -> Bool {
    left.nanoseconds < right.nanoseconds
  }

  package static func + (time: UnixTime, span: Duration) -> UnixTime {
    UnixTime(nanoseconds: time.nanoseconds &+ span.wholeNanoseconds)
  }

  package static func - (time: UnixTime, span: Duration) -> UnixTime {
    UnixTime(nanoseconds: time.nanoseconds &- span.wholeNanoseconds)
  }

  package static func - (later: UnixTime, earlier: UnixTime) -> Duration {
    .nanoseconds(later.nanoseconds - earlier.nanoseconds)
  }
}
