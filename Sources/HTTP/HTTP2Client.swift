package import Clocks
package import Transport

/// One HTTP/2 connection to a server, with requests as async calls.
///
/// It decides nothing about retries and opens no second connection: that is a pool's work, which
/// learns by ``HTTP2ClientEvent`` when this one is at its end. Every request has exactly one
/// ``ExchangeOutcome``, whatever happens to the connection.
///
/// The peer's limit of open streams is obeyed, also when it is lowered; requests above it wait in
/// a bounded queue. All that is asked for in one turn of the loop leaves in one write.
package actor HTTP2Client {
  package nonisolated let loop: EventLoop
  package nonisolated let peer: String
  package nonisolated var unownedExecutor: UnownedSerialExecutor {
    loop.serial.asUnownedSerialExecutor()
  }

  let configuration: HTTP2ClientConfiguration
  let session: HTTP2ClientSession
  let stream: ByteStream
  var waiters = ExchangeWaiters()
  var batches: [ExchangeBatch] = []
  /// Why no new request is taken; nil while they are.
  var drainReason: ExchangeFailure?
  package internal(set) var goAway: GoAway?
  package internal(set) var isClosed = false
  /// When the last request began or ended.
  package internal(set) var lastUsed: Moment
  // Liveness.
  var lastReceived: Moment
  var deadlineTimer: (timer: LoopTimer, at: Moment)?
  var livenessTimer: LoopTimer?
  var probeSentAt: Moment?
  var pings: [PendingPing] = []
  var nextPing: UInt64 = 1
  private var ready: UnsafeContinuation<Result<Void, HTTP2ConnectError>, Never>?
  private var hasSettings = false
  private var closeWaiters: [UnsafeContinuation<Void, Never>] = []
  private var announcedLimit = 0
  var closeReason = ""
  private let onEvent: @Sendable (HTTP2ClientEvent) -> Void

  struct PendingPing {
    var payload: UInt64
    var sentAt: Moment
    var continuation: UnsafeContinuation<Duration?, Never>
  }

  /// Connects, and waits for the peer's first settings: only they say how many streams it takes.
  ///
  /// - Parameters:
  ///   - tls: must offer `h2` by ALPN. Nil speaks HTTP/2 in plain text, by prior knowledge.
  ///   - serverName: the name that the certificate must carry; the endpoint's host when nil.
  ///   - onEvent: called on the loop.
  package static func connect(
    to endpoint: Endpoint, tls: TLSClientContext?, serverName: String? = nil,
    configuration: HTTP2ClientConfiguration = HTTP2ClientConfiguration(), on loop: EventLoop,
    onEvent: @escaping @Sendable (HTTP2ClientEvent) -> Void = { _ in }
  ) async throws(HTTP2ConnectError) -> HTTP2Client {
    let stream: ByteStream
    do {
      stream = try await StreamConnector.connect(
        to: endpoint, tls: tls, serverName: serverName, options: configuration.connect, on: loop)
    } catch {
      throw .stream(error)
    }
    return try await over(
      stream, isTLS: tls != nil, configuration: configuration, onEvent: onEvent)
  }

  /// Speaks HTTP/2 over a stream that is connected, for one behind a proxy.
  package static func over(
    _ stream: ByteStream, isTLS: Bool,
    configuration: HTTP2ClientConfiguration = HTTP2ClientConfiguration(),
    onEvent: @escaping @Sendable (HTTP2ClientEvent) -> Void = { _ in }
  ) async throws(HTTP2ConnectError) -> HTTP2Client {
    let client = HTTP2Client(stream, configuration, onEvent)
    try await client.begin(isTLS: isTLS)
    return client
  }

  private init(
    _ stream: ByteStream, _ configuration: HTTP2ClientConfiguration,
    _ onEvent: @escaping @Sendable (HTTP2ClientEvent) -> Void
  ) {
    self.stream = stream
    self.configuration = configuration
    self.onEvent = onEvent
    loop = stream.loop
    peer = stream.peer
    session = HTTP2ClientSession(
      limits: configuration.limits,
      settings: [.initialWindowSize(UInt32(configuration.streamWindowBytes))],
      connectionWindowBytes: configuration.connectionWindowBytes,
      firstStreamID: configuration.firstStreamID)
    lastUsed = MonotonicClock.now()
    lastReceived = lastUsed
  }

  private func begin(isTLS: Bool) async throws(HTTP2ConnectError) {
    guard !isTLS || stream.alpn == "h2" else {
      let agreed = stream.alpn
      stream.abort()
      throw .noHTTP2(endpoint: peer, agreed: agreed)
    }
    let result = await withUnsafeContinuation { continuation in
      ready = continuation
      let seconds = configuration.connect.deadline.inSeconds
      _ = loop.schedule(at: loop.now + configuration.connect.deadline) {
        self.assumeIsolated { $0.settingsOverdue(seconds) }
      }
      stream.start(self)
      stream.setNeedsFlush()
    }
    try result.get()
    armLiveness()
  }

  // MARK: State

  /// How many requests may be open at once: the peer's limit or our own, whichever is less.
  package var streamLimit: Int { min(configuration.maxInFlight, session.peerMaxConcurrentStreams) }
  /// Streams that are open, also those of requests that were given up just now.
  package var activeStreams: Int { waiters.inFlightCount }
  package var queued: Int { waiters.queuedCount }
  /// Whether requests are still taken.
  package var isDraining: Bool { drainReason != nil }
  /// Slots in use, for tests of leaks.
  package var slotsInUse: Int { session.slotsInUse }

  // MARK: Requests

  /// Sends one request and waits for its answer.
  ///
  /// - Parameter deadline: bounds the wait for a stream and the answer together, from now on. When
  ///   it passes the stream is reset. The same happens when the task is cancelled.
  package func send(_ request: HTTPRequest, deadline: Duration) async -> ExchangeOutcome {
    do throws(ExchangeFailure) {
      let template = try RequestTemplate(request)
      return await send(template, values: [], body: request.body, deadline: deadline)
    } catch {
      return .notSent(error)
    }
  }

  /// Sends one of many alike requests.
  ///
  /// - Parameters:
  ///   - values: one for each of the template's ``RequestTemplate/volatileNames``.
  ///   - body: shared, not copied: a fan-out gives the same array to all.
  package func send(
    _ template: RequestTemplate, values: [String] = [], body: [UInt8], deadline: Duration
  ) async -> ExchangeOutcome {
    if let refusal = refusal(template, values) { return .notSent(refusal) }
    lastUsed = loop.now
    let at = lastUsed + deadline
    let ticket = waiters.reserve(
      session.prepare(template, values: values, body: body), deadline: at)
    watchDeadline(at)
    return await withTaskCancellationHandler {
      await withUnsafeContinuation { continuation in
        // Between the reservation and this closure other jobs may have run.
        start(ticket.index, continuation)
      }
    } onCancel: {
      loop.execute { self.assumeIsolated { $0.cancel(ticket) } }
    }
  }

  /// Sends many alike requests and waits for all of them.
  ///
  /// - Parameter deadline: bounds the whole batch. What has no answer by then is reset, what has no
  ///   stream by then is not sent.
  /// - Returns: an outcome for each item, in the order of the items.
  package func sendAll(
    _ template: RequestTemplate, _ items: [BatchItem], deadline: Duration
  ) async -> [ExchangeOutcome] {
    let batch = ExchangeBatch(template: template, items: items, deadline: loop.now + deadline)
    return await withTaskCancellationHandler {
      await withUnsafeContinuation { continuation in
        batch.continuation = continuation
        start(batch)
      }
    } onCancel: {
      loop.execute { self.assumeIsolated { $0.cancel(batch) } }
    }
  }

  /// Takes no new requests, lets the open and waiting ones end, and closes.
  ///
  /// - Parameter grace: what is still open after it is cut off.
  /// - Returns: when the connection is closed.
  package func close(grace: Duration = .zero) async {
    if isClosed { return }
    drain(ExchangeFailure(.draining, "This connection is being closed."), nil)
    let deadline = loop.now + grace
    _ = loop.schedule(at: deadline) { self.assumeIsolated { $0.closeNow("closed by us") } }
    closeIfDone()
    await withUnsafeContinuation { continuation in
      if isClosed { continuation.resume() } else { closeWaiters.append(continuation) }
    }
  }

  // MARK: From request to stream

  private func refusal(_ template: RequestTemplate, _ values: [String]) -> ExchangeFailure? {
    if let drainReason { return drainReason }
    guard template.accepts(values) else {
      return ExchangeFailure(
        .malformedRequest,
        "A value of \(template.volatileNames) has a character that may not travel, or one is missing."
      )
    }
    guard waiters.queuedCount < configuration.maxQueued || mayStart else {
      return ExchangeFailure(
        .queueFull, "\(waiters.queuedCount) requests wait for a stream already, which is the limit."
      )
    }
    return nil
  }

  private var mayStart: Bool { waiters.first == nil && waiters.inFlightCount < streamLimit }

  private func start(
    _ index: Int, _ continuation: UnsafeContinuation<ExchangeOutcome, Never>
  ) {
    if case .decided(let outcome) = waiters.slots[index].completion {
      waiters.setCompletion(index, .none)
      waiters.free(index)
      session.discard(index)
      continuation.resume(returning: outcome)
      return
    }
    waiters.setCompletion(index, .task(continuation))
    if mayStart { submit(index) } else { waiters.enqueue(index) }
  }

  private func start(_ batch: ExchangeBatch) {
    if let drainReason { batch.finishRest(.notSent(drainReason)) }
    if batch.isCancelled { batch.finishRest(.notSent(.cancelled)) }
    guard batch.hasItems else { return batch.resumeIfDone() }
    batches.append(batch)
    watchDeadline(batch.deadline)
    pump()
  }

  /// Gives free streams to those that wait longest, then to batches by turns.
  func pump() {
    while stream.isOpen, waiters.inFlightCount < streamLimit {
      if let index = waiters.first {
        waiters.dequeue(index)
        submit(index)
      } else if !submitFromBatch() {
        return
      }
    }
  }

  private func submitFromBatch() -> Bool {
    guard let batch = batches.popLast() else { return false }
    lastUsed = loop.now
    let item = batch.takeItem()
    if batch.hasItems { batches.insert(batch, at: 0) }
    guard batch.template.accepts(batch.items[item].values) else {
      batch.finish(item, .notSent(ExchangeFailure(.malformedRequest, "A value may not travel.")))
      return true
    }
    let index = session.prepare(
      batch.template, values: batch.items[item].values, body: batch.items[item].body)
    _ = waiters.reserve(index, deadline: batch.deadline)
    waiters.setCompletion(index, .batch(batch, item))
    submit(index)
    return true
  }

  private func submit(_ index: Int) {
    guard session.submit(index) else {
      let reason = ExchangeFailure(.draining, "This connection has no stream ID left.")
      finish(index, .notSent(reason))
      drain(reason, nil)
      refuseWaiting(.notSent(reason))
      return
    }
    waiters.began(index)
    stream.setNeedsFlush()
  }

  // MARK: From stream to outcome

  /// Ends a request that has no stream, or whose stream shall be reset.
  func finish(_ index: Int, _ outcome: ExchangeOutcome) {
    let completion = waiters.complete(index)
    switch waiters.phase(index) {
    case .free, .abandoned: return
    case .reserved:
      switch completion {
      case .none:
        // Its task does not wait yet, and will find this when it does.
        return waiters.setCompletion(index, .decided(outcome))
      case .decided: return waiters.setCompletion(index, completion)
      case .task, .batch:
        waiters.free(index)
        session.discard(index)
      }
    case .queued:
      waiters.dequeue(index)
      waiters.free(index)
      session.discard(index)
    case .inFlight:
      waiters.abandon(index)
      session.cancel(index)
      stream.setNeedsFlush()
    }
    resume(completion, outcome)
  }

  private func resume(_ completion: ExchangeWaiters.Completion, _ outcome: ExchangeOutcome) {
    switch completion {
    case .none, .decided: break
    case .task(let continuation): continuation.resume(returning: outcome)
    case .batch(let batch, let item): batch.finish(item, outcome)
    }
  }

  private func cancel(_ ticket: ExchangeWaiters.Ticket) {
    guard waiters.isCurrent(ticket) else { return }
    let isInFlight = waiters.phase(ticket.index) == .inFlight
    finish(ticket.index, isInFlight ? .unknown(.cancelled) : .notSent(.cancelled))
  }

  private func cancel(_ batch: ExchangeBatch) {
    batch.isCancelled = true
    batches.removeAll { $0 === batch }
    batch.finishRest(.notSent(.cancelled))
    for index in waiters.slots.indices {
      guard case .batch(let owner, _) = waiters.slots[index].completion, owner === batch else {
        continue
      }
      finish(index, .unknown(.cancelled))
    }
  }

  /// Ends everything that has no stream.
  private func refuseWaiting(_ outcome: ExchangeOutcome) {
    while let index = waiters.first { finish(index, outcome) }
    let waiting = batches
    batches = []
    for batch in waiting { batch.finishRest(outcome) }
  }

  // MARK: The connection

  private func settingsOverdue(_ seconds: Double) {
    guard !hasSettings, !isClosed else { return }
    resumeReady(.failure(.silent(endpoint: peer, seconds: seconds)))
    closeNow("no settings came")
  }

  private func resumeReady(_ result: Result<Void, HTTP2ConnectError>) {
    ready?.resume(returning: result)
    ready = nil
  }

  private func received(_ bytes: RawSpan) {
    lastReceived = loop.now
    do throws(HTTP2ProtocolError) {
      try session.receive(bytes)
    } catch {
      return closeNow("the peer breaks the rules of HTTP/2: \(session.fault ?? "\(error)")")
    }
    session.takeEvents { handle($0) }
    if settleClosed() { lastUsed = lastReceived }
    pump()
    stream.setNeedsFlush()
    closeIfDone()
  }

  private func handle(_ event: HTTP2ClientSession.Event) {
    switch event {
    case .settingsReceived:
      hasSettings = true
      resumeReady(.success(()))
      announceLimit()
    case .goAwayReceived(let announcement):
      goAway = announcement
      drain(.goingAway(announcement), announcement)
      refuseWaiting(.notSent(.goingAway(announcement)))
    case .pingAcknowledged(let payload): pingAnswered(payload)
    }
  }

  private func announceLimit() {
    guard streamLimit != announcedLimit else { return }
    announcedLimit = streamLimit
    onEvent(.streamLimitChanged(streamLimit))
  }

  private func drain(_ reason: ExchangeFailure, _ announcement: GoAway?) {
    if drainReason == nil { onEvent(.draining(announcement)) }
    drainReason = reason
  }

  private func closeIfDone() {
    guard !isClosed else { return }
    if session.isFinished {
      let said = session.fault.map { "the peer breaks the rules of HTTP/2: \($0)" }
      closeNow(
        goAway.map { ExchangeFailure.goingAway($0).message } ?? said ?? "both sides are done")
    } else if drainReason != nil, waiters.inFlightCount == 0, waiters.queuedCount == 0,
      batches.isEmpty
    {
      session.announceEnd()
      closeNow(drainReason?.message ?? "")
    }
  }

  /// Writes what is still to be said, and closes.
  func closeNow(_ reason: String) {
    guard !isClosed, stream.isOpen else { return }
    if closeReason.isEmpty { closeReason = reason }
    drain(ExchangeFailure(.connectionLost, "The connection to \(peer) ended: \(reason)."), goAway)
    flushOutput()
    stream.close()
  }

  private func flushOutput() {
    do throws(HTTP2ProtocolError) {
      try session.takeOutput { bytes in
        stream.write(bytes)
        return stream.pendingOutputBytes < ByteStream.highMark
      }
    } catch {
      closeReason = "\(error)"
      stream.abort()
    }
    // A reset that we send closes its stream as it is written.
    guard settleClosed() else { return }
    pump()
    closeIfDone()
  }

  /// - Returns: whether any stream had ended.
  private func settleClosed() -> Bool {
    var hasEnded = false
    session.takeClosed { index, outcome in
      hasEnded = true
      let completion = waiters.complete(index)
      waiters.streamEnded(index)
      resume(completion, outcome)
    }
    return hasEnded
  }

  private func ended(_ closure: StreamClosure) {
    isClosed = true
    _ = settleClosed()
    if closeReason.isEmpty || closure != .byUs { closeReason = "\(closure)" }
    let failure =
      goAway.map { ExchangeFailure.goingAway($0) }
      ?? ExchangeFailure(.connectionLost, "The connection to \(peer) ended: \(closeReason).")
    drainReason = failure
    resumeReady(.failure(.closedEarly(endpoint: peer, reason: closeReason, goAway)))
    stopTimers()
    refuseWaiting(.notSent(failure))
    abandonStreams(failure)
    onEvent(.closed(reason: closeReason))
    for waiter in closeWaiters { waiter.resume() }
    closeWaiters = []
  }

  private func abandonStreams(_ failure: ExchangeFailure) {
    for index in waiters.slots.indices {
      switch waiters.phase(index) {
      case .inFlight, .abandoned:
        let completion = waiters.complete(index)
        waiters.streamEnded(index)
        resume(completion, session.abandon(index, failure))
      case .reserved: finish(index, .notSent(failure))
      case .free, .queued: break
      }
    }
  }
}

extension HTTP2Client: StreamHandler {
  package nonisolated func streamReceived(_ bytes: RawSpan) {
    assumeIsolated { $0.received(bytes) }
  }

  package nonisolated func streamWillFlush() { assumeIsolated { $0.flushOutput() } }

  package nonisolated func streamDrained() { assumeIsolated { $0.flushOutput() } }

  package nonisolated func streamClosed(_ closure: StreamClosure) {
    assumeIsolated { $0.ended(closure) }
  }
}

extension ExchangeFailure {
  static let cancelled = ExchangeFailure(.cancelled, "The task that waited was cancelled.")
}
