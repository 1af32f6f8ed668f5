package import Clocks
package import FieldTrips
internal import Redis

/// What an answer of APNs changes in the store.
package struct AnswerRecord: Sendable {
  package var trip: TripID
  /// The revision that a broadcast of priority 10, or the end, carried and APNs accepted.
  package var accepted: Revision?
  /// The adapted rate, if it changed.
  package var ratePerHour: Double?
  /// The token bucket, if the answer changed it: a refund, or emptied by a 429.
  package var anchor: UnixTime?
  /// A step in the trip's life, such as by an accepted end.
  package var life: LifeChange?
  /// What the trip's timeline says of the broadcast; see ``TripStore/timeline(of:)``.
  package var timeline: [UInt8]?
  /// The triggers that wait for a broadcast, for the next owner's timeline; kept until a broadcast
  /// is accepted.
  package var waiting: [UInt8]?
  /// The card that phones show by this answer; a quiet one replaces none that they show for sure.
  package var shown: ShownCard?

  package init(
    trip: TripID, accepted: Revision? = nil, ratePerHour: Double? = nil, anchor: UnixTime? = nil,
    life: LifeChange? = nil, timeline: [UInt8]? = nil, waiting: [UInt8]? = nil,
    shown: ShownCard? = nil
  ) {
    self.trip = trip
    self.accepted = accepted
    self.ratePerHour = ratePerHour
    self.anchor = anchor
    self.life = life
    self.timeline = timeline
    self.waiting = waiting
    self.shown = shown
  }

  /// Whether there is anything to store but a step that changes nothing.
  package var isEmpty: Bool {
    accepted == nil && ratePerHour == nil && anchor == nil && timeline == nil && waiting == nil
      && shown == nil && life.map { $0.from == $0.to && $0.due.isEmpty } ?? true
  }
}

package enum RecordOutcome: Sendable, Equatable {
  /// - Parameter published: the greatest revision that APNs accepted.
  case recorded(published: Revision)
  case fenced(current: Epoch)
  /// Nothing was written: another node changed the trip's life meanwhile.
  case lifeConflict(current: TripLife)
  case unknownTrip
}

extension TripStore {
  /// Stores what an answer of APNs changed. The published revision only rises, in whatever order
  /// answers come.
  package func record(
    _ answer: AnswerRecord, owner: Ownership
  ) async throws(StoreError) -> RecordOutcome {
    try await record([(answer, owner)])[0].get()
  }

  /// Stores what several answers changed, in one go; an outcome for each.
  package func record(
    _ answers: [(answer: AnswerRecord, owner: Ownership)]
  ) async -> [Result<RecordOutcome, StoreError>] {
    var batch = RedisBatch()
    for (answer, owner) in answers { batch.append(recording(answer, owner: owner)) }
    return await callAll(batch) { (_, reply) throws(RedisError) in
      let (code, rest) = try reply.codedAnswer()
      switch code {
      case 1:
        let published = try rest.value(0).integerValue()
        guard published >= 0 else { throw reply.unexpected("a revision") }
        return .recorded(published: Revision(published))
      case 0: return .fenced(current: try Epoch.read(rest.value(0)))
      case -1: return .unknownTrip
      case -2: return .lifeConflict(current: try TripLife.read(rest.value(0)))
      default: throw reply.unexpected("what became of an answer")
      }
    }
  }

  private func recording(_ answer: AnswerRecord, owner: Ownership) -> RedisCommand {
    let keys = keys(owner.partition)
    var command = RedisCommand(
      Self.recordScript,
      keys: [
        keys.epoch, keys.trip(answer.trip), keys.unpublished, keys.due,
        keys.timeline(answer.trip),
      ],
      arguments: owner.epoch.number, answer.trip.utf8, answer.accepted?.description ?? "",
      answer.ratePerHour.map { "\($0)" } ?? "",
      answer.anchor.map { String($0.nanoseconds) } ?? "",
      answer.life?.from.text ?? "", answer.life?.to.text ?? "", answer.timeline ?? [],
      Self.timelineLimit, answer.waiting ?? [], answer.shown?.stored ?? [],
      answer.shown?.isQuiet == true ? 1 : 0)
    command.append(due: answer.life?.due ?? [])
    return command
  }

  static let recordScript = RedisScript(
    name: "record",
    source: #"""
      #!lua flags=allow-oom
      -- Stores what an answer of APNs changed about a trip.
      -- KEYS 1 epoch, 2 the trip's hash, 3 unpublished, 4 due, 5 the trip's timeline
      -- ARGV 1 epoch of the owner, 2 trip ID, 3 accepted revision or '', 4 rate (1/h) or '',
      --      5 anchor of the token bucket (unix ns) or '', 6 life as it was read or '',
      --      7 new life, 8 entry for the timeline or '', 9 about how many it keeps, 10 triggers that
      --      wait or '', 11 card that phones show or '', 12 whether it is a quiet one (1 or 0); then
      --      pairs of time (ms) or '' and due item
      -- Answers {1, published revision}, {0, epoch}: fenced, {-1} no such trip,
      --      {-2, life}: it is another one

      """# + LuaParts.changeDue + LuaParts.mark + #"""
        local epoch = redis.call('GET', KEYS[1]) or '0'
        if epoch ~= ARGV[1] then return { 0, tonumber(epoch) } end
        local trip = redis.call('HMGET', KEYS[2], 'life', 'pub', 'rev', 'waiting')
        local life, published = trip[1], tonumber(trip[2])
        if not life then return { -1 } end
        if ARGV[6] ~= '' and life ~= ARGV[6] and life ~= ARGV[7] then return { -2, life } end
        -- A revision that is not there was lost with the last seconds of this Redis. Its number will
        -- be another state's, which must not count as published then.
        local accepted = tonumber(ARGV[3]) or 0
        if accepted > published and accepted <= tonumber(trip[3]) then
          published = accepted
          redis.call('HSET', KEYS[2], 'pub', ARGV[3])
          if trip[4] then redis.call('HDEL', KEYS[2], 'waiting') end
        end
        if ARGV[4] ~= '' then redis.call('HSET', KEYS[2], 'rate', ARGV[4]) end
        if ARGV[5] ~= '' then redis.call('HSET', KEYS[2], 'anchor', ARGV[5]) end
        if ARGV[6] ~= '' then
          redis.call('HSET', KEYS[2], 'life', ARGV[7])
          life = ARGV[7]
        end
        if ARGV[8] ~= '' then
          redis.call('XADD', KEYS[5], 'MAXLEN', '~', ARGV[9], '*', 'b', ARGV[8])
        end
        if ARGV[10] ~= '' then redis.call('HSET', KEYS[2], 'waiting', ARGV[10]) end
        if ARGV[12] == '1' then
          redis.call('HSET', KEYS[2], 'quiet', ARGV[11])
        -- Answers may come in another order than they were asked for: an older state is replaced.
        elseif ARGV[11] ~= '' and accepted == published then
          redis.call('HSET', KEYS[2], 'shown', ARGV[11])
          redis.call('HDEL', KEYS[2], 'quiet')
        end
        mark(KEYS[3], KEYS[2], ARGV[2], life)
        change_due(KEYS[4], 13)
        return { 1, published }
        """#,
    isSafeToRepeat: true)
}
