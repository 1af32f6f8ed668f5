internal import Clocks

/// A token bucket kept as one date: when it would be full again. Eight bytes a bucket, so a phone
/// can afford one.
package struct TokenBucket: Sendable, Equatable {
  /// When the bucket is full; in the past when it is.
  private var fullAt: UnixTime

  package init() { fullAt = UnixTime(nanoseconds: .min / 2) }

  /// Takes a token if there is one.
  ///
  /// - Parameters:
  ///   - capacity: tokens of a full bucket, 1 or more.
  ///   - interval: the time in which one token comes back.
  mutating func take(
    _ now: UnixTime, capacity: Int, interval: Duration
  ) -> Bool {
    let debt = max(fullAt, now)
    let span = Duration.nanoseconds(interval.wholeNanoseconds * Int64(capacity))
    guard debt + interval <= now + span else { return false }
    fullAt = debt + interval
    return true
  }

  /// Whole tokens that could be taken now.
  func tokens(_ now: UnixTime, capacity: Int, interval: Duration) -> Int {
    guard fullAt > now else { return capacity }
    let missing = (fullAt - now).inSeconds / interval.inSeconds
    return max(0, Int(Double(capacity) - missing))
  }
}

/// How a bucket is filled. Units: whole tokens, and the time in which one of them comes back.
package struct BucketRate: Sendable, Equatable {
  package var capacity: Int
  package var interval: Duration

  package init(capacity: Int, interval: Duration) {
    self.capacity = capacity
    self.interval = interval
  }
}

extension TokenBucket {
  mutating func take(_ now: UnixTime, _ rate: BucketRate) -> Bool {
    take(now, capacity: rate.capacity, interval: rate.interval)
  }
}
