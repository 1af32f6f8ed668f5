package import FieldTrips
internal import Redis

extension TripStore {
  /// Reads the entries behind `cursor`, oldest first, at most `limit`.
  package func readLog(
    _ partition: Partition, after cursor: LogID, limit: Int = 1_000
  ) async throws(StoreError) -> [LogItem] {
    let reply = try await call(
      RedisCommand("XRANGE", keys(partition).log, "(\(cursor)", "+", "COUNT", limit))
    return try reading { () throws(RedisError) in try LogItem.readAll(reply) }
  }

  /// Reads the logs of many partitions in one go; an answer for each.
  package func readLogs(
    _ cursors: [(partition: Partition, after: LogID)], limit: Int = 1_000
  ) async -> [Result<[LogItem], StoreError>] {
    var batch = RedisBatch()
    for (partition, cursor) in cursors {
      batch.append(
        "XRANGE", keys(partition).log, "(\(cursor)", "+", "COUNT", limit, isRepeatable: true)
    }
    return await callAll(batch) { (_, reply) throws(RedisError) in try LogItem.readAll(reply) }
  }

  /// How many entries each log holds: those that wait, and up to a hundred or so that are done and
  /// not trimmed yet.
  package func logLengths(
    _ partitions: [Partition]
  ) async -> [Result<Int, StoreError>] {
    var batch = RedisBatch()
    for partition in partitions {
      batch.append("XLEN", keys(partition).log, isRepeatable: true)
    }
    return await callAll(batch) { (_, reply) throws(RedisError) in try reply.intValue() }
  }

  /// Up to where a partition's log is committed, and whether it still holds an entry. The first never
  /// goes back, and an entry never goes before it is committed, unless Redis lost what it had.
  package func logPlace(
    of partition: Partition, seeking entry: LogID
  ) async throws(StoreError) -> (cursor: LogID, holdsEntry: Bool) {
    var batch = RedisBatch()
    batch.append("GET", keys(partition).cursor, isRepeatable: true)
    batch.append("XRANGE", keys(partition).log, "\(entry)", "\(entry)", isRepeatable: true)
    let replies = await callAll(batch) { _, reply in reply }
    let (cursor, found) = (try replies[0].get(), try replies[1].get())
    return try reading { () throws(RedisError) in
      (try LogID.readCursor(cursor), try !found.streamEntries().isEmpty)
    }
  }

  /// The last committed place in a partition's log.
  package func cursor(of partition: Partition) async throws(StoreError) -> LogID {
    let reply = try await call(RedisCommand("GET", keys(partition).cursor))
    return try reading { () throws(RedisError) in try LogID.readCursor(reply) }
  }
}

extension LogID {
  static func readCursor(_ reply: RESPValue) throws(RedisError) -> LogID {
    if reply.isNull { return .start }
    guard let id = LogID(ascii: try reply.bytesValue()) else {
      throw reply.unexpected("a log ID")
    }
    return id
  }
}

extension LogItem {
  static func readAll(_ reply: RESPValue) throws(RedisError) -> [LogItem] {
    try reply.streamEntries().map(LogItem.init)
  }
}
