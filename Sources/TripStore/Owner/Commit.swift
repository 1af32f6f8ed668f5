package import Clocks
package import FieldTrips
internal import Redis

/// What a batch of log entries did to one trip.
package struct TripChange: Sendable {
  package var trip: TripID
  /// The trip's new content-state; nil if only its life or the mapper's memory changed.
  package var newState: (revision: Revision, contentState: [UInt8])?
  /// Nil keeps what is there.
  package var mapperMemory: [UInt8]?
  package var life: LifeChange?

  package init(
    trip: TripID, newState: (revision: Revision, contentState: [UInt8])? = nil,
    mapperMemory: [UInt8]? = nil, life: LifeChange? = nil
  ) {
    self.trip = trip
    self.newState = newState
    self.mapperMemory = mapperMemory
    self.life = life
  }
}

/// All that a batch of log entries did, and up to where the log is worked off then.
package struct Commit: Sendable {
  /// The cursor that the owner started from.
  package var from: LogID
  /// The last entry of the batch. Equal to `from` when changes come from elsewhere than the log.
  package var to: LogID
  /// Each trip at most once.
  package var changes: [TripChange]
  /// The clock's time, for people who ask how old a state is; nil leaves that as it is.
  package var at: UnixTime?

  package init(from: LogID, to: LogID, changes: [TripChange], at: UnixTime? = nil) {
    precondition(from <= to, "a cursor never goes back: \(from) to \(to)")
    self.from = from
    self.to = to
    self.changes = changes
    self.at = at
  }
}

package enum CommitOutcome: Sendable, Equatable {
  /// All of it is in the store; by this call, or by an earlier one whose answer got lost.
  case committed
  /// Another node owns the partition. Nothing was written; what is in memory is worthless.
  case fenced(current: Epoch)
  /// Nothing was written: another node changed this trip's life meanwhile. Take its step again from
  /// this life, and commit again.
  case lifeConflict(TripID, current: TripLife)
  /// Nothing was written: the store's cursor is another. The owner's memory is wrong: load the
  /// partition anew.
  case cursorConflict(current: LogID)
}

extension TripStore {
  /// Stores new content-states, revisions, lives and the log's cursor in one step, and trims the
  /// log behind the cursor.
  ///
  /// Cursor and states are of one script, so each log entry has its effect once, whatever crashes.
  /// When the outcome is unknown, commit the same again.
  package func commit(
    _ commit: Commit, owner: Ownership
  ) async throws(StoreError) -> CommitOutcome {
    try await self.commit([(commit, owner)])[0].get()
  }

  /// Commits for several partitions in one go, each by itself; an outcome for each.
  package func commit(
    _ commits: [(commit: Commit, owner: Ownership)]
  ) async -> [Result<CommitOutcome, StoreError>] {
    var batch = RedisBatch()
    for (commit, owner) in commits { batch.append(committing(commit, owner: owner)) }
    return await callAll(batch) { (_, reply) throws(RedisError) in
      let (code, rest) = try reply.codedAnswer()
      switch code {
      case 1: return .committed
      case 0: return .fenced(current: try Epoch.read(rest.value(0)))
      case -1: return .cursorConflict(current: try LogID.readCursor(rest.value(0)))
      case -2:
        return .lifeConflict(
          try TripID.read(rest.value(0)), current: try TripLife.read(rest.value(1)))
      default: throw reply.unexpected("what became of a commit")
      }
    }
  }

  private func committing(_ commit: Commit, owner: Ownership) -> RedisCommand {
    let keys = keys(owner.partition)
    var names = [keys.epoch, keys.cursor, keys.log, keys.unpublished, keys.due]
    names.reserveCapacity(names.count + commit.changes.count)
    for change in commit.changes {
      precondition(
        partition(of: change.trip) == owner.partition,
        "\(change.trip) is not of \(owner.partition)")
      names.append(keys.trip(change.trip))
    }
    var command = RedisCommand(
      Self.commitScript, keys: names,
      arguments: owner.epoch.number, "\(commit.from)", "\(commit.to)", commit.changes.count,
      commit.at.map { String($0.milliseconds) } ?? "")
    for change in commit.changes {
      command.append(change.trip.utf8)
      command.append(change.newState.map { "\($0.revision)" } ?? "")
      command.append(change.newState?.contentState ?? [])
      command.append(change.mapperMemory == nil ? 0 : 1)
      command.append(change.mapperMemory ?? [])
      command.append(change.life?.from.text ?? "")
      command.append(change.life?.to.text ?? "")
    }
    for change in commit.changes {
      if let life = change.life { command.append(due: life.due) }
    }
    return command
  }

  static let commitScript = RedisScript(
    name: "commit",
    source: #"""
      #!lua flags=allow-oom
      -- Stores what a batch of log entries did to trips, and moves the cursor behind them.
      -- KEYS 1 epoch, 2 cursor, 3 log, 4 unpublished, 5 due; then the hash of each trip
      -- ARGV 1 epoch of the owner, 2 cursor as it knows it, 3 new cursor, 4 number of trips,
      --      5 time (ms) or ''; then, for each: trip ID, new revision or '', its content-state, 1 if
      --      the mapper's memory is replaced, that memory, life as it was read or '', new life; then
      --      pairs of time (ms) or '' and due item
      -- Answers {1}, {0, epoch}: fenced, {-1, cursor}: it is another one,
      --      {-2, trip ID, life}: that trip's is another one

      """# + LuaParts.changeDue + LuaParts.mark + #"""
        local epoch = redis.call('GET', KEYS[1]) or '0'
        if epoch ~= ARGV[1] then return { 0, tonumber(epoch) } end
        local cursor = redis.call('GET', KEYS[2]) or '0-0'
        if cursor == ARGV[3] and cursor ~= ARGV[2] then return { 1 } end
        if cursor ~= ARGV[2] then return { -1, cursor } end
        local count = tonumber(ARGV[4])
        local trips = {}
        for i = 1, count do
          local base = 5 + (i - 1) * 7
          trips[i] = redis.call('HMGET', KEYS[5 + i], 'life', 'rev', 'pub')
          local life = trips[i][1]
          local from, to = ARGV[base + 6], ARGV[base + 7]
          if life and from ~= '' and life ~= from and life ~= to then
            return { -2, ARGV[base + 1], life }
          end
        end
        for i = 1, count do
          local base = 5 + (i - 1) * 7
          local life, old, published = unpack(trips[i])
          -- A trip that was forgotten meanwhile must not come back as a part of itself.
          if life then
            local revision, to = ARGV[base + 2], ARGV[base + 7]
            -- One call a trip and way: what Lua asks of Redis is most of what a commit costs.
            local fields = {}
            local function set(name, value)
              fields[#fields + 1] = name
              fields[#fields + 1] = value
            end
            if revision ~= '' then
              set('rev', revision)
              set('state', ARGV[base + 3])
              if ARGV[5] ~= '' then set('changed', ARGV[5]) end
            end
            if ARGV[base + 4] == '1' then set('memory', ARGV[base + 5]) end
            if to ~= '' then
              set('life', to)
              life = to
            end
            if #fields > 0 then redis.call('HSET', KEYS[5 + i], unpack(fields)) end
            if revision == '' then revision = old end
            mark_known(KEYS[4], ARGV[base + 1], life, revision, published)
          end
        end
        change_due(KEYS[5], 6 + count * 7)
        if ARGV[3] ~= ARGV[2] then
          redis.call('SET', KEYS[2], ARGV[3])
          redis.call('XTRIM', KEYS[3], 'MINID', '~', ARGV[3])
        end
        return { 1 }
        """#,
    isSafeToRepeat: true)
}
