internal import Clocks
internal import FieldTrips
internal import Redis
internal import Transport

// The service's logs: when captures came into them, and when the owner had worked them off.
extension LoadWatch {
  /// So many of the partitions are followed: enough for percentiles, and little work for Redis.
  private static let mostPartitions = 8

  /// Chooses what to follow, and begins to.
  func prepareLogs(of tripIDs: [String]) async throws -> StreamTail {
    let found = try await redis.call(RedisCommand("HGET", "fc:version", "partitions"))
    let count = try found.optionalString().flatMap { Int($0) } ?? Partition.defaultCount
    var chosen: [Int] = []
    for (index, text) in tripIDs.enumerated() {
      guard let trip = try? TripID(text) else { continue }
      let partition = Partition(of: trip, count: count)
      if !chosen.contains(partition.number) {
        guard chosen.count < Self.mostPartitions else { continue }
        chosen.append(partition.number)
        let log = "fc:{\(partition)}:log"
        partitionKeys[partition.number] = (log, "fc:{\(partition)}:cursor")
        partitionOfKey[log] = partition.number
      }
      followedTrips[text] = index
      sampler.follow(index)
    }
    let tail = StreamTail(
      configuration: target.redis, commands: redis, count: 1_000, block: .milliseconds(500))
    let now = WallClock.now() + offsets.redis
    let position = StreamID(milliseconds: UInt64(clamping: now.milliseconds), sequence: 0)
    for keys in partitionKeys.values { await tail.follow(keys.log, after: position) }
    return tail
  }

  /// Reads the logs until the tail is closed.
  func followLogs(_ tail: StreamTail) async {
    while !Task.isCancelled, let batches = try? await tail.next() {
      for batch in batches {
        guard let partition = partitionOfKey[batch.key] else { continue }
        for entry in batch.entries { take(entry, of: partition) }
      }
    }
  }

  private func take(_ entry: StreamEntry, of partition: Int) {
    guard entry.text("k") == "note", let trip = entry.text("t").flatMap({ followedTrips[$0] }),
      let scheduledAt = entry.text("i").flatMap(CaptureNote.scheduledAt(id:))
    else { return }
    // The ID has whole milliseconds, rounded down: the middle is right on average.
    let logged =
      UnixTime(milliseconds: Int64(clamping: entry.id.milliseconds)) + .microseconds(500)
      - offsets.redis
    sampler.logged(
      StageSampler.Logged(
        scheduledAt: scheduledAt, loggedAt: offset(of: logged),
        position: StageSampler.LogPosition(
          milliseconds: entry.id.milliseconds, sequence: entry.id.sequence)),
      trip: trip, partition: partition)
  }

  /// Looks, about once a millisecond while entries wait, how far their owner has come.
  func followCursors() async {
    while !Task.isCancelled {
      await lookAtCursors()
      guard (try? await loop.sleep(for: .milliseconds(1))) != nil else { return }
    }
  }

  private func lookAtCursors() async {
    let partitions = sampler.waitingPartitions
    guard !partitions.isEmpty else { return }
    var batch = RedisBatch()
    for partition in partitions { batch.append("GET", partitionKeys[partition]?.cursor ?? "") }
    let replies = await redis.callAll(batch)
    let now = offset(of: WallClock.now())
    for (partition, reply) in zip(partitions, replies) {
      guard let text = try? reply.get().optionalString(), let id = StreamID(text) else { continue }
      sampler.committed(
        partition,
        upTo: StageSampler.LogPosition(milliseconds: id.milliseconds, sequence: id.sequence),
        at: now)
    }
  }
}
