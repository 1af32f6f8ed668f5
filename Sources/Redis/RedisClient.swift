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
/// it ends, and led to where a locator says that the server is then.
///
/// Calls made while there is no connection wait for one until their deadline. What was not sent is
/// sent on the next connection; what may have been carried out is sent again only if the command
/// says that this does no harm (``RedisCommand/isRepeatable``), and otherwise reported as
/// ``RedisError/unknownOutcome(_:)``. A command that the server refuses for the moment, since it
/// reads its data or is busy with a script, is sent again after a pause.
///
/// Its connection lives until ``close(atOnce:)``, also when nobody holds the client any more.
package actor RedisClient: ConnectedRedis {
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
  /// Where the last connection led, if that was wrong.
  private var astray: RedisConfiguration?
  private let locator: (any RedisLocator)?
  private let onEvent: @Sendable (RedisClientEvent) -> Void

  package nonisolated var isCluster: Bool { false }

  /// - Parameters:
  ///   - locator: says where each connection is to lead; nil for the configuration's server.
  ///   - onEvent: called on the loop; must not block.
  package init(
    configuration: RedisConfiguration, locator: (any RedisLocator)? = nil, loop: EventLoop,
    onEvent: @escaping @Sendable (RedisClientEvent) -> Void = { _ in }
  ) {
    self.configuration = configuration
    self.locator = locator
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
  nonisolated func present() -> RedisConnection? {
    loop.isOnLoop ? connectionOnLoop : nil
  }

  nonisolated var now: Moment { loop.isOnLoop ? loop.now : MonotonicClock.now() }

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
    noticeAstray(error, connection)
    guard mayRepeat(error, isRepeatable: command.isRepeatable), await pause(after: error, end)
    else { throw error }
    return try await callSlowly(command, before: end)
  }

  /// Lets a passing refusal pass.
  ///
  /// - Returns: whether there is time for another try.
  func pause(after error: RedisError, _ end: Moment) async -> Bool {
    guard error.refusal != nil else { return loop.now < end }
    let pause = Duration.milliseconds(Int.random(in: 20...60, using: &generator))
    guard loop.now + pause < end else { return false }
    return (try? await loop.sleep(for: pause)) != nil
  }

  func load(_ script: RedisScript, before end: Moment) async throws(RedisError) {
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

  package nonisolated func closeSoon() {
    loop.execute { self.assumeIsolated { $0.close(atOnce: true) } }
  }

  /// Ends the connection; a new one is made at once. For tests, and for one that leads astray.
  package func reconnect() {
    if case .connected(let connection) = state { connection.assumeIsolated { $0.abort() } }
  }

  /// Ends the connection if it leads elsewhere than to `address`.
  func leave(unlessAt address: RedisAddress) {
    guard case .connected(let connection) = state, connection.configuration.address != "\(address)"
    else { return }
    connection.assumeIsolated { $0.abort() }
  }

  /// Closes; calls under way may finish if that takes no long. What is left then may be repeated
  /// elsewhere.
  func retire() {
    guard case .connected(let connection) = state else { return close() }
    close()
    _ = loop.schedule(at: loop.now + .milliseconds(500)) {
      connection.assumeIsolated { $0.abort() }
    }
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
      let connection = try await RedisConnection.connect(
        configuration, by: locator, astray: astray.take(), loop: loop)
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

  func mayRepeat(_ error: RedisError, isRepeatable: Bool) -> Bool {
    if case .closed = state { return false }
    switch error {
    case .refused(let refusal):
      return refusal.isPassing || locator != nil && refusal.leadsElsewhere
    case .notSent(let failure): return failure.kind == .lost || failure.kind == .closing
    case .unknownOutcome(let failure):
      return isRepeatable && (failure.kind == .lost || failure.kind == .notReplicated)
    default: return false
    }
  }

  /// A primary that became a replica keeps its connections, and so does a node whose slot has
  /// moved; only a new connection may lead elsewhere.
  func noticeAstray(_ error: RedisError, _ connection: RedisConnection) {
    guard let refusal = error.refusal, refusal.leadsElsewhere,
      refusal.kind == .readOnly || locator != nil,
      case .connected(let present) = state, present === connection
    else { return }
    connection.assumeIsolated { $0.abort() }
    astray = connection.configuration
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

extension RedisRefusal {
  /// Whether another server than the one that refused would take the command.
  fileprivate var leadsElsewhere: Bool {
    switch kind {
    case .readOnly, .moved, .ask: true
    default: false
    }
  }
}
