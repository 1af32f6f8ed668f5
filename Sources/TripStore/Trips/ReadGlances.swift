package import Clocks
package import FieldTrips
internal import Redis

/// What a list shows of a trip: a record without the content-state and what else is long.
package struct TripGlance: Sendable, Equatable {
  package var name: String
  package var notebook: String?
  package var typeName: String
  package var revision: Revision
  package var publishedRevision: Revision
  /// When the content-state last changed; nil before the first change.
  package var changedAt: UnixTime?
  package var life: TripLife
  package var memberCounts: [Reach: Int]

  package init(
    name: String, notebook: String?, typeName: String, revision: Revision,
    publishedRevision: Revision, changedAt: UnixTime?, life: TripLife, memberCounts: [Reach: Int]
  ) {
    self.name = name
    self.notebook = notebook
    self.typeName = typeName
    self.revision = revision
    self.publishedRevision = publishedRevision
    self.changedAt = changedAt
    self.life = life
    self.memberCounts = memberCounts
  }

  /// As ``Revision/changes(since:)`` has it.
  package var waitingChanges: Int64 { revision.changes(since: publishedRevision) }
}

extension TripStore {
  /// Reads what a list shows of many trips; nil for one that is not there.
  package func glances(at ids: [TripID]) async -> [Result<TripGlance?, StoreError>] {
    var batch = RedisBatch()
    for id in ids {
      batch.append(
        "HMGET", keys(of: id).trip(id), Spread(TripGlance.fields), isRepeatable: true)
    }
    return await callAll(batch) { (index, reply) throws(RedisError) in
      try TripGlance.read(ids[index], reply)
    }
  }

  /// Some of the trips of which APNs has yet to accept something: other ones each time, if there are
  /// more.
  ///
  /// - Parameters:
  ///   - first: the first partition that is looked into.
  ///   - limit: how many are read at most, 1 or more, and of how many partitions.
  package func someUnpublishedTrips(
    from first: Int, limit: Int
  ) async throws(StoreError) -> [TripID] {
    var batch = RedisBatch()
    let partitions = min(partitionCount, limit)
    for place in 0..<partitions {
      let partition = Partition(number: (first + place) % partitionCount)
      batch.append(
        "SRANDMEMBER", keys(partition).unpublished, max(1, limit / partitions),
        isRepeatable: true)
    }
    let sets = await callAll(batch) { (_, reply) throws(RedisError) in
      try TripID.readAll(reply)
    }
    var trips: [TripID] = []
    for set in sets { trips += try set.get() }
    return trips
  }
}

extension TripGlance {
  static let fields =
    ["v", "name", "notebook", "type", "rev", "pub", "changed", "life"]
    + Reach.allCases.map { "n:" + $0.code }

  static func read(_ id: TripID, _ reply: RESPValue) throws(RedisError) -> TripGlance? {
    let values = try reply.arrayValue()
    guard values.count == fields.count else { throw reply.unexpected("a value for each field") }
    var map: [String: [UInt8]] = [:]
    for (name, value) in zip(fields, values) {
      if let bytes = try value.optionalBytes() { map[name] = bytes }
    }
    let read = TripFields(id, map)
    guard !read.isEmpty else { return nil }
    guard let life = TripLife(text: try read.text("life")) else { throw read.unexpected("life") }
    return TripGlance(
      name: try read.text("name"), notebook: try read.optionalText("notebook"),
      typeName: try read.text("type"), revision: try read.revision("rev"),
      publishedRevision: try read.revision("pub"),
      changedAt: try read.optionalNumber("changed").map { UnixTime(milliseconds: $0) }, life: life,
      memberCounts: try read.memberCounts())
  }
}
