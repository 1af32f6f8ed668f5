package import Clocks
package import FieldTrips
internal import Redis

/// Something that is due, claimed by an owner.
package struct DueClaim: Sendable, Equatable {
  package let item: DueItem
  /// When it was due; or, of a claim that ran out, until when that held.
  package let dueAt: UnixTime
  /// Until then nobody else is given it.
  package let claimedUntil: UnixTime
}

package enum DueOutcome: Sendable, Equatable {
  case claimed([DueClaim])
  case fenced(current: Epoch)
}

extension TripStore {
  /// Takes what is due by now, the longest due first.
  ///
  /// An item stays in the store until ``finish(_:owner:)``. One whose owner died is due again when
  /// its claim runs out.
  ///
  /// - Parameters:
  ///   - claim: how long it may take to do what is due.
  ///   - limit: at most that many.
  package func claimDue(
    by now: UnixTime, claim: Duration, limit: Int = 100, owner: Ownership
  ) async throws(StoreError) -> DueOutcome {
    let keys = keys(owner.partition)
    let until = (now + claim).inMilliseconds
    let reply = try await call(
      RedisCommand(
        Self.claimDueScript, keys: [keys.due, keys.epoch],
        arguments: now.milliseconds, until.milliseconds, limit, owner.epoch.number))
    return try reading { () throws(RedisError) in
      let (code, rest) = try reply.codedAnswer()
      guard code == 1 else { return .fenced(current: try Epoch.read(rest.value(0))) }
      var claims: [DueClaim] = []
      for index in stride(from: 0, to: rest.count - 1, by: 2) {
        guard let item = DueItem(text: try rest.value(index).stringValue()) else {
          throw rest.value(index).unexpected("a due item")
        }
        let dueAt = UnixTime(milliseconds: try rest.value(index + 1).integerValue())
        claims.append(DueClaim(item: item, dueAt: dueAt, claimedUntil: until))
      }
      return .claimed(claims)
    }
  }

  /// Removes items that are done. One that was scheduled anew since it was claimed stays.
  package func finish(
    _ claims: [DueClaim], of partition: Partition
  ) async throws(StoreError) {
    guard !claims.isEmpty else { return }
    var command = RedisCommand(Self.finishDueScript, keys: [keys(partition).due])
    for claim in claims {
      command.append(claim.claimedUntil.milliseconds)
      command.append(claim.item.text)
    }
    _ = try await call(command)
  }

  /// Schedules or cancels items by themselves; those of a trip's life go with its change.
  package func changeDue(
    _ changes: [DueChange], of partition: Partition
  ) async throws(StoreError) {
    guard !changes.isEmpty else { return }
    var command = RedisCommand(Self.changeDueScript, keys: [keys(partition).due])
    command.append(due: changes)
    _ = try await call(command)
  }

  /// When the next item of each partition is due; nil if there is none.
  package func nextDue(
    _ partitions: [Partition]
  ) async -> [Result<UnixTime?, StoreError>] {
    var batch = RedisBatch()
    for partition in partitions {
      batch.append("ZRANGE", keys(partition).due, 0, 0, "WITHSCORES", isRepeatable: true)
    }
    return await callAll(batch) { (_, reply) throws(RedisError) in
      let values = try reply.arrayValue()
      guard values.count == 2 else { return nil }
      return UnixTime(milliseconds: try values[1].integerValue())
    }
  }

  /// Used for partitions, whose owner shows its epoch, and for apps, which have no owner.
  static let claimDueScript = RedisScript(
    name: "claimDue",
    source: #"""
      #!lua flags=allow-oom
      -- Claims what is due, by putting it off until the claim runs out.
      -- KEYS 1 due, 2 epoch, if there is an owner
      -- ARGV 1 now (ms), 2 when the claim runs out (ms), 3 most items, 4 epoch of the owner, if any
      -- Answers {1, item, when it was due (ms), …}, or {0, epoch}: fenced
      if KEYS[2] then
        local epoch = redis.call('GET', KEYS[2]) or '0'
        if epoch ~= ARGV[4] then return { 0, tonumber(epoch) } end
      end
      local found = redis.call('ZRANGE', KEYS[1], '-inf', ARGV[1], 'BYSCORE', 'LIMIT', 0, ARGV[3],
        'WITHSCORES')
      local answer = { 1 }
      for i = 1, #found, 2 do
        redis.call('ZADD', KEYS[1], ARGV[2], found[i])
        answer[i + 1], answer[i + 2] = found[i], string.format('%.0f', found[i + 1])
      end
      return answer
      """#,
    isSafeToRepeat: false)

  static let finishDueScript = RedisScript(
    name: "finishDue",
    source: #"""
      #!lua flags=allow-oom
      -- Removes items that were claimed and are done, unless they were scheduled anew.
      -- KEYS 1 due
      -- ARGV pairs of when the claim runs out (ms) and item
      -- Answers how many were removed
      local removed = 0
      for i = 1, #ARGV, 2 do
        local score = redis.call('ZSCORE', KEYS[1], ARGV[i + 1])
        if score and tonumber(score) == tonumber(ARGV[i]) then
          removed = removed + redis.call('ZREM', KEYS[1], ARGV[i + 1])
        end
      end
      return removed
      """#,
    isSafeToRepeat: true)

  static let changeDueScript = RedisScript(
    name: "changeDue",
    source: #"""
      #!lua
      -- Schedules and cancels what is due.
      -- KEYS 1 due
      -- ARGV pairs of time (ms) or '' and item

      """# + LuaParts.changeDue + #"""
        change_due(KEYS[1], 1)
        return 1
        """#,
    isSafeToRepeat: true)
}
