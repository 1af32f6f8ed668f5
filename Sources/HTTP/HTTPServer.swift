import Clocks
package import Transport

/// An HTTP/1.1 server for REST, pages and server-sent events.
///
/// Requests of one connection are answered in their order, one at a time. The handler is async and
/// runs on the loop; it is not cancelled when its client goes away, since what it began may be
/// half done by then.
///
/// `@unchecked Sendable` is right because its state is touched on its loop only.
package final class HTTPServer: @unchecked Sendable {
  package typealias Handler = @Sendable (HTTPRequest, RequestContext) async -> HTTPReply

  /// Counts since the start, for metrics.
  package struct Statistics: Sendable {
    package var connectionsAccepted = 0
    package var connectionsRefused = 0
    package var requestsReceived = 0
    /// Requests that were refused before a handler saw them.
    package var requestsRefused = 0
    /// Connections cut since the client was too slow to send or to read.
    package var slowClientsCut = 0
  }

  package let loop: EventLoop
  let configuration: HTTPServerConfiguration
  let handler: Handler
  let isTLS: Bool
  private var listener: StreamListener?
  private var connections: [ObjectIdentifier: HTTP1Connection] = [:]
  /// How many of them each address has.
  private var connectionsByAddress: [String: Int] = [:]
  private(set) var isDraining = false
  private var drainWaiters: [UnsafeContinuation<Void, Never>] = []
  private var dateText = ""
  private var dateSecond = Int64.min
  var statistics = Statistics()

  /// Begins to listen.
  ///
  /// - Throws: ``SystemError`` when the address is taken or not this machine's.
  package static func start(
    on endpoint: Endpoint, tls: TLSServerContext? = nil,
    configuration: HTTPServerConfiguration = HTTPServerConfiguration(), loop: EventLoop,
    handler: @escaping Handler
  ) async throws(SystemError) -> HTTPServer {
    let server = HTTPServer(
      loop: loop, configuration: configuration, isTLS: tls != nil, handler: handler)
    let listener = try await StreamListener.bind(endpoint, tls: tls, on: loop) { stream in
      server.accept(stream)
    }
    await loop.run { server.listener = listener }
    return server
  }

  private init(
    loop: EventLoop, configuration: HTTPServerConfiguration, isTLS: Bool,
    handler: @escaping Handler
  ) {
    self.loop = loop
    self.configuration = configuration
    self.isTLS = isTLS
    self.handler = handler
  }

  /// The TCP port that it listens on; 0 for a Unix socket.
  package func port() async -> Int { await loop.run { self.listener?.port ?? 0 } }

  /// Shows another certificate to those who connect from now on.
  package func use(_ tls: TLSServerContext) { loop.execute { self.listener?.use(tls) } }

  package func openConnections() async -> Int { await loop.run { self.connections.count } }

  package func counts() async -> Statistics { await loop.run { self.statistics } }

  /// Stops listening, answers what comes on open connections with 503, and returns when the last
  /// handler is done; connections that outlive the grace are cut.
  package func drain(grace: Duration) async {
    await withUnsafeContinuation { continuation in
      loop.execute { self.beginDrain(grace, continuation) }
    }
  }

  private func beginDrain(_ grace: Duration, _ continuation: UnsafeContinuation<Void, Never>) {
    drainWaiters.append(continuation)
    if isDraining { return finishDrainIfIdle() }
    isDraining = true
    listener?.close()
    _ = loop.schedule(at: loop.now + grace) { self.cutAll() }
    for connection in connections.values { connection.serverDrains() }
    finishDrainIfIdle()
  }

  private func cutAll() {
    for connection in connections.values { connection.cut() }
  }

  /// Idle connections stay as long as others are busy, so that a request that is on its way gets
  /// its 503 rather than a closed connection.
  private func finishDrainIfIdle() {
    guard isDraining, connections.values.allSatisfy(\.isIdle) else { return }
    for connection in connections.values { connection.closeIdle() }
    guard connections.isEmpty else { return }
    let waiters = drainWaiters
    drainWaiters = []
    for waiter in waiters { waiter.resume() }
  }

  private func accept(_ stream: ByteStream) {
    let count = connectionsByAddress[stream.peerAddress, default: 0]
    guard connections.count < configuration.maxConnections,
      count < configuration.maxConnectionsOfOnePeer, !isDraining
    else {
      statistics.connectionsRefused += 1
      let refusal = configuration.refusal(
        503, "This server has as many connections as it takes, or takes from one address.")
      stream.write(
        HTTP1Writer.response(refusal, date: date(), withBody: true, closes: true))
      return stream.close()
    }
    statistics.connectionsAccepted += 1
    let connection = HTTP1Connection(stream, server: self)
    connections[ObjectIdentifier(connection)] = connection
    connectionsByAddress[stream.peerAddress] = count + 1
    connection.begin()
  }

  // MARK: What connections call

  func connectionChanged() { if isDraining { finishDrainIfIdle() } }

  func connectionClosed(_ connection: HTTP1Connection) {
    guard connections.removeValue(forKey: ObjectIdentifier(connection)) != nil else { return }
    let address = connection.peerAddress
    let left = connectionsByAddress[address, default: 1] - 1
    connectionsByAddress[address] = left > 0 ? left : nil
    connectionChanged()
  }

  /// The present second as a `date` field, made once a second.
  func date() -> String {
    let wall = WallClock.now()
    if wall.wholeSeconds != dateSecond {
      dateSecond = wall.wholeSeconds
      dateText = HTTPDate.text(wall)
    }
    return dateText
  }
}

extension EventLoop {
  /// Runs `body` on the loop and returns what it returns; from any task.
  func run<Result: Sendable>(_ body: @escaping @Sendable () -> Result) async -> Result {
    await withUnsafeContinuation { continuation in
      if isOnLoop {
        continuation.resume(returning: body())
      } else {
        execute { continuation.resume(returning: body()) }
      }
    }
  }
}
