package import FieldTrips
internal import Redis

/// Who owns a partition now, for people who watch.
package struct Tenure: Sendable, Equatable {
  /// Nil while nobody does.
  package var node: String?
  /// Raised by each owner; since a new one is the time of Redis' clock in milliseconds, unless that
  /// went back, it also tells when the partition was taken.
  package var epoch: Epoch

  package init(node: String?, epoch: Epoch) {
    self.node = node
    self.epoch = epoch
  }
}

extension TripStore {
  /// Who owns each partition, in their order.
  package func tenures() async throws(StoreError) -> [Tenure] {
    var batch = RedisBatch()
    for partition in partitions {
      batch.append("GET", keys(partition).lease, isRepeatable: true)
      batch.append("GET", keys(partition).epoch, isRepeatable: true)
    }
    let values = await callAll(batch) { (_, reply) throws(RedisError) in
      try reply.optionalBytes()
    }
    var tenures: [Tenure] = []
    tenures.reserveCapacity(partitionCount)
    for index in stride(from: 0, to: values.count, by: 2) {
      let epoch = try values[index + 1].get().flatMap { RESPValue.integer(in: $0) } ?? 0
      tenures.append(
        Tenure(
          node: try values[index].get().map { String(decoding: $0, as: UTF8.self) },
          epoch: Epoch(max(0, epoch))))
    }
    return tenures
  }

  /// The node that owns a trip's partition now; nil while nobody does.
  package func node(of trip: TripID) async throws(StoreError) -> String? {
    let reply = try await call(RedisCommand("GET", keys(of: trip).lease))
    return try reading { () throws(RedisError) in
      try reply.optionalBytes().map { String(decoding: $0, as: UTF8.self) }
    }
  }

  /// Keeps what a node says of itself, for people who ask another node.
  ///
  /// - Parameter life: how long it is kept unless the node says more; whole milliseconds.
  package func report(
    _ report: [UInt8], of node: String, life: Duration
  ) async throws(StoreError) {
    _ = try await call(
      RedisCommand(
        "SET", Self.reportKey(node), report, "PX", life.wholeNanoseconds / 1_000_000
      ).repeatable())
  }

  /// The nodes that live, in order of their names, each with what it said of itself last.
  package func nodeReports() async throws(StoreError) -> [(node: String, report: [UInt8]?)] {
    let reply = try await call(RedisCommand("ZRANGE", Self.nodesKey, 0, -1))
    let nodes = try reading { () throws(RedisError) in try reply.stringsValue().sorted() }
    var batch = RedisBatch()
    for node in nodes { batch.append("GET", Self.reportKey(node), isRepeatable: true) }
    let reports = await callAll(batch) { (_, reply) throws(RedisError) in
      try reply.optionalBytes()
    }
    var found: [(node: String, report: [UInt8]?)] = []
    for (node, report) in zip(nodes, reports) { found.append((node, try report.get())) }
    return found
  }

  private static func reportKey(_ node: String) -> String { "fc:node:\(node)" }
}
