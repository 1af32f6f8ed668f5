/// A date: nanoseconds since 1970-01-01T00:00:00Z, without leap seconds.
///
/// A wall clock may be stepped, so never measure a wait with it: that is what ``Moment`` is for.
public struct UnixTime: Hashable, Comparable, Sendable {
  /// Since 1970; until the year 2262.
  public var nanoseconds: Int64

  /// Nanoseconds since 1970.
  public init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }
  /// Milliseconds since 1970.
  public init(milliseconds: Int64) { nanoseconds = milliseconds * 1_000_000 }
  /// Seconds since 1970.
  public init(wholeSeconds: Int64) { nanoseconds = wholeSeconds * 1_000_000_000 }
  /// Seconds since 1970, with a fraction.
  public init(seconds: Double) { nanoseconds = Int64((seconds * 1e9).rounded()) }

  /// Whole seconds since 1970, rounded down: the unit of every date in an APNs payload.
  public var wholeSeconds: Int64 {
    let (quotient, remainder) = nanoseconds.quotientAndRemainder(dividingBy: 1_000_000_000)
    return remainder < 0 ? quotient - 1 : quotient
  }

  /// Milliseconds since 1970, rounded down.
  public var milliseconds: Int64 {
    let (quotient, remainder) = nanoseconds.quotientAndRemainder(dividingBy: 1_000_000)
    return remainder < 0 ? quotient - 1 : quotient
  }

  /// The same in whole milliseconds, rounded down: what a store keeps of it, so that what was written
  /// and read again is equal.
  package var inMilliseconds: UnixTime { UnixTime(milliseconds: milliseconds) }

  /// Seconds since 1970, with a fraction.
  public var seconds: Double { Double(nanoseconds) / 1e9 }

  public static func < (left: UnixTime, right: UnixTime) -> Bool {
    left.nanoseconds < right.nanoseconds
  }

  /// So much later.
  public static func + (time: UnixTime, span: Duration) -> UnixTime {
    UnixTime(nanoseconds: time.nanoseconds &+ span.wholeNanoseconds)
  }

  /// So much earlier.
  public static func - (time: UnixTime, span: Duration) -> UnixTime {
    UnixTime(nanoseconds: time.nanoseconds &- span.wholeNanoseconds)
  }

  /// How long the one is after the other.
  public static func - (later: UnixTime, earlier: UnixTime) -> Duration {
    .nanoseconds(later.nanoseconds - earlier.nanoseconds)
  }
}
