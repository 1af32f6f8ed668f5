package import Transport

/// Reads many streams as they grow, each from its own position, over one connection of its own.
///
/// The positions live here: an entry is returned once, and after a lost connection reading goes on
/// where it was. Nothing is remembered on the server, so who restarts must bring the positions.
package actor StreamTail {
  package nonisolated var unownedExecutor: UnownedSerialExecutor {
    loop.serial.asUnownedSerialExecutor()
  }

  package nonisolated let loop: EventLoop
  private let reading: RedisClient
  /// For ending a wait that began before a stream was added.
  private let commands: RedisClient
  private let count: Int
  private let block: Duration
  private var positions: [String: StreamID] = [:]
  /// Counts reads; odd while one is under way.
  private var reads = 0
  /// The read that is being called back because its positions are old.
  private var outdatedRead: Int?
  private var idle: UnsafeContinuation<Void, Never>?
  private var isClosed = false

  /// - Parameters:
  ///   - configuration: for the connection that blocks.
  ///   - commands: a client for everything else, on the same loop; not closed with this.
  ///   - count: entries of each stream in one read.
  ///   - block: the longest wait on the server; only a bound for noticing that it is gone.
  ///   - onEvent: hears of the connection that blocks, for logs; called on the loop.
  package init(
    configuration: RedisConfiguration, commands: RedisClient, count: Int = 256,
    block: Duration = .seconds(2),
    onEvent: @escaping @Sendable (RedisClientEvent) -> Void = { _ in }
  ) {
    loop = commands.loop
    self.commands = commands
    self.count = count
    self.block = block
    reading = RedisClient(
      configuration: configuration, loop: commands.loop, onEvent: onEvent)
  }

  /// Reads `key` too, or reads it from another position.
  package func follow(_ key: String, after position: StreamID) {
    positions[key] = position
    noteChange()
  }

  /// Adds several streams in one step.
  package func follow(_ cursors: [(key: String, after: StreamID)]) {
    for cursor in cursors { positions[cursor.key] = cursor.after }
    noteChange()
  }

  /// Reads `key` no more. A batch of it that is being returned at this moment may still come.
  package func forget(_ key: String) { positions[key] = nil }

  /// What the next read of `key` starts behind; nil when it is not followed.
  package func position(of key: String) -> StreamID? { positions[key] }

  /// The next entries, of one stream or several, in order within each; waits until there are any.
  ///
  /// - Throws: ``RedisError`` when the server refuses, when there was no connection for a whole
  ///   deadline, or when closed; the positions then stand where they stood, and calling again is
  ///   right except after closing.
  package func next() async throws(RedisError) -> [StreamBatch] {
    while true {
      if positions.isEmpty, !isClosed { await waitForAStream() }
      let asked = positions
      let cursors = asked.map { (key: $0.key, after: $0.value) }
      reads += 1
      defer { reads += 1 }
      let command = RedisCommand.xread(cursors, count: count, block: block)
      let deadline = block + reading.configuration.commandDeadline
      let batches = try await reading.call(command, deadline: deadline).streamBatches()
      // Forgotten or moved while the server was asked: not what the caller wants any more.
      let wanted = batches.filter { batch in
        positions[batch.key].map { $0 == asked[batch.key] } ?? false
      }
      for batch in wanted { positions[batch.key] = batch.entries.last?.id }
      if !wanted.isEmpty { return wanted }
    }
  }

  /// Ends it; a call of ``next()`` that waits throws.
  package func close() async {
    isClosed = true
    await reading.close(atOnce: true)
    idle.take()?.resume()
  }

  private func waitForAStream() async {
    await withUnsafeContinuation { continuation in
      if positions.isEmpty, !isClosed { idle = continuation } else { continuation.resume() }
    }
  }

  /// Lets a caller of ``next()`` see new positions at once: wakes it, or calls back its read.
  private func noteChange() {
    idle.take()?.resume()
    guard !reads.isMultiple(of: 2), outdatedRead != reads else { return }
    outdatedRead = reads
    let read = reads
    Task(executorPreference: loop.tasks) { await self.callBack(read) }
  }

  /// Ends the server's wait for a read. The read may not have reached the server yet, or its
  /// connection not be there, and then there is nothing to end: so asks until the read is over.
  private func callBack(_ read: Int) async {
    var pause = Duration.milliseconds(5)
    while reads == read {
      if let number = await reading.greeting?.clientID {
        let command = RedisCommand("CLIENT", "UNBLOCK", number).repeatable()
        let reply = try? await commands.call(command)
        // Done, or not allowed: then the new positions wait for the end of the present block.
        guard reply == .integer(0) else { return }
      }
      try? await loop.sleep(for: pause)
      pause = min(pause * 2, .milliseconds(500))
    }
  }
}
