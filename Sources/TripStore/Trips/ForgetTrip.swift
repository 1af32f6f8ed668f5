package import FieldTrips
internal import Redis

package enum ForgetOutcome: Sendable, Equatable {
  /// Nothing of it is left, or there was nothing.
  case forgotten
  case notEnded
  case fenced(current: Epoch)
}

extension TripStore {
  /// Deletes all that the store holds of an ended trip.
  package func forget(
    _ trip: TripID, owner: Ownership
  ) async throws(StoreError) -> ForgetOutcome {
    let keys = keys(of: trip)
    var command = RedisCommand(
      Self.forgetScript,
      keys: [
        keys.epoch, keys.trips, keys.unpublished, keys.due, keys.trip(trip), keys.members(trip),
        keys.tokens(trip), keys.seen(trip), keys.timeline(trip),
      ],
      arguments: owner.epoch.number, trip.utf8)
    for kind in DueKind.allCases { command.append(DueItem.trip(kind, trip).text) }
    let reply = try await call(command)
    return try reading { () throws(RedisError) in
      let (code, rest) = try reply.codedAnswer()
      switch code {
      case 1: return .forgotten
      case 0: return .fenced(current: try Epoch.read(rest.value(0)))
      case -2: return .notEnded
      default: throw reply.unexpected("what became of a trip")
      }
    }
  }

  static let forgetScript = RedisScript(
    name: "forget",
    source: #"""
      #!lua flags=allow-oom
      -- Deletes a trip, if it has ended.
      -- KEYS 1 epoch, 2 trips, 3 unpublished, 4 due, 5 the trip's hash; then its other keys
      -- ARGV 1 epoch of the owner, 2 trip ID; then the due items that it may have
      -- Answers {1}, {0, epoch}: fenced, {-2}: it has not ended
      local epoch = redis.call('GET', KEYS[1]) or '0'
      if epoch ~= ARGV[1] then return { 0, tonumber(epoch) } end
      local life = redis.call('HGET', KEYS[5], 'life')
      if life and string.match(life, '^%a+') ~= 'ended' then return { -2 } end
      redis.call('ZREM', KEYS[2], ARGV[2])
      redis.call('SREM', KEYS[3], ARGV[2])
      for i = 3, #ARGV do redis.call('ZREM', KEYS[4], ARGV[i]) end
      for i = 5, #KEYS do redis.call('UNLINK', KEYS[i]) end
      return { 1 }
      """#,
    isSafeToRepeat: true)
}
