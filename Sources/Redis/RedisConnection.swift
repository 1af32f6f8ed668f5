internal import Clocks
package import Transport

/// One connection to a Redis server, with as many commands under way as callers like.
///
/// All commands of one turn of the loop leave in one write, and replies are matched to them in
/// order. A command that misses its deadline ends the connection, because the replies behind it
/// can no longer be trusted to come; so does a reply that is not RESP2.
///
/// It does not connect again: that is ``RedisClient``'s work. A call is not ended by cancelling its
/// task; its deadline bounds it.
package actor RedisConnection: StreamHandler {
  package nonisolated var unownedExecutor: UnownedSerialExecutor {
    loop.serial.asUnownedSerialExecutor()
  }

  /// Who waits for replies.
  enum Waiter {
    case one(UnsafeContinuation<RedisReply, Never>)
    case all(UnsafeContinuation<[RedisReply], Never>)
    /// A sign of life, that nobody reads.
    case nobody
    /// How many replicas have confirmed what was sent before.
    case replicas
  }

  struct Pending {
    let waiter: Waiter
    /// How many replies belong to it; all but ``Waiter/all(_:)`` have one.
    let count: Int
    let deadline: Moment
  }

  enum Phase {
    case open
    /// Takes no more calls, and ends when the replies to the ones under way are there.
    case closing
    case closed(RedisFailure)
  }

  package nonisolated let loop: EventLoop
  package nonisolated let configuration: RedisConfiguration
  /// What the server said of itself; set once we are introduced.
  package internal(set) var greeting = RedisGreeting()

  let stream: ByteStream
  var phase = Phase.open
  var pending = FIFO<Pending>()
  var queued = FIFO<Submission>()
  var lastReceived: Moment
  /// When a connection with messages was last asked for a sign of life.
  var askedForLifeAt = Moment.distantPast
  var deadlineTimer: LoopTimer?
  var deadlineTimerMoment = Moment.distantFuture
  var keepAliveTimer: LoopTimer?
  /// Set when the connection carries messages instead of replies.
  var onMessages: (@Sendable ([RESPValue]) -> Void)?
  var isReadingPaused = false
  /// Replicas that must confirm each write before its replies count; 0 until we are introduced.
  var replicasAwaited = 0
  /// Replies that wait for replicas to confirm.
  var held: [HeldReply] = []

  private let reader: RESPReader
  var output = RESPWriter()
  /// How many of the last pending ones still lie in `output`.
  var unflushed = 0
  /// Commands of `pending`, less the replies in `gathered`.
  var inFlight = 0
  /// Replies of a batch at the head of `pending` whose last ones are missing.
  private var gathered: [RedisReply] = []
  private var onClosed: [@Sendable (RedisFailure) -> Void] = []

  init(stream: ByteStream, configuration: RedisConfiguration, loop: EventLoop) {
    self.loop = loop
    self.stream = stream
    self.configuration = configuration
    reader = RESPReader(maxReplyBytes: configuration.maxReplyBytes)
    lastReceived = MonotonicClock.now()
  }

  /// Connects and introduces ourselves: password, name, database, and whether the server is one
  /// that takes writes.
  ///
  /// - Throws: ``RedisError/notSent(_:)`` whose failure says what stood in the way.
  package static func connect(
    _ configuration: RedisConfiguration, loop: EventLoop
  ) async throws(RedisError) -> RedisConnection {
    let end = MonotonicClock.now() + configuration.connectDeadline
    var options = ConnectOptions()
    options.deadline = configuration.connectDeadline
    options.userTimeout = configuration.userTimeout
    let stream: ByteStream
    do {
      stream = try await StreamConnector.connect(
        to: configuration.endpoint, tls: configuration.tls, serverName: configuration.serverName,
        options: options, on: loop)
    } catch {
      throw .notSent(RedisFailure(.cannotConnect, "Redis cannot be reached: \(error)."))
    }
    let connection = RedisConnection(stream: stream, configuration: configuration, loop: loop)
    await connection.open()
    try await connection.introduce(before: end)
    await connection.beginToAwaitReplicas()
    return connection
  }

  private func open() {
    stream.start(self)
    armKeepAlive()
  }

  // MARK: Life

  /// Sends a command to which no reply belongs; only on a connection that carries messages.
  func post(_ command: RedisCommand) {
    guard case .open = phase else { return }
    command.write(to: &output)
    stream.setNeedsFlush()
  }

  /// From now on every value that the server sends goes to `handler`, on the loop.
  func carryMessages(to handler: @escaping @Sendable ([RESPValue]) -> Void) {
    // A sign of life may be under way; its answer will look like any other message.
    while let entry = pending.popFirst() {
      guard case .nobody = entry.waiter else {
        preconditionFailure("commands are under way on a connection for messages")
      }
      inFlight -= 1
    }
    onMessages = handler
  }

  /// Stops taking bytes from the system, so that the server has to hold them.
  func pauseReading() {
    isReadingPaused = true
    stream.pauseReading()
  }

  func resumeReading() {
    guard isReadingPaused else { return }
    isReadingPaused = false
    // The silence until now was ours; it does not count as the server's.
    lastReceived = loop.now
    stream.resumeReading()
  }

  /// Takes no more calls, lets those under way finish (their deadlines bound it), and ends.
  package func close() {
    guard case .open = phase else { return }
    phase = .closing
    failQueued(closing)
    endWhenIdle()
  }

  /// Ends at once; commands under way have an unknown outcome.
  ///
  /// - Parameter kind: what they are told; ``RedisFailure/Kind/lost`` lets a client send again what
  ///   may be repeated.
  package func abort(as kind: RedisFailure.Kind = .lost) {
    end(
      RedisFailure(kind, "We ended the connection to Redis at \(configuration.address)."))
  }

  /// Calls `body` on the loop when the connection has ended, at once if it has.
  package func whenClosed(_ body: @escaping @Sendable (RedisFailure) -> Void) {
    if case .closed(let failure) = phase { body(failure) } else { onClosed.append(body) }
  }

  /// Waits until the connection has ended, and says why it did.
  package func waitUntilClosed() async -> RedisFailure {
    await withUnsafeContinuation { continuation in
      whenClosed { continuation.resume(returning: $0) }
    }
  }

  package var isOpen: Bool { if case .open = phase { true } else { false } }

  /// For metrics: commands whose replies are awaited.
  package var commandsUnderWay: Int { inFlight }
  /// For metrics: calls that wait for room.
  package var callsWaiting: Int { queued.count }

  // MARK: Stream events

  package nonisolated func streamReceived(_ bytes: RawSpan) {
    assumeIsolated { $0.received(bytes) }
  }

  package nonisolated func streamWillFlush() { assumeIsolated { $0.flush() } }

  package nonisolated func streamDrained() { assumeIsolated { $0.admitQueued() } }

  package nonisolated func streamClosed(_ closure: StreamClosure) {
    assumeIsolated { connection in
      connection.end(
        RedisFailure(
          .lost, "The connection to Redis at \(connection.configuration.address) ended: \(closure)."
        ))
    }
  }

  // MARK: Sending

  var isFull: Bool {
    inFlight >= configuration.maxInFlight
      || stream.pendingOutputBytes > configuration.maxOutputBytes
  }

  /// Puts commands into the output, and their waiter into the line.
  func send(_ entry: Pending, _ write: (inout RESPWriter) -> Void) {
    if unflushed == 0 { stream.setNeedsFlush() }
    write(&output)
    pending.append(entry)
    unflushed += 1
    inFlight += entry.count
    if entry.deadline < deadlineTimerMoment { armDeadline(at: entry.deadline) }
  }

  private func flush() {
    guard !output.isEmpty else { return }
    if replicasAwaited > 0 { askForReplicas() }
    stream.write(output.bytes)
    output.removeAll(keepingAtMost: 256 << 10)
    unflushed = 0
  }

  // MARK: Receiving

  private func received(_ bytes: RawSpan) {
    lastReceived = loop.now
    reader.feed(bytes)
    do {
      if let onMessages {
        var messages: [RESPValue] = []
        while let message = try reader.next() { messages.append(message) }
        if !messages.isEmpty { onMessages(messages) }
        return
      }
      while let value = try reader.next() { deliver(value) }
    } catch {
      return end(
        RedisFailure(.protocolViolation, "Redis at \(configuration.address): \(error)"))
    }
    if !queued.isEmpty { admitQueued() }
    if case .closing = phase { endWhenIdle() }
  }

  private func deliver(_ value: RESPValue) {
    guard let head = pending.first else { return unasked(value) }
    inFlight -= 1
    switch head.waiter {
    case .one(let continuation):
      _ = pending.popFirst()
      if replicasAwaited > 0 {
        held.append(.one(continuation, Self.reply(value)))
      } else {
        continuation.resume(returning: Self.reply(value))
      }
    case .all(let continuation):
      if gathered.isEmpty { gathered.reserveCapacity(head.count) }
      gathered.append(Self.reply(value))
      if gathered.count < head.count { return }
      _ = pending.popFirst()
      if replicasAwaited > 0 {
        held.append(.all(continuation, gathered))
      } else {
        continuation.resume(returning: gathered)
      }
      gathered = []
    case .nobody:
      _ = pending.popFirst()
    case .replicas:
      _ = pending.popFirst()
      replicasConfirmed(value)
    }
  }

  /// Servers speak unasked when they turn a new connection away, and say why.
  private func unasked(_ value: RESPValue) {
    if case .error(let refusal) = value {
      end(RedisFailure(.lost, refusal.description, refusal: refusal))
    } else {
      end(
        RedisFailure(
          .protocolViolation,
          "Redis at \(configuration.address) sent \(value.kindName) that nobody had asked for."))
    }
  }

  private static func reply(_ value: RESPValue) -> RedisReply {
    if case .error(let refusal) = value { .failure(.refused(refusal)) } else { .success(value) }
  }

  // MARK: Ending

  var closing: RedisFailure {
    RedisFailure(.closing, "The connection to Redis at \(configuration.address) is being closed.")
  }

  private func endWhenIdle() {
    guard pending.isEmpty else { return }
    end(closing)
  }

  /// Ends the connection and tells everyone who waits.
  ///
  /// - Parameter late: commands whose deadline had passed then; they hear that rather than
  ///   `failure`.
  func end(_ failure: RedisFailure, late: Moment = .distantPast) {
    if case .closed = phase { return }
    phase = .closed(failure)
    cancelTimers()
    failHeld(.unknownOutcome(failure))
    let firstUnsent = pending.count - unflushed
    var index = 0
    while let entry = pending.popFirst() {
      let reason = entry.deadline <= late ? missedDeadline : failure
      Self.fail(
        entry, index == 0 ? gathered : [],
        index < firstUnsent ? .unknownOutcome(reason) : .notSent(reason))
      index += 1
    }
    failQueued(failure)
    if pending.isEmpty, failure.kind == .closing { stream.close() } else { stream.abort() }
    onMessages = nil
    let listeners = onClosed
    onClosed = []
    for listener in listeners { listener(failure) }
  }

  /// - Parameter answered: the replies of a batch that did come.
  static func fail(_ entry: Pending, _ answered: [RedisReply], _ error: RedisError) {
    switch entry.waiter {
    case .one(let continuation): continuation.resume(returning: .failure(error))
    case .all(let continuation):
      let missing = repeatElement(RedisReply.failure(error), count: entry.count - answered.count)
      continuation.resume(returning: answered + missing)
    case .nobody, .replicas: break
    }
  }

  private func failQueued(_ failure: RedisFailure) {
    while let waiting = queued.popFirst() { Self.fail(waiting.entry, [], .notSent(failure)) }
  }
}
