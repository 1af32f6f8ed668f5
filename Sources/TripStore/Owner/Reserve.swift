package import Clocks
package import FieldTrips
internal import Redis

/// What a broadcast is for.
package enum BroadcastPurpose: Hashable, Sendable {
  /// The newest content-state, also as a refresh: the trip must be live.
  case update
  /// The end event: the trip must be ending.
  case end
  /// The end event to a card whose token came when all others had it: the trip must have ended.
  case lateEnd

  fileprivate var phase: String {
    switch self {
    case .update: "live"
    case .end: "ending"
    case .lateEnd: "ended"
    }
  }
}

/// What a broadcast is to carry, read and reserved in one step.
package struct ReservedState: Sendable, Equatable {
  /// Whole seconds since 1970, greater than any that was reserved for the trip before. It may lead
  /// the clock, when the clock went back or several are reserved within a second.
  package let timestampSeconds: Int64
  package let revision: Revision
  /// JSON of the newest content-state, byte for byte.
  package var contentState: [UInt8]
  /// Has the channel, and the times that dates of the payload are made from.
  package let life: TripLife

  package init(
    timestampSeconds: Int64, revision: Revision, contentState: [UInt8], life: TripLife
  ) {
    self.timestampSeconds = timestampSeconds
    self.revision = revision
    self.contentState = contentState
    self.life = life
  }
}

package enum ReserveOutcome: Sendable, Equatable {
  case reserved(ReservedState)
  case fenced(current: Epoch)
  /// The trip's phase does not allow this: after the end was asked for nothing but the end, and
  /// after that nothing. Nothing was reserved.
  case wrongPhase(TripLife)
  case unknownTrip
}

extension TripStore {
  /// Reserves the next timestamp for a broadcast and reads the newest content-state to send.
  ///
  /// To be called before each request to APNs, retries included. A timestamp that was reserved and
  /// not used does no harm.
  ///
  /// - Parameters:
  ///   - timestampSeconds: the clock's; the reserved one is greater if this one was used already.
  ///   - anchor: the token bucket after this broadcast was paid; nil leaves it as it is.
  package func reserve(
    _ purpose: BroadcastPurpose, for trip: TripID, timestampSeconds: Int64, anchor: UnixTime?,
    owner: Ownership
  ) async throws(StoreError) -> ReserveOutcome {
    let keys = keys(owner.partition)
    let command = RedisCommand(
      Self.reserveScript, keys: [keys.epoch, keys.trip(trip)],
      arguments: owner.epoch.number, purpose.phase, timestampSeconds,
      anchor.map { String($0.nanoseconds) } ?? "")
    let reply = try await call(command)
    return try reading { () throws(RedisError) in try ReserveOutcome.read(reply) }
  }

  static let reserveScript = RedisScript(
    name: "reserve",
    source: #"""
      #!lua flags=allow-oom
      -- Reserves the next timestamp of a trip's channel, and reads what is to be sent.
      -- KEYS 1 epoch, 2 the trip's hash
      -- ARGV 1 epoch of the owner, 2 the phase in which this may be sent, 3 the clock's seconds,
      --      4 anchor of the token bucket (unix ns) or ''
      -- Answers {1, timestamp, revision, content-state, life}, {0, epoch}: fenced,
      --      {-1} no such trip, {-2, life}: another phase
      local epoch = redis.call('GET', KEYS[1]) or '0'
      if epoch ~= ARGV[1] then return { 0, tonumber(epoch) } end
      local trip = redis.call('HMGET', KEYS[2], 'life', 'ts', 'rev', 'state')
      local life = trip[1]
      if not life then return { -1 } end
      if string.match(life, '^%a+') ~= ARGV[2] then return { -2, life } end
      local timestamp = math.max(tonumber(ARGV[3]), tonumber(trip[2]) + 1)
      if ARGV[4] == '' then redis.call('HSET', KEYS[2], 'ts', timestamp)
      else redis.call('HSET', KEYS[2], 'ts', timestamp, 'anchor', ARGV[4]) end
      return { 1, timestamp, trip[3], trip[4], life }
      """#,
    isSafeToRepeat: true)
}

extension ReserveOutcome {
  fileprivate static func read(_ reply: RESPValue) throws(RedisError) -> ReserveOutcome {
    let (code, rest) = try reply.codedAnswer()
    switch code {
    case 1:
      let revision = try rest.value(1).integerValue()
      guard revision >= 0 else { throw reply.unexpected("a revision") }
      return .reserved(
        ReservedState(
          timestampSeconds: try rest.value(0).integerValue(), revision: Revision(revision),
          contentState: try rest.value(2).bytesValue(), life: try TripLife.read(rest.value(3))))
    case 0: return .fenced(current: try Epoch.read(rest.value(0)))
    case -1: return .unknownTrip
    case -2: return .wrongPhase(try TripLife.read(rest.value(0)))
    default: throw reply.unexpected("a reservation")
    }
  }
}
