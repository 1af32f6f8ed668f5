import Crypto
import HTTP
import Testing
import Transport

/// An HTTP/2 server that does with each request what a test says.
///
/// `@unchecked Sendable` is right because its state is touched on its loop only.
final class ScriptedServer: HTTP2ServerDelegate, @unchecked Sendable {
  typealias Script = @Sendable (HTTP2ServerConnection, HTTPRequest, Int32) -> Void

  let loop: EventLoop
  private var listener: StreamListener?
  private var script: Script
  private let configuration: HTTP2ServerConfiguration
  private var connections: [HTTP2ServerConnection] = []
  private var received = 0
  private var closed = 0
  private var pings = 0
  private var waiters:
    [(condition: (ScriptedServer) -> Bool, go: UnsafeContinuation<Void, Never>)] =
      []

  private init(loop: EventLoop, configuration: HTTP2ServerConfiguration, script: @escaping Script) {
    self.loop = loop
    self.configuration = configuration
    self.script = script
  }

  static func start(
    tls: TLSServerContext? = nil,
    configuration: HTTP2ServerConfiguration = HTTP2ServerConfiguration(),
    script: @escaping Script = { connection, _, stream in
      connection.respond(stream: stream, status: 200)
    }
  ) async throws -> ScriptedServer {
    let loop = try EventLoop(name: "server")
    let server = ScriptedServer(loop: loop, configuration: configuration, script: script)
    server.listener = try await StreamListener.bind(
      .tcp(host: "127.0.0.1", port: 0), tls: tls, on: loop
    ) { [unowned server] stream in
      server.connections.append(
        HTTP2ServerConnection(stream, configuration: server.configuration, delegate: server))
      server.look()
    }
    return server
  }

  var endpoint: Endpoint { .tcp(host: "127.0.0.1", port: listener?.port ?? 0) }

  /// Runs `body` on the server's loop with its last connection.
  func onLast<Result: Sendable>(
    _ body: @escaping @Sendable (HTTP2ServerConnection) -> Result
  ) async -> Result {
    await withUnsafeContinuation { continuation in
      loop.execute {
        continuation.resume(returning: body(self.connections[self.connections.count - 1]))
      }
    }
  }

  /// Waits until so many requests came, on all connections together.
  func requestsReceived(_ count: Int) async { await wait { $0.received >= count } }
  func pingsReceived(_ count: Int) async { await wait { $0.pings >= count } }
  func connectionsClosed(_ count: Int) async { await wait { $0.closed >= count } }
  func streamsOpen(_ count: Int) async {
    await wait { $0.connections.map(\.openStreams).reduce(0, +) == count }
  }

  func requestCount() async -> Int {
    await withUnsafeContinuation { continuation in
      loop.execute { continuation.resume(returning: self.received) }
    }
  }

  func stop() {
    listener?.close()
    loop.execute {
      for connection in self.connections { connection.abort() }
      self.loop.stop()
    }
  }

  private func wait(until condition: @escaping @Sendable (ScriptedServer) -> Bool) async {
    await withUnsafeContinuation { continuation in
      loop.execute {
        self.waiters.append((condition, continuation))
        self.look()
      }
    }
  }

  private func look() {
    for waiter in waiters where waiter.condition(self) { waiter.go.resume() }
    waiters.removeAll { $0.condition(self) }
  }

  func connection(_ connection: HTTP2ServerConnection, received request: HTTPRequest, stream: Int32)
  {
    received += 1
    script(connection, request, stream)
    look()
  }

  func connection(_ connection: HTTP2ServerConnection, closedStream: Int32, errorCode: UInt32) {
    look()
  }

  func connection(
    _ connection: HTTP2ServerConnection, noticed event: HTTP2ServerSession.Event
  ) {
    if case .pingReceived = event { pings += 1 }
    look()
  }

  func connectionClosed(_ connection: HTTP2ServerConnection, reason: String) {
    closed += 1
    look()
  }
}

/// A certificate authority for one test run, and contexts of both sides.
struct TestTLS {
  let server: TLSServerContext
  let client: TLSClientContext

  static func make(
    serverALPN: [String] = ["h2"], clientALPN: [String] = ["h2"]
  ) throws -> TestTLS {
    let validity = CertificateAuthority.Validity.days(
      1, fromSeconds: WallClock.now().wholeSeconds)
    let authority = try CertificateAuthority(commonName: "Test authority", validity: validity)
    let issued = try authority.issue(
      .server, names: [.dns("localhost"), .ip("127.0.0.1")], validity: validity)
    let identity = TLSIdentity(
      certificateChainPEM: issued.chainPEM, privateKeyPEM: issued.privateKeyPEM)
    return TestTLS(
      server: try TLSServerContext(identity: identity, alpn: serverALPN),
      client: try TLSClientContext(trust: .pem(authority.certificatePEM()), alpn: clientALPN))
  }
}

/// What a client told its owner, and how to wait for the end of it.
final class EventLog: Sendable {
  private struct State {
    var reason: String?
    var waiters: [UnsafeContinuation<String, Never>] = []
  }
  private let state = Lock(State())

  func note(_ event: HTTP2ClientEvent) {
    guard case .closed(let reason) = event else { return }
    state.withLock { state in
      #expect(state.reason == nil, "a connection is closed once")
      state.reason = reason
      for waiter in state.waiters { waiter.resume(returning: reason) }
      state.waiters = []
    }
  }

  /// Waits until the connection is closed, and says why it was.
  @discardableResult
  func closed() async -> String {
    await withUnsafeContinuation { continuation in
      let known: String? = state.withLock { state in
        if state.reason == nil { state.waiters.append(continuation) }
        return state.reason
      }
      if let known { continuation.resume(returning: known) }
    }
  }
}
