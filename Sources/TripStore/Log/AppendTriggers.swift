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

  package init(
    trip: TripID, kind: LogEntry.Kind, id: TriggerID, body: [UInt8], ifRevision: Revision? = nil
  ) {
    precondition(kind.isTrigger, "\(kind) is news, which the store itself writes")
    self.trip = trip
    self.kind = kind
    self.id = id
    self.body = body
    self.ifRevision = ifRevision
  }
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
  /// Appends triggers of one partition, in order.
  ///
  /// Each is judged by itself. An ID enters the log once, however often it is sent: when the
  /// outcome of a call is unknown, call again, and what was taken in comes back as `duplicate`.
  ///
  /// - Parameters:
  ///   - triggers: all of trips in `partition`; some hundreds at most, so that the script stays short.
  ///   - logLimit: entries that the log may hold.
  /// - Returns: an outcome for each trigger.
  package func append(
    _ triggers: [NewTrigger], to partition: Partition, at now: UnixTime, logLimit: Int = 100_000
  ) async throws(StoreError) -> [AppendOutcome] {
    guard !triggers.isEmpty else { return [] }
    let command = appending(triggers, to: partition, at: now, logLimit: logLimit)
    let reply = try await call(command)
    return try reading { () throws(RedisError) in
      try AppendOutcome.readAll(reply, count: triggers.count)
    }
  }

  /// Appends triggers of any trips, as an ingest gets them: by partition, all in one go.
  ///
  /// Triggers of one partition keep their order. Each has an answer of its own, in the order in
  /// which they were given.
  package func append(
    _ triggers: [NewTrigger], at now: UnixTime, logLimit: Int = 100_000
  ) async -> [Result<AppendOutcome, StoreError>] {
    var places = Dictionary(grouping: triggers.indices) { partition(of: triggers[$0].trip) }
    var batch = RedisBatch()
    var groups: [[Int]] = []
    for partition in places.keys.sorted() {
      var rest = (places.removeValue(forKey: partition) ?? [])[...]
      while !rest.isEmpty {
        let group = Array(rest.prefix(Self.mostTriggersAtOnce))
        rest = rest.dropFirst(group.count)
        let chosen = group.map { triggers[$0] }
        batch.append(appending(chosen, to: partition, at: now, logLimit: logLimit))
        groups.append(group)
      }
    }
    let replies = await callAll(batch) { (index, reply) throws(RedisError) in
      try AppendOutcome.readAll(reply, count: groups[index].count)
    }
    var outcomes = [Result<AppendOutcome, StoreError>](
      repeating: .success(.unknownTrip), count: triggers.count)
    for (group, reply) in zip(groups, replies) {
      for (offset, index) in group.enumerated() { outcomes[index] = reply.map { $0[offset] } }
    }
    return outcomes
  }

  /// So many triggers keep a script to a few milliseconds, in which Redis does nothing else.
  private static let mostTriggersAtOnce = 200

  private func appending(
    _ triggers: [NewTrigger], to partition: Partition, at now: UnixTime, logLimit: Int
  ) -> RedisCommand {
    let keys = keys(partition)
    var names = [keys.log, keys.cursor]
    var places: [TripID: Int] = [:]
    for trigger in triggers where places[trigger.trip] == nil {
      precondition(
        self.partition(of: trigger.trip) == partition, "\(trigger.trip) is not of \(partition)")
      places[trigger.trip] = names.count + 1
      names.append(keys.trip(trigger.trip))
      names.append(keys.seen(trigger.trip))
    }
    var command = RedisCommand(
      Self.appendScript, keys: names,
      arguments: now.milliseconds, Self.seenLifeMilliseconds, logLimit, triggers.count)
    for trigger in triggers {
      command.append(places[trigger.trip] ?? 0)
      command.append(trigger.trip.utf8)
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
      --      4 number of triggers; then, for each: where in KEYS its trip's hash stands, trip ID,
      --      kind, trigger ID, body, revision that the trip must have or ''
      -- Answers, for each trigger: its log ID, or 0 duplicate, -1 unknown trip, -2 ended,
      --      -3 log full, or {revision}: the trip is at another one
      local cursor
      local room = tonumber(ARGV[3]) - redis.call('XLEN', KEYS[1])

      local function is_behind_cursor(id)
        cursor = cursor or redis.call('GET', KEYS[2]) or '0-0'
        local ms, seq = string.match(id, '^(%d+)-(%d+)$')
        local cursor_ms, cursor_seq = string.match(cursor, '^(%d+)-(%d+)$')
        ms, cursor_ms = tonumber(ms), tonumber(cursor_ms)
        return ms < cursor_ms or ms == cursor_ms and tonumber(seq) <= tonumber(cursor_seq)
      end

      local trips = {}
      local function trip_at(place)
        local trip = trips[place]
        if trip then return trip end
        local found = redis.call('HMGET', KEYS[place], 'life', 'rev', 'last', 'closing')
        local phase = found[1] and string.match(found[1], '^%a+')
        trip = {
          exists = phase, revision = found[2],
          ended = found[4] or phase == 'ending' or phase == 'ended',
          waiting = found[3] and not is_behind_cursor(found[3]),
        }
        trips[place] = trip
        return trip
      end

      local answers = {}
      for i = 1, tonumber(ARGV[4]) do
        local base = 4 + (i - 1) * 6
        local place = tonumber(ARGV[base + 1])
        local kind, id, revision = ARGV[base + 3], ARGV[base + 4], ARGV[base + 6]
        local trip = trip_at(place)
        local refusal
        if not trip.exists then refusal = -1
        elseif trip.ended then refusal = -2
        elseif revision ~= '' and (revision ~= trip.revision or trip.waiting) then
          refusal = { tonumber(trip.revision) }
        elseif room <= 0 then refusal = -3
        end
        if refusal then
          local known = trip.exists and redis.call('SISMEMBER', KEYS[place + 1], id) == 1
          answers[i] = known and 0 or refusal
        elseif redis.call('SADD', KEYS[place + 1], id) == 0 then
          answers[i] = 0
        else
          local log_id = redis.call('XADD', KEYS[1], '*', 't', ARGV[base + 2], 'k', kind,
            'i', id, 'b', ARGV[base + 5], 'a', ARGV[1])
          answers[i], trip.last, trip.waiting = log_id, log_id, true
          room = room - 1
          if kind == 'end' then
            trip.ended = true
            redis.call('HSET', KEYS[place], 'closing', log_id)
          end
        end
      end
      for place, trip in pairs(trips) do
        if trip.last then
          redis.call('HSET', KEYS[place], 'last', trip.last)
          redis.call('PEXPIRE', KEYS[place + 1], ARGV[2])
        end
      end
      return answers
      """#,
    isSafeToRepeat: true)
}

extension AppendOutcome {
  fileprivate static func readAll(
    _ reply: RESPValue, count: Int
  ) throws(RedisError) -> [AppendOutcome] {
    let answers = try reply.arrayValue()
    guard answers.count == count else { throw reply.unexpected("an array of \(count)") }
    var outcomes: [AppendOutcome] = []
    outcomes.reserveCapacity(count)
    for answer in answers { outcomes.append(try read(answer)) }
    return outcomes
  }

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
      guard let id = LogID(try value.stringValue()) else { break }
      return .accepted(id)
    }
    throw value.unexpected("what became of a trigger")
  }
}
