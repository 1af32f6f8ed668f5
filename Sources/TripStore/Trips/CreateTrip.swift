package import Clocks
package import FieldTrips
internal import Redis

/// A trip to be created.
package struct NewTrip: Sendable {
  package var id: TripID
  package var definition: TripDefinition
  /// JSON of the first content-state.
  package var contentState: [UInt8]
  package var mapperMemory: [UInt8]
  package var life: TripLife
  package var due: [DueChange]

  /// - Parameter actions: what ``TripLife/created(at:)`` asked for; times among them become due.
  package init(
    id: TripID, definition: TripDefinition, contentState: [UInt8], mapperMemory: [UInt8] = [],
    life: TripLife, actions: [TripAction]
  ) {
    self.id = id
    self.definition = definition
    self.contentState = contentState
    self.mapperMemory = mapperMemory
    self.life = life
    due = actions.compactMap { DueChange($0, of: id) }
  }
}

extension TripStore {
  /// Creates a trip with its first content-state as revision 1, of which APNs knows nothing yet.
  ///
  /// Its partition's owner hears of it by the log.
  ///
  /// - Returns: false if there is a trip of this ID already, which then stays as it is: a call
  ///   whose outcome is unknown can be made again.
  package func createTrip(_ trip: NewTrip, at now: UnixTime) async throws(StoreError) -> Bool {
    let keys = keys(of: trip.id)
    let definition = trip.definition
    var command = RedisCommand(
      Self.createScript,
      keys: [keys.trip(trip.id), keys.trips, keys.unpublished, keys.due, keys.log],
      arguments: trip.id.utf8, now.milliseconds,
      2 * (definition.notebook == nil ? 10 : 11),
      "v", Self.dataVersion,
      "app", "\(definition.app.bundleID):\(definition.app.environment.rawValue)",
      "type", definition.typeName, "name", definition.name,
      Spread(definition.notebook.map { ["notebook", $0] } ?? []),
      "attributes", definition.attributes,
      "storage", definition.storagePolicy.rawValue, "settings", definition.settings,
      "state", trip.contentState, "memory", trip.mapperMemory, "life", trip.life.text)
    command.append(due: trip.due)
    let reply = try await call(command)
    return try reading { () throws(RedisError) in try reply.intValue() == 1 }
  }

  static let createScript = RedisScript(
    name: "createTrip",
    source: #"""
      #!lua
      -- Creates a trip, unless there is one of this ID.
      -- KEYS 1 the trip's hash, 2 trips, 3 unpublished, 4 due, 5 log
      -- ARGV 1 trip ID, 2 time (ms), 3 how many of the next are fields and values, alternating;
      --      then pairs of time (ms) and due item
      -- Answers 1 created, 0 there was one

      """# + LuaParts.changeDue + #"""
        if redis.call('EXISTS', KEYS[1]) == 1 then return 0 end
        local fields = tonumber(ARGV[3])
        redis.call('HSET', KEYS[1], 'rev', 1, 'pub', 0, 'ts', 0, unpack(ARGV, 4, 3 + fields))
        redis.call('ZADD', KEYS[2], 0, ARGV[1])
        redis.call('SADD', KEYS[3], ARGV[1])
        change_due(KEYS[4], 4 + fields)
        redis.call('XADD', KEYS[5], '*', 't', ARGV[1], 'k', 'created', 'a', ARGV[2])
        return 1
        """#,
    isSafeToRepeat: true)
}
