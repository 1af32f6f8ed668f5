internal import Clocks
package import Transport

/// What happens to a client's connection, for logs and metrics. Texts hold no passwords.
package enum RedisClientEvent: Sendable, Equatable {
  /// - Parameter attempts: how many it took since the last connection.
  case connected(RedisGreeting, attempts: Int)
  case lost(RedisFailure)
  case failedToConnect(RedisError, nextAttemptIn: Duration)
}

/// A Redis server that is there again after it was gone: one connection at a time, made anew when
/// it ends.
///
/// Calls made while there is no connection wait for one until their deadline. What was not sent is
/// sent on the next connection; what may have been carried out is sent again only if the command
/// says that this does no harm (``RedisCommand/isRepeatable``), and otherwise reported as
/// ``RedisError/unknownOutcome(_:)``.
///
/// Its connection lives until ``close(atOnce:)``, also when nobody holds the client any more.
package actor RedisClient {
  package nonisolated var unownedExecutor: UnownedSerialExecutor {
    loop.serial.asUnownedSerialExecutor()
  }

  /// A call that waits for a connection; resumed with nil when it should look again.
  private struct QueuedCall {
    let continuation: UnsafeContinuation<RedisError?, Never>
    let deadline: Moment
  }

  private enum State {
    /// Nobody has asked for anything yet.
    case idle
    case connecting
    case connected(RedisConnection)
    /// Until the next attempt.
    case pausing(LoopTimer)
    case closed
  }

  package nonisolated let loop: EventLoop
  package nonisolated let configuration: RedisConfiguration
  /// How often a connection that had been made was lost.
  package private(set) var losses = 0

  private var state = State.idle {
    didSet {
      if case .connected(let connection) = state {
        connectionOnLoop = connection
      } else {
        connectionOnLoop = nil
      }
    }
  }
  /// The connection in `state`, for calls that are on the loop already and need not enter this
  /// actor. `nonisolated(unsafe)` is right because it is read and written on the loop only.
  private nonisolated(unsafe) var connectionOnLoop: RedisConnection?
  private var queued = FIFO<QueuedCall>()
  private var queueTimer: LoopTimer?
  private var queueTimerMoment = Moment.distantFuture
  private var backoff: Backoff
  private var generator = SystemRandomNumberGenerator()
  private var connectedAt = Moment.distantPast
  private var lastFailure: RedisFailure?
  private let onEvent: @Sendable (RedisClientEvent) -> Void

  /// - Parameter onEvent: called on the loop; must not block.
  package init(
    configuration: RedisConfiguration, loop: EventLoop,
    onEvent: @escaping @Sendable (RedisClientEvent) -> Void = { _ in }
  ) {
    self.configuration = configuration
    self.loop = loop
    self.onEvent = onEvent
    backoff = Backoff(first: configuration.firstBackoff, longest: configuration.longestBackoff)
  }

  // MARK: Calls

  /// Sends a command and waits for its reply.
  ///
  /// - Parameter deadline: for all of it, waiting for a connection and repeating included; the
  ///   configuration's when nil. Give blocking commands one that is longer than their block.
  /// - Throws: ``RedisError/refused(_:)`` for an error reply.
  package nonisolated(nonsending) func call(
    _ command: RedisCommand, deadline: Duration? = nil
  ) async throws(RedisError) -> RESPValue {
    let end = now + (deadline ?? configuration.commandDeadline)
    let isReady = command.script.map { $0.digest != nil } ?? true
    if isReady, let connection = present() {
      switch await connection.reply(to: command, before: end) {
      case .success(let value): return value
      case .failure(let error): return try await again(command, after: error, on: connection, end)
      }
    }
    return try await callSlowly(command, before: end)
  }

  /// The connection, when the caller is on the loop already: then a call need not enter this actor.
  private nonisolated func present() -> RedisConnection? {
    loop.isOnLoop ? connectionOnLoop : nil
  }

  private nonisolated var now: Moment { loop.isOnLoop ? loop.now : MonotonicClock.now() }

  private func callSlowly(
    _ command: RedisCommand, before end: Moment
  ) async throws(RedisError) -> RESPValue {
    if let script = command.script, script.digest == nil { try await load(script, before: end) }
    let connection = try await connection(before: end)
    switch await connection.reply(to: command, before: end) {
    case .success(let value): return value
    case .failure(let error): return try await again(command, after: error, on: connection, end)
    }
  }

  /// Whether a failed command may have another try, and that.
  private func again(
    _ command: RedisCommand, after error: RedisError, on connection: RedisConnection,
    _ end: Moment
  ) async throws(RedisError) -> RESPValue {
    if command.script != nil, error.refusal?.kind == .noScript {
      return try await connection.reply(to: command, inFull: true, before: end).get()
    }
    noticeReplica(error, connection)
    guard mayRepeat(error, isRepeatable: command.isRepeatable), loop.now < end else { throw error }
    return try await callSlowly(command, before: end)
  }

  /// Sends the commands of a batch in one go; see ``RedisBatch`` for what that promises.
  ///
  /// Commands that are sent again, because a connection was lost or a script forgotten, run behind
  /// those of the batch that were answered.
  package nonisolated(nonsending) func callAll(
    _ batch: RedisBatch, deadline: Duration? = nil
  ) async -> [RedisReply] {
    let end = now + (deadline ?? configuration.commandDeadline)
    guard let connection = present(), batch.unknownScripts.isEmpty else {
      return await callAllSlowly(batch, before: end)
    }
    let replies = await connection.callAll(batch, before: end)
    if replies.allSatisfy(\.isSuccess) { return replies }
    return await complete(batch, replies, on: connection, before: end)
  }

  private func callAllSlowly(_ batch: RedisBatch, before end: Moment) async -> [RedisReply] {
    do {
      for script in batch.unknownScripts { try await load(script, before: end) }
      let connection = try await connection(before: end)
      let replies = await connection.callAll(batch, before: end)
      return await complete(batch, replies, on: connection, before: end)
    } catch {
      return Array(repeating: .failure(error), count: batch.count)
    }
  }

  /// Sends again what may have another try, until nothing is left of that or the time is over.
  private func complete(
    _ batch: RedisBatch, _ replies: [RedisReply], on connection: RedisConnection,
    before end: Moment
  ) async -> [RedisReply] {
    var replies = replies
    var connection = connection
    while true {
      if case .failure(let error)? = replies.first(where: \.isReadOnly) {
        noticeReplica(error, connection)
      }
      let indices = replies.indices.filter { mayRepeat(replies[$0], batch[$0]) }
      guard !indices.isEmpty, loop.now < end,
        let next = try? await self.connection(before: end)
      else { return replies }
      connection = next
      // In full, since a server that has forgotten one script has forgotten all.
      let again = await connection.callAll(batch.selection(indices, inFull: true), before: end)
      for (index, reply) in zip(indices, again) { replies[index] = reply }
    }
  }

  private func mayRepeat(_ reply: RedisReply, _ entry: RedisBatch.Entry) -> Bool {
    guard case .failure(let error) = reply else { return false }
    return entry.script != nil && error.refusal?.kind == .noScript
      || mayRepeat(error, isRepeatable: entry.isRepeatable)
  }

  private func load(_ script: RedisScript, before end: Moment) async throws(RedisError) {
    let left = max(end - loop.now, .zero)
    do throws(RedisError) {
      script.remember(digest: try await call(script.loading, deadline: left).stringValue())
    } catch {
      // At its memory limit a server learns no script, but may run one that comes in full.
      guard error.refusal?.kind == .outOfMemory else { throw error }
    }
  }

  // MARK: Life

  /// Begins to connect, if no call has done so yet.
  package func start() {
    if case .idle = state { connect() }
  }

  /// Waits until there is a connection.
  ///
  /// - Throws: ``RedisError/notSent(_:)`` with the last attempt's failure when the deadline passes.
  package func waitUntilConnected(deadline: Duration) async throws(RedisError) {
    _ = try await connection(before: loop.now + deadline)
  }

  package var isConnected: Bool { if case .connected = state { true } else { false } }

  /// Why there is no connection; nil while there is one, or none was asked for.
  package var whyNotConnected: RedisFailure? { isConnected ? nil : lastFailure }

  /// What the server of the present connection said of itself.
  package var greeting: RedisGreeting? {
    guard case .connected(let connection) = state else { return nil }
    return connection.assumeIsolated { $0.greeting }
  }

  /// Takes no more calls. Cannot be undone.
  ///
  /// - Parameter atOnce: ends calls under way too, with an unknown outcome, instead of letting them
  ///   finish within their deadlines.
  package func close(atOnce: Bool = false) {
    let last = state
    state = .closed
    failQueued(closing)
    switch last {
    case .connected(let connection):
      connection.assumeIsolated { atOnce ? $0.abort(as: .closing) : $0.close() }
    case .pausing(let timer): loop.cancel(timer)
    default: break
    }
  }

  /// Ends the connection; a new one is made at once. For tests, and for one that leads astray.
  package func reconnect() {
    if case .connected(let connection) = state { connection.assumeIsolated { $0.abort() } }
  }

  // MARK: Connection

  /// The present connection, or the next one if it comes before `end`.
  func connection(before end: Moment) async throws(RedisError) -> RedisConnection {
    while true {
      switch state {
      case .connected(let connection): return connection
      case .closed: throw .notSent(closing)
      case .idle: connect()
      case .connecting, .pausing: break
      }
      // All checks stand inside, because other jobs may run between the call and the closure.
      let error: RedisError? = await withUnsafeContinuation { continuation in
        if isConnected { return continuation.resume(returning: nil) }
        if case .closed = state { return continuation.resume(returning: .notSent(closing)) }
        guard queued.count < configuration.maxWaiting else {
          return continuation.resume(returning: .notSent(queueFull))
        }
        queued.append(QueuedCall(continuation: continuation, deadline: end))
        if end < queueTimerMoment { armQueueTimer(at: end) }
      }
      if let error { throw error }
    }
  }

  private func connect() {
    state = .connecting
    Task(executorPreference: loop.tasks) { await self.attempt() }
  }

  private func attempt() async {
    do {
      let connection = try await RedisConnection.connect(configuration, loop: loop)
      guard case .connecting = state else { return await connection.abort() }
      adopt(connection)
    } catch {
      guard case .connecting = state else { return }
      lastFailure = error.failure
      let pause = backoff.pause(using: &generator)
      onEvent(.failedToConnect(error, nextAttemptIn: pause))
      connect(after: pause)
    }
  }

  private func adopt(_ connection: RedisConnection) {
    state = .connected(connection)
    connectedAt = loop.now
    // It lives on our loop too, so it can be asked without letting anything come between.
    let greeting = connection.assumeIsolated { connection in
      connection.whenClosed { [weak self] failure in
        self?.assumeIsolated { $0.ended(connection, failure) }
      }
      return connection.greeting
    }
    onEvent(.connected(greeting, attempts: backoff.failures + 1))
    admitQueued()
  }

  private func ended(_ connection: RedisConnection, _ failure: RedisFailure) {
    guard case .connected(let present) = state, present === connection else { return }
    losses += 1
    lastFailure = failure
    backoff.lasted(loop.now - connectedAt)
    onEvent(.lost(failure))
    connect(after: backoff.pause(using: &generator))
  }

  private func connect(after pause: Duration) {
    let timer = loop.schedule(at: loop.now + pause) { [weak self] in
      self?.assumeIsolated { client in
        if case .pausing = client.state { client.connect() }
      }
    }
    state = .pausing(timer)
  }

  private func mayRepeat(_ error: RedisError, isRepeatable: Bool) -> Bool {
    if case .closed = state { return false }
    switch error {
    case .notSent(let failure): return failure.kind == .lost || failure.kind == .closing
    case .unknownOutcome(let failure): return isRepeatable && failure.kind == .lost
    default: return false
    }
  }

  /// A primary that became a replica keeps its connections; only a new one may lead elsewhere.
  private func noticeReplica(_ error: RedisError, _ connection: RedisConnection) {
    guard error.refusal?.kind == .readOnly, case .connected(let present) = state,
      present === connection
    else { return }
    connection.assumeIsolated { $0.abort() }
  }

  // MARK: Waiting calls

  private func admitQueued() {
    while let call = queued.popFirst() { call.continuation.resume(returning: nil) }
  }

  private func failQueued(_ failure: RedisFailure) {
    while let call = queued.popFirst() { call.continuation.resume(returning: .notSent(failure)) }
  }

  private func armQueueTimer(at moment: Moment) {
    if let queueTimer { loop.cancel(queueTimer) }
    queueTimerMoment = moment
    queueTimer = loop.schedule(at: moment) { [weak self] in
      self?.assumeIsolated { $0.queueTimerCame() }
    }
  }

  private func queueTimerCame() {
    queueTimer = nil
    queueTimerMoment = .distantFuture
    let now = loop.now
    let earliest = queued.removeLate(at: now, deadline: \.deadline) { call in
      call.continuation.resume(returning: .notSent(notConnected))
    }
    if earliest < .distantFuture { armQueueTimer(at: max(earliest, now + .milliseconds(10))) }
  }

  private var notConnected: RedisFailure {
    let reason = lastFailure?.description ?? "Connecting takes longer than the deadline."
    return RedisFailure(
      .cannotConnect, "There is no connection to Redis at \(configuration.address). \(reason)",
      refusal: lastFailure?.refusal)
  }

  private var queueFull: RedisFailure {
    RedisFailure(
      .queueFull,
      "\(queued.count) calls wait for a connection to Redis at \(configuration.address) already, "
        + "which is the limit.")
  }

  private var closing: RedisFailure {
    RedisFailure(.closing, "The client for Redis at \(configuration.address) is closed.")
  }
}

extension RedisReply {
  fileprivate var isSuccess: Bool { if case .success = self { true } else { false } }

  fileprivate var isReadOnly: Bool {
    if case .failure(let error) = self { error.refusal?.kind == .readOnly } else { false }
  }
}
