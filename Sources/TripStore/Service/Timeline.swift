package import FieldTrips
internal import Redis

/// A decision about a trip, for people who ask why a card shows what it shows.
package struct TimelineEntry: Sendable, Equatable {
  package var trip: TripID
  /// JSON; the store does not look into it.
  package var body: [UInt8]

  package init(trip: TripID, body: [UInt8]) {
    self.trip = trip
    self.body = body
  }
}

extension TripStore {
  /// About how many decisions of a trip are kept, the newest.
  package static let timelineLimit = 256

  /// Keeps decisions; those that cannot be stored are lost, since nothing depends on them.
  ///
  /// - Returns: how many were stored.
  @discardableResult
  package func noteTimeline(_ entries: [TimelineEntry]) async -> Int {
    var batch = RedisBatch()
    for entry in entries {
      let keys = keys(of: entry.trip)
      batch.append(
        Self.noteTimelineScript, keys: [keys.timeline(entry.trip), keys.trip(entry.trip)],
        arguments: Self.timelineLimit, entry.body)
    }
    var stored = 0
    for case .success(1) in await callAll(
      batch, { (_, reply) throws(RedisError) in try reply.intValue() })
    {
      stored += 1
    }
    return stored
  }

  /// The newest decisions about a trip, oldest first.
  package func timeline(
    of trip: TripID, limit: Int = TripStore.timelineLimit
  ) async throws(StoreError) -> [(id: LogID, body: [UInt8])] {
    let reply = try await call(
      RedisCommand("XREVRANGE", keys(of: trip).timeline(trip), "+", "-", "COUNT", limit))
    return try reading { () throws(RedisError) in
      var entries: [(id: LogID, body: [UInt8])] = []
      for value in try reply.arrayValue().reversed() {
        let parts = try value.arrayValue()
        guard parts.count == 2, let id = LogID(try parts[0].stringValue()) else {
          throw value.unexpected("a stream's entry")
        }
        entries.append((id, try parts[1].fieldMap()["b"] ?? []))
      }
      return entries
    }
  }

  static let noteTimelineScript = RedisScript(
    name: "noteTimeline",
    source: #"""
      #!lua
      -- Keeps a decision about a trip, unless the trip is forgotten.
      -- KEYS 1 the trip's timeline, 2 its hash
      -- ARGV 1 how many are kept, 2 the decision
      -- Answers 1, or 0: no such trip
      if redis.call('EXISTS', KEYS[2]) == 0 then return 0 end
      redis.call('XADD', KEYS[1], 'MAXLEN', '~', ARGV[1], '*', 'b', ARGV[2])
      return 1
      """#,
    isSafeToRepeat: false)
}
