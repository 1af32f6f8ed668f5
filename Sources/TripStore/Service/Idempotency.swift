internal import Clocks
package import FieldTrips
internal import Redis

/// What the store knows of a request with an idempotency key.
package enum IdempotencyClaim: Sendable, Equatable {
  /// Carry the request out for this trip, then ``TripStore/completeRequest(_:reply:)``. It is the
  /// proposed one; or, if an earlier attempt died on the way, that one's, so that what it did is
  /// found and not done twice.
  case proceed(trip: TripID, isRepeat: Bool)
  /// It was carried out; answer this again.
  case completed(trip: TripID, reply: [UInt8])
  /// Another request with the key is under way, at most this much longer.
  case inProgress(expiresIn: Duration)
  /// The key was used with another body.
  case differentBody
}

extension TripStore {
  /// Claims an idempotency key, or says what came of it before.
  ///
  /// - Parameters:
  ///   - key: a digest of the caller's identity, the route and the caller's key; letters and
  ///     digits.
  ///   - fingerprint: a digest of the body.
  ///   - trip: what the request would create: an ID made for this attempt, by which a call that is
  ///     made again, since its outcome is unknown, is told from another request.
  ///   - patience: after that much time without completion the one who claimed is taken for dead.
  package func claimRequest(
    _ key: String, fingerprint: String, trip: TripID, patience: Duration = .seconds(30)
  ) async throws(StoreError) -> IdempotencyClaim {
    let reply = try await call(
      RedisCommand(
        Self.claimRequestScript, keys: [Self.requestKey(key)],
        arguments: fingerprint, trip.utf8, patience.wholeNanoseconds / 1_000_000,
        Self.requestLifeMilliseconds))
    return try reading { () throws(RedisError) in
      let (code, rest) = try reply.codedAnswer()
      switch code {
      case 1: return .proceed(trip: try TripID.read(rest.value(0)), isRepeat: false)
      case 2: return .proceed(trip: try TripID.read(rest.value(0)), isRepeat: true)
      case 3:
        return .completed(
          trip: try TripID.read(rest.value(0)), reply: try rest.value(1).bytesValue())
      case 0: return .inProgress(expiresIn: .milliseconds(try rest.value(0).integerValue()))
      case -1: return .differentBody
      default: throw reply.unexpected("a claim")
      }
    }
  }

  /// Keeps the reply of a request, to be answered again for the rest of the key's day.
  package func completeRequest(_ key: String, reply: [UInt8]) async throws(StoreError) {
    _ = try await call(
      RedisCommand(Self.completeRequestScript, keys: [Self.requestKey(key)], arguments: reply))
  }

  /// Lets the next request with the key try at once, for the same trip: this one failed, and may
  /// have left something.
  package func abandonRequest(_ key: String) async throws(StoreError) {
    _ = try await call(
      RedisCommand(Self.abandonRequestScript, keys: [Self.requestKey(key)]))
  }

  private static func requestKey(_ key: String) -> String { "fc:idem:{\(key)}" }

  /// A day, as the API promises.
  private static let requestLifeMilliseconds = 86_400_000

  static let claimRequestScript = RedisScript(
    name: "claimRequest",
    source: #"""
      #!lua
      -- Claims an idempotency key.
      -- KEYS 1 the request
      -- ARGV 1 fingerprint of the body, 2 trip that it would create, 3 patience (ms),
      --      4 life of the key (ms)
      -- Answers {1, trip}: first, {2, trip}: the one before died, {3, trip, reply}: completed,
      --      {0, rest of patience (ms)}: under way, {-1} another body
      local time = redis.call('TIME')
      local now = time[1] * 1000 + math.floor(time[2] / 1000)
      local patience = string.format('%.0f', now + ARGV[3])
      local known = redis.call('HMGET', KEYS[1], 'print', 'trip', 'until', 'reply', 'by')
      if not known[1] then
        redis.call('HSET', KEYS[1], 'print', ARGV[1], 'trip', ARGV[2], 'until', patience,
          'by', ARGV[2])
        redis.call('PEXPIRE', KEYS[1], ARGV[4])
        return { 1, ARGV[2] }
      end
      if known[1] ~= ARGV[1] then return { -1 } end
      if known[4] then return { 3, known[2], known[4] } end
      -- Each attempt proposes a trip of its own, so the same proposal is the same attempt.
      if known[5] == ARGV[2] then return { known[2] == ARGV[2] and 1 or 2, known[2] } end
      local left = tonumber(known[3]) - now
      if left > 0 then return { 0, left } end
      redis.call('HSET', KEYS[1], 'until', patience, 'by', ARGV[2])
      return { 2, known[2] }
      """#,
    isSafeToRepeat: true)

  static let completeRequestScript = RedisScript(
    name: "completeRequest",
    source: #"""
      #!lua flags=allow-oom
      -- Keeps a request's reply, if its key still lives.
      -- KEYS 1 the request
      -- ARGV 1 reply
      if redis.call('EXISTS', KEYS[1]) == 0 then return 0 end
      redis.call('HSET', KEYS[1], 'reply', ARGV[1])
      return 1
      """#,
    isSafeToRepeat: true)

  static let abandonRequestScript = RedisScript(
    name: "abandonRequest",
    source: #"""
      #!lua flags=allow-oom
      -- Lets the next request with the key try at once.
      -- KEYS 1 the request
      if redis.call('EXISTS', KEYS[1]) == 0 then return 0 end
      redis.call('HSET', KEYS[1], 'until', 0)
      return 1
      """#,
    isSafeToRepeat: true)
}
