/// A point on a monotonic clock: nanoseconds since an origin that only its clock knows.
///
/// Compare and subtract moments of one clock only. It never goes back, and says nothing about the
/// date: that is ``UnixTime``.
package struct Moment: Hashable, Comparable, Sendable {
  package var nanoseconds: Int64

  package init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }

  /// - Parameter seconds: since the clock's origin; at most about 292 years either way.
  package init(seconds: Double) { nanoseconds = Int64((seconds * 1e9).rounded()) }

  /// Seconds since the clock's origin.
  package var seconds: Double { Double(nanoseconds) / 1e9 }

  package static let origin = Moment(nanoseconds: 0)
  package static let distantFuture = Moment(nanoseconds: .max)
  package static let distantPast = Moment(nanoseconds: .min)

  package static func < (left: Moment, right: Moment) -> Bool {
    left.nanoseconds < right.nanoseconds
  }

  /// The moment so much later; ``distantFuture`` or ``distantPast`` where it lies beyond them.
  package static func + (moment: Moment, span: Duration) -> Moment {
    let (sum, isBeyond) = moment.nanoseconds.addingReportingOverflow(span.wholeNanoseconds)
    if isBeyond { return span < .zero ? .distantPast : .distantFuture }
    return Moment(nanoseconds: sum)
  }

  /// The moment so much earlier; ``distantPast`` or ``distantFuture`` where it lies beyond them.
  package static func - (moment: Moment, span: Duration) -> Moment {
    let (rest, isBeyond) = moment.nanoseconds.subtractingReportingOverflow(span.wholeNanoseconds)
    if isBeyond { return span < .zero ? .distantFuture : .distantPast }
    return Moment(nanoseconds: rest)
  }

  package static func - (later: Moment, earlier: Moment) -> Duration {
    .nanoseconds(later.nanoseconds - earlier.nanoseconds)
  }

  package static func += (moment: inout Moment, span: Duration) { moment = moment + span }
}

extension Duration {
  /// Whole nanoseconds, rounded towards zero; the most or the least of its type where there are
  /// more, at about 292 years.
  package var wholeNanoseconds: Int64 {
    let (seconds, attoseconds) = components
    let (whole, isTooLong) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
    let (sum, isBeyond) = whole.addingReportingOverflow(attoseconds / 1_000_000_000)
    if isTooLong || isBeyond { return seconds < 0 ? .min : .max }
    return sum
  }

  /// This duration as a number of seconds.
  package var inSeconds: Double { Double(wholeNanoseconds) / 1e9 }
}
