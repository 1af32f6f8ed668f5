package import Clocks
package import FieldTrips
internal import Redis

/// What became of a step in a trip's life.
package enum LifeOutcome: Sendable, Equatable {
  case changed
  /// The store has another life than the step started from: take the step again from this one.
  case conflict(current: TripLife)
  case unknownTrip
}

extension TripStore {
  /// Takes a step in a trip's life from any node, such as by a channel that was opened for it.
  ///
  /// The partition's owner hears of it by the log. The owner itself takes its steps together with
  /// what they go with: ``commit(_:owner:)`` and ``record(_:owner:)``.
  package func changeLife(
    of trip: TripID, _ change: LifeChange, at now: UnixTime
  ) async throws(StoreError) -> LifeOutcome {
    let keys = keys(of: trip)
    var command = RedisCommand(
      Self.changeLifeScript, keys: [keys.trip(trip), keys.unpublished, keys.due, keys.log],
      arguments: trip.utf8, change.from.text, change.to.text, now.milliseconds)
    command.append(due: change.due)
    let reply = try await call(command)
    return try reading { () throws(RedisError) in
      let (code, rest) = try reply.codedAnswer()
      switch code {
      case 1: return .changed
      case -1: return .unknownTrip
      case -2: return .conflict(current: try TripLife.read(rest.value(0)))
      default: throw reply.unexpected("what became of a trip's life")
      }
    }
  }

  static let changeLifeScript = RedisScript(
    name: "changeLife",
    source: #"""
      #!lua flags=allow-oom
      -- Replaces a trip's life, if it is the one that the writer read.
      -- KEYS 1 the trip's hash, 2 unpublished, 3 due, 4 log
      -- ARGV 1 trip ID, 2 life as it was read, 3 new life, 4 time (ms); then pairs of time (ms) or
      --      '' and due item
      -- Answers {1}, {-1} no such trip, {-2, life}: it is another one

      """# + LuaParts.changeDue + LuaParts.mark + #"""
        local life = redis.call('HGET', KEYS[1], 'life')
        if not life then return { -1 } end
        if life == ARGV[3] then return { 1 } end
        if life ~= ARGV[2] then return { -2, life } end
        redis.call('HSET', KEYS[1], 'life', ARGV[3])
        mark(KEYS[2], KEYS[1], ARGV[1], ARGV[3])
        change_due(KEYS[3], 5)
        redis.call('XADD', KEYS[4], '*', 't', ARGV[1], 'k', 'life', 'a', ARGV[4])
        return { 1 }
        """#,
    isSafeToRepeat: true)
}

extension TripLife {
  static func read(_ value: RESPValue) throws(RedisError) -> TripLife {
    guard let life = TripLife(text: try value.stringValue()) else {
      throw value.unexpected("a trip's life")
    }
    return life
  }
}
