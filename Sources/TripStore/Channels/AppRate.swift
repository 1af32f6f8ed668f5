internal import Clocks
package import FieldTrips
internal import Redis

/// What an app's nodes get of its common request rate.
package struct RateGrant: Sendable, Equatable {
  /// Requests that may be made now; 0 up to what was asked for.
  package let granted: Int
  /// When the next one can be had; zero when all were granted.
  package let wait: Duration
}

extension TripStore {
  /// Takes requests out of the bucket that all nodes of an app share, as many as there are.
  ///
  /// Redis' clock fills the bucket. Ask for a few dozen at once, so that a request does not cost a
  /// round trip.
  ///
  /// - Parameters:
  ///   - wanted: 1 or more.
  ///   - ratePerSecond: more than 0.
  ///   - burst: requests that a full bucket holds; 1 or more.
  package func takeRequests(
    _ wanted: Int, of app: AppID, ratePerSecond: Double, burst: Int
  ) async throws(StoreError) -> RateGrant {
    precondition(wanted >= 1 && ratePerSecond > 0 && burst >= 1, "a rate is greater than 0")
    let interval = Int64((1_000_000 / ratePerSecond).rounded(.up))
    let reply = try await call(
      RedisCommand(
        Self.takeRequestsScript, keys: [AppKeys(app).rate],
        arguments: interval, burst, wanted))
    return try reading { () throws(RedisError) in
      let values = try reply.arrayValue()
      guard values.count == 2 else { throw reply.unexpected("a grant") }
      return RateGrant(
        granted: try values[0].intValue(), wait: .microseconds(try values[1].integerValue()))
    }
  }

  static let takeRequestsScript = RedisScript(
    name: "takeRequests",
    source: #"""
      #!lua flags=allow-oom
      -- Takes requests out of an app's bucket, which is kept as the time at which it was empty.
      -- KEYS 1 rate
      -- ARGV 1 microseconds in which one request comes back, 2 burst, 3 requests wanted
      -- Answers {granted, microseconds until the next one}
      local time = redis.call('TIME')
      local now = time[1] * 1000000 + time[2]
      local interval, burst, wanted = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
      local anchor = tonumber(redis.call('HGET', KEYS[1], 'anchor') or 0)
      -- A clock that went back must not close the bucket for longer than a burst lasts.
      anchor = math.min(math.max(anchor, now - burst * interval), now)
      local granted = math.min(wanted, math.floor((now - anchor) / interval))
      anchor = anchor + granted * interval
      if granted > 0 then
        redis.call('HSET', KEYS[1], 'anchor', string.format('%.0f', anchor))
        redis.call('PEXPIRE', KEYS[1], math.ceil(burst * interval / 1000) + 1000)
      end
      return { granted, granted < wanted and math.max(1, anchor + interval - now) or 0 }
      """#,
    isSafeToRepeat: false)
}
