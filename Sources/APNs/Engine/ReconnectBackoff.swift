package import Clocks

/// How long to wait before the next connection.
///
/// Apple treats quick opening and closing as an attack. So a connection counts as good only when
/// something was accepted on it; after one that was not, waits double from 100 ms to 4 s, which
/// is also how late a recovery is noticed at worst. A quarter is added at random at most, so that
/// nodes that lost APNs together do not come back together.
package struct ReconnectBackoff: Sendable {
  package static let shortest = Duration.milliseconds(100)
  package static let longest = Duration.seconds(4)

  private var failures = 0
  private var notBefore = Moment.distantPast

  package init() {}

  /// When the next attempt may begin; in the past if at once.
  package var nextAttempt: Moment { notBefore }

  /// Something was accepted: the next loss is an ordinary one.
  package mutating func succeeded() {
    failures = 0
    notBefore = .distantPast
  }

  /// An attempt failed, or a connection ended before anything was accepted on it.
  package mutating func failed(at now: Moment, using random: inout some RandomNumberGenerator) {
    failures = min(failures + 1, 16)
    var wait = Self.shortest
    for _ in 1..<failures where wait < Self.longest { wait *= 2 }
    wait = min(wait, Self.longest)
    let spread = Double.random(in: 0..<0.25, using: &random)
    notBefore = now + wait + .nanoseconds(Int64(Double(wait.wholeNanoseconds) * spread))
  }
}

/// The system's random numbers, from a value with storage.
///
/// The standard library's own generator is empty, so a property of its type has no address; the
/// thread sanitizer takes one of whatever is passed `inout`, and dies.
struct SystemRandom: RandomNumberGenerator {
  private var drawn: UInt8 = 0

  mutating func next() -> UInt64 {
    drawn &+= 1
    return .random(in: .min ... .max)
  }
}
