package import Clocks
import Synchronization
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
  /// What the owner calls this connection, in replies.
  package nonisolated let label: Int
  /// The loop's; asked for several times a request, so it is looked up once.
  package nonisolated let unownedExecutor: UnownedSerialExecutor

  let configuration: HTTP2ClientConfiguration
  let session: HTTP2ClientSession
  let stream: ByteStream
  let waiters = Pinned(ExchangeWaiters())
  var feeds: [ExchangeFeed] = []
  /// Why no new request is taken; nil while they are.
  var drainReason: ExchangeFailure?
  package internal(set) var goAway: GoAway?
  package internal(set) var isClosed = false
  /// When the last request began or ended.
  package internal(set) var lastUsed: Moment
  // Liveness.
  var lastReceived: Moment
  var deadlineTimer: (timer: LoopTimer, at: Moment)?
  /// No request has an earlier one.
  var nextDeadline = Moment.distantFuture
  var livenessTimer: (timer: LoopTimer, at: Moment)?
  /// When the first of the requests that are open now was sent.
  var busySince: Moment
  var probeSentAt: Moment?
  var pings: [PendingPing] = []
  var nextPing: UInt64 = 1
  var ready: UnsafeContinuation<Result<Void, HTTP2ConnectError>, Never>?
  var hasSettings = false
  var closeWaiters: [UnsafeContinuation<Void, Never>] = []
  var announcedLimit = 0
  var closeReason = ""
  var onEvent: @Sendable (HTTP2ClientEvent) -> Void
  var onOutcome: (@Sendable (ExchangeOutcome) -> Void)?

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
  ///   - label: the connection's name in replies.
  ///   - onEvent: called on the loop.
  ///   - onOutcome: told on the loop what becomes of each request, before whoever asked for it.
  package static func connect(
    to endpoint: Endpoint, tls: TLSClientContext?, serverName: String? = nil,
    configuration: HTTP2ClientConfiguration = HTTP2ClientConfiguration(), on loop: EventLoop,
    label: Int = 0, onEvent: @escaping @Sendable (HTTP2ClientEvent) -> Void = { _ in },
    onOutcome: (@Sendable (ExchangeOutcome) -> Void)? = nil
  ) async throws(HTTP2ConnectError) -> HTTP2Client {
    let stream: ByteStream
    if let proxy = configuration.proxy, case .tcp(let host, let port) = endpoint {
      stream = try await ProxyTunnel.open(
        to: host, port: port, through: proxy, tls: tls, serverName: serverName ?? host,
        options: configuration.connect, on: loop)
    } else {
      do throws(StreamError) {
        stream = try await StreamConnector.connect(
          to: endpoint, tls: tls, serverName: serverName, options: configuration.connect, on: loop)
      } catch {
        throw .stream(error)
      }
    }
    let client = HTTP2Client(stream, configuration, label, onEvent, onOutcome)
    try await client.begin(isTLS: tls != nil)
    return client
  }

  private init(
    _ stream: ByteStream, _ configuration: HTTP2ClientConfiguration, _ label: Int,
    _ onEvent: @escaping @Sendable (HTTP2ClientEvent) -> Void,
    _ onOutcome: (@Sendable (ExchangeOutcome) -> Void)?
  ) {
    self.stream = stream
    self.configuration = configuration
    self.label = label
    self.onEvent = onEvent
    self.onOutcome = onOutcome
    loop = stream.loop
    unownedExecutor = stream.loop.serial.asUnownedSerialExecutor()
    peer = stream.peer
    session = HTTP2ClientSession(
      limits: configuration.limits,
      settings: [.initialWindowSize(UInt32(configuration.streamWindowBytes))],
      connectionWindowBytes: configuration.connectionWindowBytes,
      firstStreamID: configuration.firstStreamID)
    lastUsed = MonotonicClock.now()
    lastReceived = lastUsed
    busySince = lastUsed
  }

  private func begin(isTLS: Bool) async throws(HTTP2ConnectError) {
    guard stream.isOpen else {
      throw .closedEarly(endpoint: peer, reason: "it was cut behind the handshake", nil)
    }
    guard !isTLS || stream.alpn == "h2" else {
      let agreed = stream.alpn
      stream.abort()
      throw .noHTTP2(endpoint: peer, agreed: agreed)
    }
    let result = await withTaskCancellationHandler {
      await withUnsafeContinuation { continuation in
        ready = continuation
        let span = configuration.connect.deadline
        let overdue = HTTP2ConnectError.silent(endpoint: peer, seconds: span.inSeconds)
        _ = loop.schedule(at: loop.now + span) {
          self.assumeIsolated { $0.noSettings(overdue) }
        }
        stream.start(self)
        stream.setNeedsFlush()
        if Task.isCancelled { noSettings(.stream(.cancelled)) }
      }
    } onCancel: {
      loop.execute { self.assumeIsolated { $0.noSettings(.stream(.cancelled)) } }
    }
    try result.get()
    armLiveness()
  }

  // MARK: State

  /// How many requests may be open at once: the peer's limit or our own, whichever is less.
  package var streamLimit: Int { min(configuration.maxInFlight, session.peerMaxConcurrentStreams) }
  /// Streams that are open, also those of requests that were given up just now.
  package var activeStreams: Int { waiters.value.inFlightCount }
  package var queued: Int { waiters.value.queuedCount }
  /// Whether requests are still taken.
  package var isDraining: Bool { drainReason != nil }
  /// Slots in use, for tests of leaks.
  package var slotsInUse: Int { session.slotsInUse }

  // MARK: Requests

  /// Sends one request and waits for its answer.
  ///
  /// - Parameter deadline: bounds the wait for a stream and the answer together, from now on. When
  ///   it passes the stream is reset. The same happens when the task is cancelled.
  package nonisolated func send(
    _ request: HTTPRequest, deadline: Duration
  ) async -> ExchangeOutcome {
    do throws(ExchangeFailure) {
      let template = try RequestTemplate(request)
      return await send(template, body: request.body, deadline: MonotonicClock.now() + deadline)
    } catch {
      return .notSent(error)
    }
  }

  /// Sends one of many alike requests.
  ///
  /// Called from a task that prefers the loop it costs no change of executor, of which an actor's
  /// own method would make four.
  ///
  /// - Parameters:
  ///   - values: one for each of the template's ``RequestTemplate/volatileNames``.
  ///   - body: shared, not copied: a fan-out gives the same array to all.
  ///   - deadline: on the machine's monotonic clock.
  package nonisolated func send(
    _ template: RequestTemplate, values: FieldValues = [], body: [UInt8], deadline: Moment
  ) async -> ExchangeOutcome {
    guard template.accepts(values) else { return .notSent(.unfitValues(template)) }
    return await ExchangeCall.reply(
      from: self, template, values: values, body: body, deadline: deadline
    ).outcome
  }

  /// Sends many alike requests and waits for all of them.
  ///
  /// - Parameter deadline: bounds the whole batch. What has no answer by then is reset, what has no
  ///   stream by then is not sent.
  /// - Returns: an outcome for each item, in the order of the items.
  package func sendAll(
    _ template: RequestTemplate, _ items: [BatchItem], deadline: Duration
  ) async -> [ExchangeOutcome] {
    let list = ExchangeList(items)
    let reason = await carry(list, template, deadline: loop.now + deadline)
    return list.outcomes(rest: .notSent(reason ?? .cancelled))
  }

  /// Takes requests from a source whenever a stream is free and no single request waits, so that a
  /// source of any size holds no place in the queue.
  ///
  /// - Parameter deadline: on the machine's monotonic clock. What has no answer by then is reset,
  ///   and no more is taken. The same happens when the task is cancelled.
  /// - Returns: when all that was taken has ended: nil when the source is empty, or why no more was
  ///   taken from it.
  package func carry(
    _ source: any ExchangeSource, _ template: RequestTemplate, deadline: Moment
  ) async -> ExchangeFailure? {
    let feed = ExchangeFeed(source: source, template: template, deadline: deadline)
    return await withTaskCancellationHandler {
      await withUnsafeContinuation { continuation in
        feed.continuation = continuation
        start(feed)
      }
    } onCancel: {
      loop.execute { self.assumeIsolated { $0.cancel(feed) } }
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
}

extension HTTP2Client: ExchangeTaker {
  package nonisolated func takeOnLoop(_ call: ExchangeCall) {
    onLoop(loop, call) { $0.begin($1) }
  }

  package nonisolated func cancelOnLoop(_ ticket: ExchangeTicket) {
    assumeIsolated { $0.cancel(ticket) }
  }
}

extension ExchangeFailure {
  package static func unfitValues(_ template: RequestTemplate) -> ExchangeFailure {
    ExchangeFailure(
      .malformedRequest,
      "The values for \(template.volatileNames) are too few or too many, or may not travel.")
  }

  static let cancelled = ExchangeFailure(.cancelled, "The task that waited was cancelled.")
}
