package import Clocks
package import FieldTrips
internal import Redis

/// A trigger on its way into the log.
package struct NewTrigger: Sendable {
  package var trip: TripID
  package var kind: LogEntry.Kind
  package var id: TriggerID
  /// What the mapper will read; kept byte for byte.
  package var body: [UInt8]
  /// Set: take it in only if the trip is at this revision and nothing of it waits in the log.
  package var ifRevision: Revision?
  /// What `body` says, for the entries that come back; not stored.
  package var trigger: Trigger?

  package init(
    trip: TripID, kind: LogEntry.Kind, id: TriggerID, body: [UInt8], ifRevision: Revision? = nil,
    trigger: Trigger? = nil
  ) {
    precondition(kind.isTrigger, "\(kind) is news, which the store itself writes")
    self.trigger = trigger
    self.trip = trip
    self.kind = kind
    self.id = id
    self.body = body
    self.ifRevision = ifRevision
  }
}

/// Entries that came into a partition's log in one step.
package struct AppendedEntries: Sendable {
  package let partition: Partition
  /// The log's last entry before these; who has read up to there need not read these.
  package let previous: LogID
  /// At least one, in order, with nothing between them.
  package let entries: [LogEntry]
}

/// What became of a trigger at the log.
package enum AppendOutcome: Sendable, Equatable {
  case accepted(LogID)
  /// This ID was taken in before, by whatever door; it has had its effect or will have it.
  case duplicate
  case unknownTrip
  /// The trip's end was taken in before.
  case ended
  /// The trip is at another revision than the one asked for, or on its way to another.
  case revisionMismatch(current: Revision)
  /// The log holds as many entries as it may: the owner does not keep up, or there is none.
  case logFull
}

extension TripStore {
  /// Appends triggers of one partition, in order; see the other `append`.
  package func append(
    _ triggers: [NewTrigger], to partition: Partition, at now: UnixTime, logLimit: Int = 100_000
  ) async throws(StoreError) -> [AppendOutcome] {
    var outcomes: [AppendOutcome] = []
    for outcome in await append(triggers, at: now, logLimit: logLimit) {
      outcomes.append(try outcome.get())
    }
    return outcomes
  }

  /// Appends triggers of any trips, as an ingest gets them: by partition, all in one go.
  ///
  /// Triggers of one partition keep their order. Each is judged by itself, and has an answer of its
  /// own. An ID enters the log once, however often it is sent: when the outcome of a call is
  /// unknown, call again, and what was taken in comes back as `duplicate`.
  ///
  /// - Parameters:
  ///   - logLimit: entries that each log may hold.
  ///   - onAppended: is given what came into the logs, of each partition in the order in which it
  ///     did, before this returns.
  /// - Returns: an outcome for each trigger.
  package func append(
    _ triggers: [NewTrigger], at now: UnixTime, logLimit: Int = 100_000,
    onAppended: (AppendedEntries) -> Void = { _ in }
  ) async -> [Result<AppendOutcome, StoreError>] {
    let groups = grouped(triggers)
    var batch = RedisBatch()
    for group in groups {
      batch.append(appending(group.triggers, to: group.partition, at: now, logLimit: logLimit))
    }
    let replies = await callAll(batch) { (index, reply) throws(RedisError) in
      try AppendReply(reply, count: groups[index].triggers.count)
    }
    var outcomes = [Result<AppendOutcome, StoreError>](
      repeating: .success(.unknownTrip), count: triggers.count)
    for (group, reply) in zip(groups, replies) {
      for (offset, place) in group.places.enumerated() {
        outcomes[place] = reply.map { $0.outcomes[offset] }
      }
      if case .success(let reply) = reply, let appended = group.appended(reply, at: now) {
        onAppended(appended)
      }
    }
    return outcomes
  }

  private func grouped(_ triggers: [NewTrigger]) -> [AppendGroup] {
    var groups: [AppendGroup] = []
    var open: [Partition: Int] = [:]
    for (place, trigger) in triggers.enumerated() {
      let partition = partition(of: trigger.trip)
      if let index = open[partition], groups[index].places.count < Self.mostTriggersAtOnce {
        groups[index].places.append(place)
        groups[index].triggers.append(trigger)
      } else {
        open[partition] = groups.count
        groups.append(
          AppendGroup(partition: partition, places: [place], triggers: [trigger]))
      }
    }
    return groups
  }

