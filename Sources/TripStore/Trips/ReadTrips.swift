package import FieldTrips
internal import Redis

extension TripStore {
  /// - Returns: nil when there is no such trip.
  package func trip(_ id: TripID) async throws(StoreError) -> TripRecord? {
    let reply = try await call(RedisCommand("HGETALL", keys(of: id).trip(id)))
    return try reading { () throws(RedisError) in try TripRecord.read(id, reply) }
  }

  /// Reads many trips in one go, such as those of a partition that was taken over.
  package func trips(_ ids: [TripID]) async -> [Result<TripRecord?, StoreError>] {
    var batch = RedisBatch()
    for id in ids { batch.append("HGETALL", keys(of: id).trip(id), isRepeatable: true) }
    return await callAll(batch) { (index, reply) throws(RedisError) in
      try TripRecord.read(ids[index], reply)
    }
  }

  /// Reads the lives of many trips, to hold them against the channels of an app.
  package func lives(of ids: [TripID]) async -> [Result<TripLife?, StoreError>] {
    var batch = RedisBatch()
    for id in ids { batch.append("HGET", keys(of: id).trip(id), "life", isRepeatable: true) }
    return await callAll(batch) { (_, reply) throws(RedisError) in
      reply.isNull ? nil : try TripLife.read(reply)
    }
  }

  /// The trips of which APNs has yet to accept something: what a new owner resumes.
  package func unpublishedTrips(
    of partition: Partition
  ) async throws(StoreError) -> [TripID] {
    let reply = try await call(RedisCommand("SMEMBERS", keys(partition).unpublished))
    return try reading { () throws(RedisError) in try TripID.readAll(reply) }
  }
}

/// A place in the list of all trips, to go on from: partition, and the last trip of it.
package struct TripCursor: Sendable, Equatable, CustomStringConvertible {
  let partition: Int
  let after: TripID?

  /// `17`, or `17.0c9d3a52-…`.
  package var description: String {
    after.map { "\(partition).\($0.text)" } ?? "\(partition)"
  }

  /// Reads ``description``, as a client gave it back; nil for anything else.
  package init?(_ text: String) {
    let parts = text.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
    guard let first = parts.first, let partition = Int(first), partition >= 0 else { return nil }
    self.partition = partition
    if parts.count == 2 {
      guard let trip = try? TripID(parts[1]) else { return nil }
      after = trip
    } else {
      after = nil
    }
  }

  init(partition: Int, after: TripID?) {
    self.partition = partition
    self.after = after
  }
}

extension TripStore {
  /// A page of the list of all trips, by partition and within it by ID.
  ///
  /// A trip that exists all the while one reads is listed once, whatever comes and goes meanwhile.
  ///
  /// - Parameters:
  ///   - cursor: where the page before ended; nil for the first.
  ///   - limit: 1 or more trips a page.
  /// - Returns: fewer than `limit` only at the end, where `next` is nil.
  package func listTrips(
    after cursor: TripCursor?, limit: Int
  ) async throws(StoreError) -> (trips: [TripID], next: TripCursor?) {
    var found: [TripID] = []
    var place = cursor ?? TripCursor(partition: 0, after: nil)
    while place.partition < partitionCount {
      // Most partitions are small: ask several at once, and drop what is too much.
      let range = place.partition..<min(place.partition + 16, partitionCount)
      let pages = await tripPages(range, after: place.after, limit: limit + 1)
      for (partition, page) in zip(range, pages) {
        for trip in try page.get() {
          if found.count == limit {
            return (found, next(behind: found.last, before: trip, in: partition))
          }
          found.append(trip)
        }
      }
      place = TripCursor(partition: range.upperBound, after: nil)
    }
    return (found, nil)
  }

  /// How many trips there are.
  package func tripCount() async throws(StoreError) -> Int {
    var batch = RedisBatch()
    for partition in partitions {
      batch.append("ZCARD", keys(partition).trips, isRepeatable: true)
    }
    let counts = await callAll(batch) { (_, reply) throws(RedisError) in try reply.intValue() }
    var sum = 0
    for count in counts { sum += try count.get() }
    return sum
  }

  private func tripPages(
    _ range: Range<Int>, after: TripID?, limit: Int
  ) async -> [Result<[TripID], StoreError>] {
    var batch = RedisBatch()
    for number in range {
      let start = number == range.lowerBound ? after.map { "(" + $0.text } : nil
      batch.append(
        "ZRANGE", keys(Partition(number: number)).trips, start ?? "-", "+", "BYLEX", "LIMIT", 0,
        limit, isRepeatable: true)
    }
    return await callAll(batch) { (_, reply) throws(RedisError) in try TripID.readAll(reply) }
  }

  private func next(behind last: TripID?, before trip: TripID, in partition: Int) -> TripCursor {
    guard let last, self.partition(of: last) == self.partition(of: trip) else {
      return TripCursor(partition: partition, after: nil)
    }
    return TripCursor(partition: partition, after: last)
  }
}

extension TripID {
  static func readAll(_ reply: RESPValue) throws(RedisError) -> [TripID] {
    let values = try reply.arrayValue()
    var trips: [TripID] = []
    trips.reserveCapacity(values.count)
    for value in values { trips.append(try read(value)) }
    return trips
  }

  static func read(_ value: RESPValue) throws(RedisError) -> TripID {
    guard let trip = try? TripID(try value.stringValue()) else {
      throw value.unexpected("a trip ID")
    }
    return trip
  }
}
