internal import Clocks
package import FieldTrips
internal import Redis

/// A node's claim to a partition: what it shows at each write.
package struct Ownership: Hashable, Sendable {
  package let partition: Partition
  package let epoch: Epoch

  package init(partition: Partition, epoch: Epoch) {
    self.partition = partition
    self.epoch = epoch
  }
}

/// What became of an attempt to take a partition over.
package enum LeaseTake: Sendable, Equatable {
  /// It is ours, under a new epoch: whatever the owner before it still tries to write is refused.
  /// The cursor is where its log is to be read on.
  case taken(Ownership, cursor: LogID)
  /// Another node's lease holds, at most this much longer.
  case held(by: String, expiresIn: Duration)
}

/// What became of an attempt to keep a partition.
package enum LeaseRenewal: Sendable, Equatable {
  case renewed
  /// Another node took it over; what is still under way will be fenced.
  case lost(current: Epoch)
}

extension TripStore {
  /// Takes partitions over, as far as their leases are free, have expired, or are this node's own
  /// of an earlier life.
  ///
  /// - Parameters:
  ///   - node: unique among running nodes, and the same after a restart, so that a node that was
  ///     killed need not wait for its own leases to expire.
  ///   - life: how long the lease holds without renewal; renew at a third of it.
  /// - Returns: an answer for each partition.
  package func takeLeases(
    _ partitions: [Partition], node: String, life: Duration
  ) async -> [Result<LeaseTake, StoreError>] {
    let milliseconds = life.wholeNanoseconds / 1_000_000
    var batch = RedisBatch()
    for partition in partitions {
      let keys = keys(partition)
      batch.append(
        Self.takeLeaseScript, keys: [keys.lease, keys.epoch, keys.cursor],
        arguments: node, milliseconds)
    }
    return await callAll(batch) { (index, reply) throws(RedisError) in
      let (code, rest) = try reply.codedAnswer()
      guard code == 1 else {
        return .held(
          by: try rest.value(0).stringValue(),
          expiresIn: .milliseconds(max(0, try rest.value(1).integerValue())))
      }
      let epoch = try Epoch.read(rest.value(0))
      return .taken(
        Ownership(partition: partitions[index], epoch: epoch),
        cursor: try LogID.readCursor(rest.value(1)))
    }
  }

  /// Keeps partitions for another `life`.
  ///
  /// A lease that expired, but that nobody took, is renewed too: the epoch shows that nothing was
  /// written in between.
  package func renewLeases(
    _ owners: [Ownership], node: String, life: Duration
  ) async -> [Result<LeaseRenewal, StoreError>] {
    let milliseconds = life.wholeNanoseconds / 1_000_000
    var batch = RedisBatch()
    for owner in owners {
      let keys = keys(owner.partition)
      batch.append(
        Self.renewLeaseScript, keys: [keys.lease, keys.epoch],
        arguments: node, owner.epoch.number, milliseconds)
    }
    return await callAll(batch) { (_, reply) throws(RedisError) in
      let (code, rest) = try reply.codedAnswer()
      return code == 1 ? .renewed : .lost(current: try Epoch.read(rest.value(0)))
    }
  }

  /// Gives partitions up, so that other nodes need not wait. What was lost before stays as it is.
  package func releaseLeases(
    _ owners: [Ownership], node: String
  ) async -> [Result<Void, StoreError>] {
    var batch = RedisBatch()
    for owner in owners {
      let keys = keys(owner.partition)
      batch.append(
        Self.releaseLeaseScript, keys: [keys.lease, keys.epoch],
        arguments: node, owner.epoch.number)
    }
    return await callAll(batch) { (_, reply) throws(RedisError) in _ = try reply.intValue() }
  }

  static let takeLeaseScript = RedisScript(
    name: "takeLease",
    source: #"""
      #!lua flags=allow-oom
      -- Takes a partition over, unless another node holds it.
      -- KEYS 1 lease, 2 epoch, 3 cursor
      -- ARGV 1 node, 2 life of the lease (ms)
      -- Answers {1, new epoch, cursor}, or {0, holder, rest of its lease (ms)}
      local holder = redis.call('GET', KEYS[1])
      if holder and holder ~= ARGV[1] then
        return { 0, holder, redis.call('PTTL', KEYS[1]) }
      end
      -- Not just one more than the last epoch: a Redis that lost its last seconds, by a failover or
      -- a cut file, would give the same one again while its first owner still lives.
      local time = redis.call('TIME')
      local now = time[1] * 1000 + math.floor(time[2] / 1000)
      local last = tonumber(redis.call('GET', KEYS[2]) or 0)
      local epoch = string.format('%.0f', math.max(last + 1, now))
      redis.call('SET', KEYS[2], epoch)
      redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
      return { 1, epoch, redis.call('GET', KEYS[3]) }
      """#,
    isSafeToRepeat: true)

  static let renewLeaseScript = RedisScript(
    name: "renewLease",
    source: #"""
      #!lua flags=allow-oom
      -- Keeps a partition, if nobody took it over.
      -- KEYS 1 lease, 2 epoch
      -- ARGV 1 node, 2 epoch of the owner, 3 life of the lease (ms)
      -- Answers {1}, or {0, epoch}: lost
      local epoch = redis.call('GET', KEYS[2]) or '0'
      local holder = redis.call('GET', KEYS[1])
      if epoch ~= ARGV[2] or holder and holder ~= ARGV[1] then return { 0, tonumber(epoch) } end
      redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[3])
      return { 1 }
      """#,
    isSafeToRepeat: true)

  static let releaseLeaseScript = RedisScript(
    name: "releaseLease",
    source: #"""
      #!lua flags=allow-oom
      -- Gives a partition up, if it is still the node's.
      -- KEYS 1 lease, 2 epoch
      -- ARGV 1 node, 2 epoch of the owner
      -- Answers 1 given up, 0 it was not the node's
      if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
      if redis.call('GET', KEYS[2]) ~= ARGV[2] then return 0 end
      return redis.call('DEL', KEYS[1])
      """#,
    isSafeToRepeat: true)
}

extension Epoch {
  static func read(_ value: RESPValue) throws(RedisError) -> Epoch {
    let number = try value.integerValue()
    guard number >= 0 else { throw value.unexpected("an epoch") }
    return Epoch(number)
  }
}