  /// So many triggers keep a script to a few milliseconds, in which Redis does nothing else.
  private static let mostTriggersAtOnce = 200

  private func appending(
    _ triggers: [NewTrigger], to partition: Partition, at now: UnixTime, logLimit: Int
  ) -> RedisCommand {
    let keys = keys(partition)
    var names = [keys.log, keys.cursor]
    var trips: [TripID] = []
    var numbers: [TripID: Int] = [:]
    for trigger in triggers where numbers[trigger.trip] == nil {
      precondition(
        self.partition(of: trigger.trip) == partition, "\(trigger.trip) is not of \(partition)")
      trips.append(trigger.trip)
      numbers[trigger.trip] = trips.count
      names.append(keys.trip(trigger.trip))
      names.append(keys.seen(trigger.trip))
    }
    var command = RedisCommand(
      Self.appendScript, keys: names,
      arguments: now.milliseconds, Self.seenLifeMilliseconds, logLimit, triggers.count)
    for trip in trips { command.append(trip.utf8) }
    for trigger in triggers {
      command.append(numbers[trigger.trip] ?? 0)
      command.append(trigger.kind.rawValue)
      command.append(trigger.id.text)
      command.append(trigger.body)
      command.append(trigger.ifRevision?.description ?? "")
    }
    return command
  }

  /// How long the trigger IDs of a trip are remembered after the last one came. They go with the
  /// trip when it is forgotten; this is for those that nobody forgets.
  static let seenLifeMilliseconds: Int64 = 7 * 86_400_000

