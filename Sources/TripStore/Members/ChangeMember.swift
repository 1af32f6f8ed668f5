package import Clocks
package import FieldTrips
internal import Redis

/// What became of a change of a member.
package enum MemberOutcome: Sendable, Equatable {
  /// - Parameter record: the member as it is now; nil when it left.
  case stored(MemberRecord?)
  /// There was nothing to change.
  case unchanged
  case unknownTrip
  /// The trip takes no new members any more. Present ones can still be changed and leave.
  case ended
  /// The trip has as many members as it may.
  case full(count: Int)
}

/// What changing a member comes to when it is put into the store.
enum MemberPut: Equatable {
  case stored, unknownTrip, ended
  case full(count: Int)
  case conflict(MemberRecord?)
}

extension TripStore {
  /// Changes a member, or lets it join or leave, by what is in the store at that moment.
  ///
  /// Two devices of one person may register at once, so a member is merged and never replaced:
  /// `change` gets the present record and answers the one to store. When another change comes in
  /// between, it is asked again with that one's result.
  ///
  /// - Parameters:
  ///   - announce: whether the owner is to hear of it by the log, since there may be something to
  ///     send; asked after `change`.
  ///   - limit: members that the trip may have.
  ///   - change: gets nil for who is not a member; answers nil for who is not to be one.
  package func changeMember(
    _ member: MemberID, of trip: TripID, at now: UnixTime,
    announce: @autoclosure () -> Bool, limit: Int = 1_000_000,
    _ change: (MemberRecord?) -> MemberRecord?
  ) async throws(StoreError) -> MemberOutcome {
    let turn = trip.text + " " + member.text
    await turns.take(turn)
    defer { turns.give(turn) }
    var present = try await self.member(member, of: trip)
    for _ in 0..<Self.mostTries {
      let record = change(present)
      guard record != present else { return .unchanged }
      let put = try await putMember(
        member, of: trip, from: present, to: record, at: now, announce: announce(), limit: limit)
      switch put {
      case .stored: return .stored(record)
      case .unknownTrip: return .unknownTrip
      case .ended: return .ended
      case .full(let count): return .full(count: count)
      case .conflict(let current): present = current
      }
    }
    throw .unreachable(
      "The member \(member) of the trip \(trip) was changed by other nodes "
        + "\(Self.mostTries) times while it was to be changed here.")
  }

  /// - Returns: nil for who is not a member.
  package func member(
    _ member: MemberID, of trip: TripID
  ) async throws(StoreError) -> MemberRecord? {
    let reply = try await call(RedisCommand("HGET", keys(of: trip).members(trip), member.text))
    return try reading { () throws(RedisError) in
      reply.isNull ? nil : try MemberRecord.read(reply)
    }
  }

  /// A node has one change of a record under way, and each that fails does so since another node's
  /// succeeded: with ten nodes that all change it without a pause, one in 10^11 fails so often.
  static let mostTries = 256

  func putMember(
    _ member: MemberID, of trip: TripID, from: MemberRecord?, to: MemberRecord?,
    at now: UnixTime, announce: Bool, limit: Int
  ) async throws(StoreError) -> MemberPut {
    let keys = keys(of: trip)
    let command = RedisCommand(
      Self.putMemberScript,
      keys: [keys.trip(trip), keys.members(trip), keys.tokens(trip), keys.log],
      arguments: member.text, from?.bytes ?? [], to?.bytes ?? [], limit, announce ? 1 : 0,
      trip.utf8, now.milliseconds)
    let reply = try await call(command)
    return try reading { () throws(RedisError) in
      let (code, rest) = try reply.codedAnswer()
      switch code {
      case 1: return .stored
      case 0:
        let current = rest.value(0)
        return .conflict(current.isNull ? nil : try MemberRecord.read(current))
      case -1: return .unknownTrip
      case -2: return .ended
      case -3: return .full(count: try rest.value(0).intValue())
      default: throw reply.unexpected("what became of a member")
      }
    }
  }

  static let putMemberScript = RedisScript(
    name: "putMember",
    source: #"""
      #!lua
      -- Stores a member's record, if the one in the store is the one that the writer read.
      -- KEYS 1 the trip's hash, 2 its members, 3 its members who are reached one by one, 4 log
      -- ARGV 1 member, 2 record as it was read or '', 3 new record or '' to remove it, 4 members
      --      that the trip may have, 5 1 to tell the owner, 6 trip ID, 7 time (ms)
      -- Answers {1}, {0, record}: it is another one, {-1} no such trip, {-2} ended,
      --      {-3, members}: full
      local function is_single(record)
        local reach = string.sub(record, 1, 1)
        return reach == 'u' or reach == 's'
      end

      local trip = redis.call('HMGET', KEYS[1], 'life', 'closing')
      if not trip[1] then return { -1 } end
      local member, from, to = ARGV[1], ARGV[2], ARGV[3]
      local current = redis.call('HGET', KEYS[2], member) or ''
      if current == to then return { 1 } end
      if current ~= from then return { 0, current ~= '' and current or false } end
      if current == '' then
        local phase = string.match(trip[1], '^%a+')
        if trip[2] or phase == 'ending' or phase == 'ended' then return { -2 } end
        local count = redis.call('HLEN', KEYS[2])
        if count >= tonumber(ARGV[4]) then return { -3, count } end
      end
      if to == '' then
        redis.call('HDEL', KEYS[2], member)
      else
        redis.call('HSET', KEYS[2], member, to)
        redis.call('HINCRBY', KEYS[1], 'n:' .. string.sub(to, 1, 1), 1)
      end
      if current ~= '' then
        redis.call('HINCRBY', KEYS[1], 'n:' .. string.sub(current, 1, 1), -1)
      end
      if is_single(to) then redis.call('SADD', KEYS[3], member)
      else redis.call('SREM', KEYS[3], member) end
      if ARGV[5] == '1' then
        redis.call('XADD', KEYS[4], '*', 't', ARGV[6], 'k', 'member', 'i', member, 'a', ARGV[7])
      end
      return { 1 }
      """#,
    isSafeToRepeat: true)
}
