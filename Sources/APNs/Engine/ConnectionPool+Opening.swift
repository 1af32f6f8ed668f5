import Clocks
import HTTP
import Transport

/// How a pool gets its connections.
extension ConnectionPool {
  func open() {
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
    connecting = Task(executorPreference: loop.tasks) { await self.connect(connection) }
  }

  private func connect(_ connection: Connection) async {
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
      connection.lastUsed = loop.now
      connection.limit = await client.streamLimit
      opening = nil
      failuresInARow = 0
      counters.opened += 1
      counters.connectProblem = nil
      if isClosed {
        await client.close()
        connecting = nil
        return
      }
      if connection.isUsable { connections.append(connection) } else { lost(connection) }
    } catch {
      opening = nil
      failuresInARow += 1
      counters.failedToOpen += 1
      counters.connectProblem = "\(error)"
      backoff.failed(at: loop.now, using: &random)
    }
    // Before what may open the next one, whose task is then the pool's.
    connecting = nil
    connectionsChanged()
  }

  /// While anyone waits, there is always a connection on its way, unless no more may be opened.
  func openForWaiters() {
    if !waiters.isEmpty, usableCount < configuration.maxConnections { open() }
  }

  func connectionsChanged() {
    wakeForRoom()
    openForWaiters()
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
}
