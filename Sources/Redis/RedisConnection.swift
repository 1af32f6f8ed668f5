package import Clocks
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
  var queued = FIFO<QueuedCall>()
  var lastReceived: Moment
  var deadlineTimer: LoopTimer?
  var deadlineTimerMoment = Moment.distantFuture
  var keepAliveTimer: LoopTimer?
  /// Set when the connection carries messages instead of replies.
  var onMessages: (@Sendable ([RESPValue]) -> Void)?
  var isReadingPaused = false

  private let reader: RESPReader
  private var output = RESPWriter()
  /// How many of the last pending ones still lie in `output`.
  private var unflushed = 0
  /// Commands of `pending`, less the replies in `gathered`.
  private var inFlight = 0
  /// Queued calls that were told to go on and have not come back yet.
  private var admitted = 0
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
    return connection
  }

  private func open() {
    stream.start(self)
    armKeepAlive()
  }

  // MARK: Calls

  /// Sends a command and waits for its reply.
  ///
  /// - Parameter end: when to give up; the connection then ends.
  /// - Throws: also ``RedisError/refused(_:)``, for an error reply.
  package func call(
    _ command: RedisCommand, before end: Moment
  ) async throws(RedisError) -> RESPValue {
    if isFull { try await waitForRoom(before: end) }
    let reply: RedisReply = await withUnsafeContinuation { continuation in
      let pending = Pending(waiter: .one(continuation), count: 1, deadline: end)
      submit(pending) { command.write(to: &$0) }
    }
    return try reply.get()
  }

  /// Like ``call(_:before:)`` with a script's source in place of its digest.
  func callInFull(
    _ command: RedisCommand, before end: Moment
  ) async throws(RedisError) -> RESPValue {
    let reply: RedisReply = await withUnsafeContinuation { continuation in
      let pending = Pending(waiter: .one(continuation), count: 1, deadline: end)
      submit(pending) { command.write(to: &$0, inFull: true) }
    }
    return try reply.get()
  }

  /// Sends all commands of a batch in one go and waits for all replies, in order.
  ///
  /// Throws nothing: each command has its own outcome.
  package func callAll(_ batch: RedisBatch, before end: Moment) async -> [RedisReply] {
    await callAll(count: batch.count, before: end) { batch.write(to: &$0) }
  }

  func callAll(_ selection: RedisBatchSelection, before end: Moment) async -> [RedisReply] {
    await callAll(count: selection.indices.count, before: end) { selection.write(to: &$0) }
  }

  private func callAll(
    count: Int, before end: Moment, write: (inout RESPWriter) -> Void
  ) async -> [RedisReply] {
    if count == 0 { return [] }
    if isFull {
      do { try await waitForRoom(before: end) } catch {
        return Array(repeating: .failure(error), count: count)
      }
    }
    return await withUnsafeContinuation { continuation in
      submit(Pending(waiter: .all(continuation), count: count, deadline: end), write)
    }
  }

  /// Sends a command to which no reply belongs; only on a connection that carries messages.
  func post(_ command: RedisCommand) {
    guard case .open = phase else { return }
    command.write(to: &output)
    stream.setNeedsFlush()
  }

  /// From now on every value that the server sends goes to `handler`, on the loop.
  func carryMessages(to handler: @escaping @Sendable ([RESPValue]) -> Void) {
    precondition(pending.isEmpty, "commands are under way on a connection for messages")
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

  private var isFull: Bool {
    inFlight + admitted >= configuration.maxInFlight || !queued.isEmpty
      || stream.pendingOutputBytes > configuration.maxOutputBytes
  }

  /// Puts a command into the output, and its waiter into the line. Called where the continuation is
  /// made, so that nothing can come between the check and the deed.
  func submit(_ entry: Pending, _ write: (inout RESPWriter) -> Void) {
    switch phase {
    case .open: break
    case .closing: return Self.fail(entry, [], .notSent(closing))
    case .closed(let failure): return Self.fail(entry, [], .notSent(failure))
    }
    if unflushed == 0 { stream.setNeedsFlush() }
    write(&output)
    pending.append(entry)
    unflushed += 1
    inFlight += entry.count
    if entry.deadline < deadlineTimerMoment { armDeadline(at: entry.deadline) }
  }

  private func flush() {
    guard !output.isEmpty else { return }
    stream.write(output.bytes)
    output.removeAll(keepingAtMost: 256 << 10)
    unflushed = 0
  }

  private func waitForRoom(before end: Moment) async throws(RedisError) {
    // All checks stand inside, because other jobs may run between the call and the closure.
    let error: RedisError? = await withUnsafeContinuation { continuation in
      guard case .open = phase else { return continuation.resume(returning: .notSent(closing)) }
      guard queued.count < configuration.maxWaiting else {
        return continuation.resume(returning: .notSent(queueFull))
      }
      queued.append(QueuedCall(continuation: continuation, deadline: end))
      if end < deadlineTimerMoment { armDeadline(at: end) }
      // What made it full may be over by now, and then nothing would ever admit it.
      admitQueued()
    }
    if let error { throw error }
    admitted -= 1
  }

  private func admitQueued() {
    while !queued.isEmpty, inFlight + admitted < configuration.maxInFlight,
      stream.pendingOutputBytes <= configuration.maxOutputBytes,
      let next = queued.popFirst()
    {
      admitted += 1
      next.continuation.resume(returning: nil)
    }
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
      continuation.resume(returning: Self.reply(value))
    case .all(let continuation):
      if gathered.isEmpty { gathered.reserveCapacity(head.count) }
      gathered.append(Self.reply(value))
      if gathered.count < head.count { return }
      _ = pending.popFirst()
      continuation.resume(returning: gathered)
      gathered = []
    case .nobody:
      _ = pending.popFirst()
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

  private var queueFull: RedisFailure {
    RedisFailure(
      .queueFull,
      "\(queued.count) calls wait for room on the connection to Redis at "
        + "\(configuration.address) already, which is the limit.")
  }

  private var closing: RedisFailure {
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
  private static func fail(_ entry: Pending, _ answered: [RedisReply], _ error: RedisError) {
    switch entry.waiter {
    case .one(let continuation): continuation.resume(returning: .failure(error))
    case .all(let continuation):
      let missing = repeatElement(RedisReply.failure(error), count: entry.count - answered.count)
      continuation.resume(returning: answered + missing)
    case .nobody: break
    }
  }

  private func failQueued(_ failure: RedisFailure) {
    while let call = queued.popFirst() { call.continuation.resume(returning: .notSent(failure)) }
  }
}