  static let appendScript = RedisScript(
    name: "append",
    source: #"""
      #!lua
      -- Takes triggers of one partition into its log, each trigger ID of a trip once.
      -- KEYS 1 log, 2 cursor; then, for each trip, its hash and its set of seen trigger IDs
      -- ARGV 1 time of acceptance (ms), 2 life of a seen set (ms), 3 entries that the log may hold,
      --      4 number of triggers; then the ID of each trip; then, for each trigger: which of the
      --      trips, kind, trigger ID, body, revision that the trip must have or ''
      -- Answers the ID of the last log entry before these; then, for each trigger: its log ID,
      --      or 0 duplicate, -1 unknown trip, -2 ended, -3 log full, or {revision}: the trip is
      --      at another one
      local previous = redis.call('XREVRANGE', KEYS[1], '+', '-', 'COUNT', 1)[1]
      local room = tonumber(ARGV[3]) - redis.call('XLEN', KEYS[1])
      local trip_count = (#KEYS - 2) / 2
      local is_trigger = { note = true, state = true, phase = true, ['end'] = true }

      local function base_of(i) return 4 + trip_count + (i - 1) * 5 end

      local ids = {}
      for i = 1, tonumber(ARGV[4]) do
        local base = base_of(i)
        local list = ids[ARGV[base + 1]]
        if list then
          list[#list + 1] = ARGV[base + 3]
        else
          ids[ARGV[base + 1]] = { ARGV[base + 3] }
        end
      end

      local trips = {}
      local function trip_at(place)
        local trip = trips[place]
        if trip then return trip end
        local number = tonumber(place)
        local at = 1 + number * 2
        local found = redis.call('HMGET', KEYS[at], 'life', 'rev', 'closing')
        local phase = found[1] and string.match(found[1], '^%a+')
        trip = {
          id = ARGV[4 + number], at = at, exists = phase, revision = found[2],
          ended = found[3] or phase == 'ending' or phase == 'ended',
        }
        -- What Lua asks of Redis is most of what this costs: of several triggers of a trip it is
        -- asked at once which are known, and told at once which are new.
        if #ids[place] > 1 then
          trip.known, trip.new = {}, {}
          local known = redis.call('SMISMEMBER', KEYS[at + 1], unpack(ids[place]))
          for n, id in ipairs(ids[place]) do
            if known[n] == 1 then trip.known[id] = true end
          end
        end
        trips[place] = trip
        return trip
      end

      local function is_known(trip, id)
        if trip.known then return trip.known[id] end
        return redis.call('SISMEMBER', KEYS[trip.at + 1], id) == 1
      end

      -- Whether an ID is new. From now on it is known.
      local function remember(trip, id)
        if not trip.known then return redis.call('SADD', KEYS[trip.at + 1], id) == 1 end
        if trip.known[id] then return false end
        trip.known[id] = true
        trip.new[#trip.new + 1] = id
        return true
      end

      -- Whether a trigger of a trip lies behind the cursor. Where very much does, one counts as so.
      local function is_waiting(trip)
        local cursor = redis.call('GET', KEYS[2]) or '0-0'
        local entries = redis.call('XRANGE', KEYS[1], '(' .. cursor, '+', 'COUNT', 1000)
        for _, entry in ipairs(entries) do
          local fields = entry[2]
          if fields[2] == trip.id and is_trigger[fields[4]] then return true end
        end
        return #entries == 1000
      end

      local answers = { previous and previous[1] or '0-0' }
      for i = 1, tonumber(ARGV[4]) do
        local base = base_of(i)
        local trip = trip_at(ARGV[base + 1])
        local kind, id, revision = ARGV[base + 2], ARGV[base + 3], ARGV[base + 5]
        local refusal
        if not trip.exists then refusal = -1
        elseif trip.ended then refusal = -2
        elseif revision ~= '' and (revision ~= trip.revision or is_waiting(trip)) then
          refusal = { tonumber(trip.revision) }
        elseif room <= 0 then refusal = -3
        end
        if refusal then
          answers[i + 1] = trip.exists and is_known(trip, id) and 0 or refusal
        elseif not remember(trip, id) then
          answers[i + 1] = 0
        else
          local log_id = redis.call('XADD', KEYS[1], '*', 't', trip.id, 'k', kind,
            'i', id, 'b', ARGV[base + 4], 'a', ARGV[1])
          answers[i + 1], trip.has_new = log_id, true
          room = room - 1
          if kind == 'end' then
            trip.ended = true
            redis.call('HSET', KEYS[trip.at], 'closing', log_id)
          end
        end
      end
      for _, trip in pairs(trips) do
        if trip.new and #trip.new > 0 then
          redis.call('SADD', KEYS[trip.at + 1], unpack(trip.new))
        end
        -- Once an hour is often enough for what lives a week.
        if trip.has_new and redis.call('PTTL', KEYS[trip.at + 1]) < ARGV[2] - 3600000 then
          redis.call('PEXPIRE', KEYS[trip.at + 1], ARGV[2])
        end
      end
      return answers
      """#,
    isSafeToRepeat: true)
}

/// Triggers of one partition that go in one script.
private struct AppendGroup {
  let partition: Partition
  /// Where they stand among all that were given.
  var places: [Int]
  var triggers: [NewTrigger]

  /// What of them came into the log; nil when nothing did.
  func appended(_ reply: AppendReply, at now: UnixTime) -> AppendedEntries? {
    var entries: [LogEntry] = []
    entries.reserveCapacity(triggers.count)
    let acceptedAt = now.inMilliseconds
    for (trigger, outcome) in zip(triggers, reply.outcomes) {
      guard case .accepted(let logID) = outcome else { continue }
      entries.append(
        LogEntry(
          logID: logID, trip: trigger.trip, kind: trigger.kind, id: trigger.id.text,
          body: trigger.body, acceptedAt: acceptedAt, trigger: trigger.trigger))
    }
    guard !entries.isEmpty else { return nil }
    return AppendedEntries(partition: partition, previous: reply.previous, entries: entries)
  }
}

private struct AppendReply {
  let previous: LogID
  let outcomes: [AppendOutcome]

  init(_ reply: RESPValue, count: Int) throws(RedisError) {
    let answers = try reply.arrayValue()
    guard answers.count == count + 1, let previous = LogID(ascii: try answers[0].bytesValue())
    else {
      throw reply.unexpected("a log ID and \(count) outcomes")
    }
    self.previous = previous
    var outcomes: [AppendOutcome] = []
    outcomes.reserveCapacity(count)
    for answer in answers.dropFirst() { outcomes.append(try AppendOutcome.read(answer)) }
    self.outcomes = outcomes
  }
}

extension AppendOutcome {
  fileprivate static func read(_ value: RESPValue) throws(RedisError) -> AppendOutcome {
    switch value {
    case .integer(0): return .duplicate
    case .integer(-1): return .unknownTrip
    case .integer(-2): return .ended
    case .integer(-3): return .logFull
    case .array(let parts):
      guard parts.count == 1, case .integer(let number) = parts[0], number >= 0 else { break }
      return .revisionMismatch(current: Revision(number))
    default:
      guard let id = LogID(ascii: try value.bytesValue()) else { break }
      return .accepted(id)
    }
    throw value.unexpected("what became of a trigger")
  }
}
