import Clocks
import HTTP
import Transport

/// The connections to one host, for one team's key.
///
/// A request goes to the connection with the most room. When that one has none, another is opened;
/// one alone is kept when there is nothing to do. A request that was certainly not processed
/// travels again on another connection, as long as its deadline allows; any other outcome is the
/// caller's.
actor ConnectionPool {
  nonisolated let loop: EventLoop
  nonisolated let host: APNsHost
  nonisolated var unownedExecutor: UnownedSerialExecutor { loop.serial.asUnownedSerialExecutor() }

  /// `@unchecked Sendable` is right because it is touched on its pool's actor only.
  final class Connection: @unchecked Sendable {
    let id: Int
    let openedAt: Moment
    var client: HTTP2Client?
    var limit = 1
    var inFlight = 0
    var isUsable = true
    /// APNs closed it for the credentials, with which another one would be no better.
    var isRejected = false
    /// Whether a request was accepted on it.
    var hasAccepted = false
    /// Whether its end was counted as a failed attempt; it may be announced before it comes.
    var isCounted = false
    var deadlinesInARow = 0
    /// The turn in which the last of these passed.
    var lastDeadline: Moment?
    var lastUsed: Moment

    init(id: Int, openedAt: Moment) {
      self.id = id
      self.openedAt = openedAt
      lastUsed = openedAt
    }
  }

  private struct Waiter {
    var continuation: UnsafeContinuation<ExchangeFailure?, Never>
    var timer: LoopTimer
  }

  private let tls: TLSClientContext?
  let configuration: ConnectionPoolConfiguration
  private var connections: [Connection] = []
  /// The one that is being opened: one at a time.
  private var opening: Connection?
  private var nextID = 0
  private var failuresInARow = 0
  private var backoff = ReconnectBackoff()
  private var retryTimer: LoopTimer?
  private var upkeepTimer: LoopTimer?
  private var waiters = WaitQueue<Waiter>()
  var isClosed = false
  private var random = SystemRandom()
  private var counters = ConnectionPoolStatus()

  /// - Parameter tls: nil speaks plain HTTP/2, which only tests do.
  init(
    host: APNsHost, tls: TLSClientContext?, configuration: ConnectionPoolConfiguration,
    loop: EventLoop
  ) {
    self.host = host
    self.tls = tls
    self.configuration = configuration
    self.loop = loop
  }

  var status: ConnectionPoolStatus {
    var status = counters
    status.host = "\(host)"
    let usable = connections.filter(\.isUsable)
    status.open = usable.count
    status.inFlight = connections.reduce(0) { $0 + $1.inFlight }
    status.streamLimit = usable.reduce(0) { $0 + $1.limit }
    status.waiting = waiters.count
    return status
  }

  // MARK: Requests

  /// Sends a request on a connection of this pool, as long as it takes to find one that takes it.
  ///
  /// - Parameter deadline: on the machine's monotonic clock; bounds everything.
  func send(
    _ template: RequestTemplate, values: FieldValues, body: [UInt8], deadline: Moment
  ) async -> ExchangeReply {
    var attempts = 0
    while true {
      let reply = await attempt(template, values: values, body: body, deadline: deadline)
      guard reply.connection != nil else {
        if let failure = await waitForRoom(until: deadline) {
          return ExchangeReply(.notSent(failure))
        }
        continue
      }
      guard case .notSent(let failure) = reply.outcome, Self.isWorthAnother(failure.kind) else {
        return reply
      }
      attempts += 1
      if isClosed || loop.now >= deadline || attempts >= 32 { return reply }
      if attempts > 1 { await pause(attempts, until: deadline) }
    }
  }

  /// Sends a request if there is a connection that takes it now. Waits once, for the outcome, and
  /// changes no executor, which is most of what a request would cost beside its bytes.
  ///
  /// - Returns: a reply without connection when there is none.
  nonisolated func attempt(
    _ template: RequestTemplate, values: FieldValues, body: [UInt8], deadline: Moment
  ) async -> ExchangeReply {
    let ticket = ExchangeTicket.next()
    return await withTaskCancellationHandler {
      await withUnsafeContinuation { continuation in
        let call = ExchangeCall(
          ticket: ticket, template: template, values: values, body: body, deadline: deadline,
          continuation: continuation)
        if loop.isOnLoop {
          onLoop(loop, call) { $0.begin($1) }
        } else {
          loop.execute { self.assumeIsolated { $0.begin(call) } }
        }
        // A cancellation from before has found no request with this ticket.
        if Task.isCancelled { cancelSoon(ticket) }
      }
    } onCancel: {
      cancelSoon(ticket)
    }
  }

  private func begin(_ call: ExchangeCall) {
    guard let connection = choose(), let client = connection.client else {
      return call.refuse(Self.noConnection)
    }
    connection.inFlight += 1
    client.onLoop(loop, call) { $0.begin($1) }
  }

  private static let noConnection = ExchangeFailure(.draining, "There is no connection.")

  private nonisolated func cancelSoon(_ ticket: ExchangeTicket) {
    loop.execute { self.assumeIsolated { $0.cancel(ticket) } }
  }

  private func cancel(_ ticket: ExchangeTicket) {
    for connection in connections {
      connection.client?.assumeIsolated { $0.cancel(ticket) }
    }
  }

  /// Gives a connection no new requests and closes it when its open ones have ended.
  func retire(_ id: Int) {
    guard let connection = connections.first(where: { $0.id == id && $0.isUsable }) else { return }
    retire(connection)
  }

  /// Replaces all connections, for credentials that APNs no longer takes.
  func retireAll() {
    for connection in connections where connection.isUsable { retire(connection) }
  }

  /// Opens a connection although nobody asked yet, so that the first request does not wait.
  func warmUp() { _ = choose() }

  /// Ends every connection; what is open has `grace` to be answered.
  func close(grace: Duration) async {
    isClosed = true
    let failure = ExchangeFailure(.draining, "The client is being shut down.")
    while let waiter = waiters.popFirst() { end(waiter, failure) }
    stopTimers()
    let clients = connections.compactMap(\.client)
    for connection in connections { connection.isUsable = false }
    await withTaskGroup(of: Void.self) { group in
      for client in clients {
        group.addTask(executorPreference: loop.tasks) { await client.close(grace: grace) }
      }
    }
  }

  // MARK: Choosing

  /// The connection with the most room; sees to it that there will be one.
  ///
  /// - Returns: nil when it is better to wait: there is none, or all are full and another one is
  ///   on its way. Where no other may be opened, requests queue up at the one with the least load.
  func choose() -> Connection? {
    var best: Connection?
    var bestLoad = Double.infinity
    for connection in connections where connection.isUsable {
      let load = Double(connection.inFlight + 1) / Double(max(connection.limit, 1))
      if load < bestLoad {
        best = connection
        bestLoad = load
      }
    }
    if best != nil, bestLoad <= 1 || usableCount >= configuration.maxConnections { return best }
    open()
    return nil
  }

  private var usableCount: Int { connections.reduce(0) { $0 + ($1.isUsable ? 1 : 0) } }

  /// A request has come back from a connection.
  private func ended(_ outcome: ExchangeOutcome, on connection: Connection) {
    learn(outcome, of: connection)
    connection.inFlight -= 1
    connection.lastUsed = loop.now
    if !connection.isUsable {
      lost(connection)
    } else if connection.deadlinesInARow >= configuration.deadlinesBeforeReplacement {
      retire(connection)
    }
    if !waiters.isEmpty { wakeForRoom() }
  }

  /// What an outcome says about the connection that it came over.
  private func learn(_ outcome: ExchangeOutcome, of connection: Connection) {
    switch outcome {
    case .answered(let response):
      connection.deadlinesInARow = 0
      if !connection.hasAccepted, (200..<300).contains(response.status) {
        connection.hasAccepted = true
        backoff.succeeded()
      }
    case .unknown(let failure) where failure.kind == .deadline:
      // All of a batch have one deadline, which says no more about the connection than one request.
      if connection.lastDeadline != loop.now { connection.deadlinesInARow += 1 }
      connection.lastDeadline = loop.now
    case .unknown, .notSent: break
    }
  }

  /// Lets as many go on as there is room for; they choose again.
  private func wakeForRoom() {
    var room = connections.reduce(0) { $0 + ($1.isUsable ? max(0, $1.limit - $1.inFlight) : 0) }
    // Where no more may be opened, they queue up at the connections.
    if usableCount >= configuration.maxConnections { room = .max }
    while room > 0, let waiter = waiters.popFirst() {
      room -= 1
      end(waiter, nil)
    }
  }

  /// Whether a request that was not sent may succeed elsewhere.
  static func isWorthAnother(_ kind: ExchangeFailure.Kind) -> Bool {
    switch kind {
    // Credentials that this connection was closed for are no better on the next one.
    case .goAway(let announcement): announcement.credentialsRefusal == nil
    case .refusedStream, .draining, .connectionLost: true
    case .deadline, .cancelled, .queueFull, .reset, .responseTooLarge, .malformedResponse,
      .malformedRequest:
      false
    }
  }

  /// Waits a little longer each time that a request was turned away.
  func pause(_ attempts: Int, until deadline: Moment) async {
    let wait = Duration.milliseconds(min(5 << min(attempts, 8), 500))
    let spread = Double.random(in: 1..<1.5, using: &random)
    let until = loop.now + .nanoseconds(Int64(Double(wait.wholeNanoseconds) * spread))
    try? await loop.sleep(until: min(until, deadline))
  }

  // MARK: Opening

  private func open() {
    guard opening == nil, !isClosed, retryTimer == nil else { return }
    let now = loop.now
    guard backoff.nextAttempt <= now else {
      retryTimer = loop.schedule(at: backoff.nextAttempt) {
        self.assumeIsolated {
          $0.retryTimer = nil
          if !$0.waiters.isEmpty { $0.open() }
        }
      }
      return
    }
    let connection = Connection(id: nextID, openedAt: now)
    nextID += 1
    opening = connection
    Task(executorPreference: loop.tasks) { await self.connect() }
  }

  private func connect() async {
    guard let connection = opening else { return }
    let id = connection.id
    var http = configuration.http
    http.connect.skipped = failuresInARow
    do throws(HTTP2ConnectError) {
      let client = try await HTTP2Client.connect(
        to: host.target, tls: tls, serverName: host.name, configuration: http,
        on: loop, label: id,
        // Both hold this pool until the connection is closed. A weak reference would do for one of
        // them, and would make every other to this pool slower for good.
        onEvent: { event in self.assumeIsolated { $0.handle(event, of: id) } },
        onOutcome: { outcome in
          self.onLoop(self.loop, (outcome, connection)) { $0.ended($1.0, on: $1.1) }
        })
      connection.client = client
      connection.limit = await client.streamLimit
      opening = nil
      failuresInARow = 0
      counters.opened += 1
      counters.connectProblem = nil
      if isClosed { return await client.close() }
      if connection.isUsable { connections.append(connection) } else { lost(connection) }
    } catch {
      opening = nil
      failuresInARow += 1
      counters.failedToOpen += 1
      counters.connectProblem = "\(error)"
      backoff.failed(at: loop.now, using: &random)
    }
    connectionsChanged()
  }

  private func connectionsChanged() {
    wakeForRoom()
    if !waiters.isEmpty, usableCount < configuration.maxConnections { open() }
    if upkeepTimer == nil, !connections.isEmpty, !isClosed { scheduleUpkeep() }
  }

  // MARK: What connections tell

  private func handle(_ event: HTTP2ClientEvent, of id: Int) {
    let isOpening = opening?.id == id
    guard let connection = isOpening ? opening : connections.first(where: { $0.id == id }) else {
      return
    }
    switch event {
    case .streamLimitChanged(let limit):
      connection.limit = limit
      if !isOpening { wakeForRoom() }
    case .draining(let announcement):
      if let announcement {
        counters.goAways += 1
        counters.goAwayReasons[announcement.reason?.label ?? "none", default: 0] += 1
        connection.isRejected = announcement.credentialsRefusal != nil
      }
      connection.isUsable = false
      replaceIfNeeded(connection)
    case .closed(let reason):
      if connection.isUsable || !isClosed { counters.lastEnd = reason }
      connection.isUsable = false
      connections.removeAll { $0 === connection }
      replaceIfNeeded(connection)
    }
  }

  /// Opens the next connection at once when one in use ends, so that its requests, which come back
  /// in a moment, do not wait for the handshake from its beginning.
  private func replaceIfNeeded(_ connection: Connection) {
    guard connection.client != nil else { return }
    lost(connection)
    if connection.isRejected { return }
    if usableCount == 0, connection.inFlight > 0 || !waiters.isEmpty { open() }
  }

  /// Judges a connection that takes no more requests, once its open ones have ended: their answers
  /// may come behind the news of the end.
  private func lost(_ connection: Connection) {
    guard connection.inFlight == 0, !connection.hasAccepted, !connection.isCounted else { return }
    connection.isCounted = true
    backoff.failed(at: loop.now, using: &random)
  }

  private func retire(_ connection: Connection) {
    connection.isUsable = false
    counters.replaced += 1
    lost(connection)
    guard let client = connection.client else { return }
    let grace = configuration.grace
    Task(executorPreference: loop.tasks) { await client.close(grace: grace) }
    if usableCount == 0, !waiters.isEmpty { open() }
  }

  // MARK: Waiting

  func waitForRoom(until deadline: Moment) async -> ExchangeFailure? {
    if isClosed { return ExchangeFailure(.draining, "The client is being shut down.") }
    let id = nextID
    nextID += 1
    return await withTaskCancellationHandler {
      await withUnsafeContinuation { continuation in
        // Looked at here and not before, since all of a burst may come between there and here.
        if waiters.count >= configuration.maxWaiting {
          return continuation.resume(returning: tooMany)
        }
        let timer = loop.schedule(at: deadline) { self.assumeIsolated { $0.waitedTooLong(id) } }
        waiters.append(Waiter(continuation: continuation, timer: timer), id: id)
        // A connection may have come between the look and this.
        if isClosed || Task.isCancelled { cancelWait(id) } else { connectionsChanged() }
      }
    } onCancel: {
      loop.execute { self.assumeIsolated { $0.cancelWait(id) } }
    }
  }

  private var tooMany: ExchangeFailure {
    ExchangeFailure(
      .queueFull,
      "\(waiters.count) requests wait for a connection to \(host), which is the limit.")
  }

  private func waitedTooLong(_ id: Int) {
    let why = counters.connectProblem ?? counters.lastEnd ?? "none could be opened in time"
    endWait(id, ExchangeFailure(.deadline, "No connection to \(host): \(why)."))
  }

  private func cancelWait(_ id: Int) {
    endWait(id, ExchangeFailure(.cancelled, "The task that waited was cancelled."))
  }

  private func endWait(_ id: Int, _ failure: ExchangeFailure?) {
    if let waiter = waiters.remove(id: id) { end(waiter, failure) }
  }

  private func end(_ waiter: Waiter, _ failure: ExchangeFailure?) {
    loop.cancel(waiter.timer)
    waiter.continuation.resume(returning: failure)
  }

  // MARK: Upkeep

  private func scheduleUpkeep() {
    let interval = max(.milliseconds(10), min(.seconds(5), configuration.idleAfter / 2))
    upkeepTimer = loop.schedule(at: loop.now + interval) {
      self.assumeIsolated { $0.keepUp() }
    }
  }

  private func keepUp() {
    upkeepTimer = nil
    guard !isClosed else { return }
    let now = loop.now
    for connection in connections where connection.isUsable {
      let isIdle = connection.inFlight == 0 && now - connection.lastUsed >= configuration.idleAfter
      let isOld = now - connection.openedAt >= configuration.maxAge
      if isOld || (isIdle && usableCount > 1) { retire(connection) }
    }
    if !connections.isEmpty { scheduleUpkeep() }
  }

  private func stopTimers() {
    if let retryTimer { loop.cancel(retryTimer) }
    if let upkeepTimer { loop.cancel(upkeepTimer) }
    retryTimer = nil
    upkeepTimer = nil
  }
}
