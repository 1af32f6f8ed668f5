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

  let tls: TLSClientContext?
  let configuration: ConnectionPoolConfiguration
  var connections: [Connection] = []
  /// The one that is being opened, one at a time, and the task that does it.
  var opening: Connection?
  var connecting: Task<Void, Never>?
  /// The tasks that wait for the end of connections that take no more requests, by their IDs.
  var farewells: [Int: Task<Void, Never>] = [:]
  var nextID = 0
  var failuresInARow = 0
  var backoff = ReconnectBackoff()
  var retryTimer: LoopTimer?
  var upkeepTimer: LoopTimer?
  var waiters = WaitQueue<Waiter>()
  var isClosed = false
  var random = SystemRandom()
  var counters = ConnectionPoolStatus()

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
    await ExchangeCall.reply(
      from: self, template, values: values, body: body, deadline: deadline)
  }

  private func begin(_ call: ExchangeCall) {
    guard let connection = choose(), let client = connection.client else {
      return call.refuse(Self.noConnection)
    }
    connection.inFlight += 1
    client.onLoop(loop, call) { $0.begin($1) }
  }

  private static let noConnection = ExchangeFailure(.draining, "There is no connection.")

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
    connecting?.cancel()
    let clients = connections.compactMap(\.client)
    for connection in connections { connection.isUsable = false }
    await withTaskGroup(of: Void.self) { group in
      for client in clients {
        group.addTask(executorPreference: loop.tasks) { await client.close(grace: grace) }
      }
    }
    await connecting?.value
    for farewell in farewells.values { await farewell.value }
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

  var usableCount: Int { connections.reduce(0) { $0 + ($1.isUsable ? 1 : 0) } }

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
}

extension ConnectionPool: ExchangeTaker {
  nonisolated func takeOnLoop(_ call: ExchangeCall) { onLoop(loop, call) { $0.begin($1) } }

  nonisolated func cancelOnLoop(_ ticket: ExchangeTicket) { assumeIsolated { $0.cancel(ticket) } }
}
