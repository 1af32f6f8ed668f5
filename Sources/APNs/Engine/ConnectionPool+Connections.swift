import Clocks
import HTTP
import Transport

/// One connection of a pool, and what is known of it.
extension ConnectionPool {
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

  // MARK: Requests that end

  /// A request has come back from a connection.
  func ended(_ outcome: ExchangeOutcome, on connection: Connection) {
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

  // MARK: Its end

  /// Opens the next connection at once when one in use ends, so that its requests, which come back
  /// in a moment, do not wait for the handshake from its beginning.
  func replaceIfNeeded(_ connection: Connection) {
    guard connection.client != nil else { return }
    lost(connection)
    if connection.isRejected { return }
    if usableCount == 0, connection.inFlight > 0 { open() }
    openForWaiters()
  }

  /// Judges a connection that takes no more requests, once its open ones have ended: their answers
  /// may come behind the news of the end.
  func lost(_ connection: Connection) {
    guard connection.inFlight == 0, !connection.hasAccepted, !connection.isCounted else { return }
    connection.isCounted = true
    backoff.failed(at: loop.now, using: &random)
  }

  func retire(_ connection: Connection) {
    connection.isUsable = false
    counters.replaced += 1
    lost(connection)
    guard let client = connection.client else { return }
    let id = connection.id
    farewells[id] = Task(executorPreference: loop.tasks) {
      await self.sayFarewell(to: client, id)
    }
    openForWaiters()
  }

  private func sayFarewell(to client: HTTP2Client, _ id: Int) async {
    await client.close(grace: configuration.grace)
    farewells[id] = nil
  }

  // MARK: Upkeep

  func scheduleUpkeep() {
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

  func stopTimers() {
    if let retryTimer { loop.cancel(retryTimer) }
    if let upkeepTimer { loop.cancel(upkeepTimer) }
    retryTimer = nil
    upkeepTimer = nil
  }
}
