package import Transport

/// One consumer of a consumer group: entries are handed to one consumer each, and stay its
/// responsibility until acknowledged.
///
/// An entry may come twice (after a crash, or taken over by ``claim(idleFor:)``), and is never
/// skipped: entries that were handed out in a reply that did not reach us are fetched from the
/// group's list of pending ones before any new ones.
package actor StreamGroupReader {
  package nonisolated var unownedExecutor: UnownedSerialExecutor {
    loop.serial.asUnownedSerialExecutor()
  }

  package nonisolated let loop: EventLoop
  package nonisolated let key: String
  package nonisolated let group: String
  package nonisolated let consumer: String
  /// How often the group was found missing and made anew.
  package private(set) var recreations = 0

  private let reading: RedisClient
  private let commands: any ConnectedRedis
  private let count: Int
  private let block: Duration
  private let onGroupLost: @Sendable (StreamID) async -> StreamID
  /// The last entry that was returned, or where the group began.
  private var lastDelivered: StreamID
  /// Set while entries of ours that were not acknowledged are read again, from there on.
  private var recovery: StreamID? = .zero
  private var claimCursor = StreamID.zero
  private var hasGroup = false

  /// - Parameters:
  ///   - configuration: for the connection that blocks.
  ///   - locator: says where that is to lead; nil for the configuration's server.
  ///   - commands: a client for everything else, on the same loop; not closed with this.
  ///   - start: where a group that does not exist yet begins.
  ///   - onGroupLost: is asked where to begin when the group is gone (a flush, a deleted stream);
  ///     gets the last ID that this consumer was given, which is also the default answer, so that
  ///     entries added before the group was made anew are not lost.
  ///   - onEvent: hears of the connection that blocks, for logs; called on the loop.
  package init(
    key: String, group: String, consumer: String, configuration: RedisConfiguration,
    locator: (any RedisLocator)? = nil, commands: any ConnectedRedis, start: StreamID = .zero,
    count: Int = 256, block: Duration = .seconds(2),
    onGroupLost: @escaping @Sendable (StreamID) async -> StreamID = { $0 },
    onEvent: @escaping @Sendable (RedisClientEvent) -> Void = { _ in }
  ) {
    self.key = key
    self.group = group
    self.consumer = consumer
    self.commands = commands
    self.count = count
    self.block = block
    self.onGroupLost = onGroupLost
    lastDelivered = start
    loop = commands.loop
    var configuration = configuration
    // What is handed out and forgotten again is handed out once more.
    configuration.replicas = 0
    reading = RedisClient(
      configuration: configuration, locator: locator, loop: commands.loop, onEvent: onEvent)
  }

  /// The next entries; first those that this consumer was given in an earlier life.
  ///
  /// - Throws: ``RedisError`` when the server refuses, or when there was no connection for a whole
  ///   deadline. Calling again is then right, except after ``close()``.
  package func next() async throws(RedisError) -> [StreamEntry] {
    while true {
      do {
        let entries = try await read()
        hasGroup = true
        if let last = entries.last {
          lastDelivered = max(lastDelivered, last.id)
          if recovery != nil { recovery = last.id }
          return entries
        }
        // Pending entries are at their end, or nothing new came.
        recovery = nil
      } catch {
        try await recover(from: error)
      }
    }
  }

  /// Says that entries are done with; only then will the group forget them.
  package func acknowledge(_ ids: [StreamID]) async throws(RedisError) {
    if ids.isEmpty { return }
    _ = try await commands.call(.xack(key, group: group, ids))
  }

  /// Acknowledges entries, and takes out of the stream what every group of it is done with.
  ///
  /// So the stream's length is what waits. What a group has not been given, or was given and has
  /// not acknowledged, stays with all that came after it.
  package func finish(_ ids: [StreamID]) async throws(RedisError) {
    if ids.isEmpty { return }
    _ = try await commands.call(
      RedisCommand(
        Self.finishScript, keys: [key], arguments: group, Spread(ids)))
  }

  /// Takes over entries that other consumers, or an earlier life of this one, have held for long.
  ///
  /// Each call looks at a part of the pending ones; call it now and then.
  package func claim(idleFor idle: Duration) async throws(RedisError) -> [StreamEntry] {
    let reply = try await commands.call(
      .xautoclaim(
        key, group: group, consumer: consumer, idleFor: idle, from: claimCursor, count: count)
    ).arrayValue()
    guard reply.count >= 2 else {
      throw RESPValue.array(reply).unexpected("a cursor and entries")
    }
    claimCursor = try reply[0].streamIDValue()
    return try reply[1].streamEntries()
  }

  /// Ends it; a call of ``next()`` that waits throws. Entries that were handed out and not
  /// acknowledged stay pending.
  package func close() async {
    await reading.close(atOnce: true)
  }

  /// Ends the connection that blocks if it leads elsewhere than to `address`; reading goes on there.
  func leave(unlessAt address: RedisAddress) {
    reading.assumeIsolated { $0.leave(unlessAt: address) }
  }

  private func read() async throws(RedisError) -> [StreamEntry] {
    let command = RedisCommand.xreadgroup(
      key, group: group, consumer: consumer, after: recovery, count: count, block: block)
    let deadline = block + reading.configuration.commandDeadline
    return try await reading.call(command, deadline: deadline).streamBatches().first?.entries ?? []
  }

  private func recover(from error: RedisError) async throws(RedisError) {
    switch error {
    case .refused(let refusal) where refusal.kind == .noGroup: try await makeGroup()
    case .unknownOutcome(let failure) where failure.kind != .closing:
      // Entries of the lost reply are ours by now; they lie behind the last one that we saw.
      if recovery == nil { recovery = lastDelivered }
    default: throw error
    }
  }

  private func makeGroup() async throws(RedisError) {
    let position = hasGroup ? await onGroupLost(lastDelivered) : lastDelivered
    do {
      _ = try await commands.call(.xgroupCreate(key, group: group, after: position))
      if hasGroup { recreations += 1 }
    } catch {
      // Another consumer was faster.
      guard error.refusal?.kind == .groupExists else { throw error }
    }
  }

  private static let finishScript = RedisScript(
    name: "finish",
    source: #"""
      #!lua flags=allow-oom
      -- Acknowledges entries, and trims the stream behind the oldest that a group still needs.
      -- KEYS 1 the stream; ARGV 1 the group, from 2 on the entries' IDs
      if redis.call('EXISTS', KEYS[1]) == 0 then return 0 end
      for first = 2, #ARGV, 1000 do
        redis.call('XACK', KEYS[1], ARGV[1], unpack(ARGV, first, math.min(first + 999, #ARGV)))
      end
      -- The parts of an ID may be too large for Lua's numbers; as digits they compare well.
      local function is_less(a, b) return #a < #b or #a == #b and a < b end
      local function is_before(a, b)
        local a_ms, a_seq = string.match(a, '^(%d+)-(%d+)$')
        local b_ms, b_seq = string.match(b, '^(%d+)-(%d+)$')
        return is_less(a_ms, b_ms) or a_ms == b_ms and is_less(a_seq, b_seq)
      end
      local needed, last
      for _, facts in ipairs(redis.call('XINFO', 'GROUPS', KEYS[1])) do
        local group = {}
        for i = 1, #facts, 2 do group[facts[i]] = facts[i + 1] end
        local delivered = group['last-delivered-id']
        if group['pending'] > 0 then
          local oldest = redis.call('XPENDING', KEYS[1], group['name'])[2]
          if not needed or is_before(oldest, needed) then needed = oldest end
        end
        if not last or is_before(delivered, last) then last = delivered end
      end
      if not last then return 0 end
      if needed and not is_before(last, needed) then
        return redis.call('XTRIM', KEYS[1], 'MINID', needed)
      end
      -- Up to and with the last one that all groups were given.
      return redis.call('XTRIM', KEYS[1], 'MINID', last) + redis.call('XDEL', KEYS[1], last)
      """#,
    isSafeToRepeat: true)
}
