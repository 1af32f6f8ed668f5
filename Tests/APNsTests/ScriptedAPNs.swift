import Clocks
import Crypto
import HTTP
import Synchronization
import Testing
import Transport

@testable import APNs

/// What the scripted server does with one request. Written by the tests, so that it shares no
/// reading of Apple's pages with the client.
enum Deed: Sendable {
  case accept
  case answer(Int, String, HTTPFields = [:])
  case silence
  /// Accepted, but not before ``ScriptedAPNs/release()``.
  case hold
  case reset(UInt32)
  /// GOAWAY with this last stream, or the present one; nothing is answered.
  case goAway(last: Int32?, reason: String)
  /// The connection is cut.
  case abort
  /// Nothing more is read from the connection, as on a server that hangs.
  case hang
}

/// A request as the server saw it.
struct Seen: Sendable {
  var connection: Int
  var stream: Int32
  var request: HTTPRequest
  /// Of the client's certificate.
  var subject: String?

  var authorization: String { request.fields["authorization"] ?? "" }
}

/// A server behind TLS that answers as a script says, with one stream until a token was accepted.
///
/// `@unchecked Sendable` is right because its state is touched on its loop only.
final class ScriptedAPNs: HTTP2ServerDelegate, @unchecked Sendable {
  typealias Script = @Sendable (Seen, _ count: Int) -> Deed

  let loop: EventLoop
  let trust: TLSTrust
  private let script: Script
  private let raisesLimitTo: UInt32?
  private var listener: StreamListener?
  private var connections: [HTTP2ServerConnection] = []
  private var raised: Set<ObjectIdentifier> = []
  private var seen: [Seen] = []
  private var closed = 0
  private var held: [(HTTP2ServerConnection, Int32, HTTPRequest)] = []
  /// Codes of the streams that ended otherwise than by their answer.
  private var resets: [UInt32] = []
  private var mostOpen = 0
  private var waiters: [(condition: (ScriptedAPNs) -> Bool, go: UnsafeContinuation<Void, Never>)] =
    []

  private init(
    loop: EventLoop, trust: TLSTrust, raisesLimitTo: UInt32?, script: @escaping Script
  ) {
    self.loop = loop
    self.trust = trust
    self.raisesLimitTo = raisesLimitTo
    self.script = script
  }

  /// - Parameters:
  ///   - raisesLimitTo: streams allowed after the first accepted request; before it is 1.
  ///   - authority: signs the server's certificate; one of its own when nil.
  ///   - age: how long ago the certificate was made, which is valid for a day.
  static func start(
    raisesLimitTo: UInt32? = 100, names: [CertificateAuthority.SubjectName] = [.dns("localhost")],
    alpn: [String] = ["h2"], clientTrustPEM: [UInt8]? = nil,
    authority: CertificateAuthority? = nil, age: Duration = .zero, address: String = "127.0.0.1",
    port: Int = 0, script: @escaping Script = { _, _ in .accept },
    configure: @escaping @Sendable (inout HTTP2ServerConfiguration) -> Void = { _ in }
  ) async throws -> ScriptedAPNs {
    let now = WallClock.now()
    let authority = try authority ?? makeAuthority()
    let issued = try authority.issue(
      .server, names: names, validity: .days(1, fromSeconds: (now - age).wholeSeconds))
    let tls = try TLSServerContext(
      identity: TLSIdentity(
        certificateChainPEM: issued.chainPEM, privateKeyPEM: issued.privateKeyPEM), alpn: alpn,
      clientTrustPEM: clientTrustPEM)
    let server = ScriptedAPNs(
      loop: try EventLoop(name: "apns"), trust: .pem(try authority.certificatePEM()),
      raisesLimitTo: raisesLimitTo, script: script)
    server.listener = try await StreamListener.bind(
      .tcp(host: address, port: port), tls: tls, on: server.loop
    ) { [unowned server] stream in
      var configuration = HTTP2ServerConfiguration()
      configuration.settings = [.maxConcurrentStreams(server.raisesLimitTo == nil ? 1_000 : 1)]
      configure(&configuration)
      server.connections.append(
        HTTP2ServerConnection(stream, configuration: configuration, delegate: server))
      server.look()
    }
    return server
  }

  static func makeAuthority() throws -> CertificateAuthority {
    try CertificateAuthority(
      commonName: "Test authority", validity: .days(1, fromSeconds: WallClock.now().wholeSeconds))
  }

  var port: Int { listener?.port ?? 0 }

  var host: APNsHost {
    APNsHost(name: "localhost", port: 443, endpoint: .tcp(host: "127.0.0.1", port: port))
  }

  var hosts: APNsHosts { APNsHosts(push: host, management: host, trust: trust) }

  func requests() async -> [Seen] { await onLoop { $0.seen } }
  func connectionCount() async -> Int { await onLoop { $0.connections.count } }
  /// The most streams that were open on one connection when a request came.
  func mostOpenStreams() async -> Int { await onLoop { $0.mostOpen } }

  /// Waits until so many requests came in all.
  func received(_ count: Int) async { await wait { $0.seen.count >= count } }
  /// Waits until so many connections are over.
  func connectionsClosed(_ count: Int) async { await wait { $0.closed >= count } }
  /// Waits until so many connections are open at once, and no more are.
  func connectionsOpen(_ count: Int) async {
    await wait { $0.connections.count - $0.closed == count }
  }
  /// Waits until so many streams were reset, and tells their codes.
  func streamsReset(_ count: Int) async -> [UInt32] {
    await wait { $0.resets.count >= count }
    return await onLoop { $0.resets }
  }

  /// Answers what is held back.
  func release() async {
    await onLoop { server in
      for (connection, stream, request) in server.held {
        server.perform(.accept, connection, stream, request)
      }
      server.held = []
    }
  }

  /// Waits for something that comes in a moment, and on a busy machine within half a minute. What
  /// does not is an issue of the test, which then goes on.
  private func wait(until condition: @escaping @Sendable (ScriptedAPNs) -> Bool) async {
    let mayEnd = Lock(false)
    await withUnsafeContinuation { continuation in
      loop.execute {
        _ = self.loop.schedule(at: self.loop.now + .seconds(30)) {
          mayEnd.withLock { $0 = true }
          self.look()
        }
        self.waiters.append(({ condition($0) || mayEnd.withLock { $0 } }, continuation))
        self.look()
      }
    }
    if mayEnd.withLock({ $0 }) { Issue.record("the server waited 30 s in vain") }
  }

  private func look() {
    let ready = waiters.filter { $0.condition(self) }
    waiters.removeAll { $0.condition(self) }
    for waiter in ready { waiter.go.resume() }
  }

  /// Does something with the connections that were made, the latest last.
  func onConnections(_ body: @escaping @Sendable ([HTTP2ServerConnection]) -> Void) async {
    await onLoop { body($0.connections) }
  }

  func stop() {
    listener?.close()
    loop.execute {
      for connection in self.connections { connection.abort() }
      self.loop.stop()
    }
  }

  private func onLoop<Value: Sendable>(
    _ body: @escaping @Sendable (ScriptedAPNs) -> Value
  ) async -> Value {
    await withUnsafeContinuation { continuation in
      loop.execute { continuation.resume(returning: body(self)) }
    }
  }

  func connection(_ connection: HTTP2ServerConnection, received request: HTTPRequest, stream: Int32)
  {
    let index = connections.firstIndex { $0 === connection } ?? -1
    let arrival = Seen(
      connection: index, stream: stream, request: request, subject: connection.peerSubject)
    seen.append(arrival)
    mostOpen = max(mostOpen, connection.openStreams)
    perform(script(arrival, seen.count), connection, stream, request)
    look()
  }

  func connection(
    _ connection: HTTP2ServerConnection, closedStream: Int32, errorCode: UInt32
  ) {
    guard errorCode != 0 else { return }
    resets.append(errorCode)
    look()
  }

  func connectionClosed(_ connection: HTTP2ServerConnection, reason: String) {
    closed += 1
    look()
  }

  private func perform(
    _ deed: Deed, _ connection: HTTP2ServerConnection, _ stream: Int32, _ request: HTTPRequest
  ) {
    let id = request.fields["apns-request-id"] ?? request.fields["apns-id"] ?? "?"
    switch deed {
    case .accept:
      connection.respond(
        stream: stream, status: 200,
        fields: ["apns-request-id": id, "apns-id": id, "apns-unique-id": "u-\(seen.count)"])
      if let raisesLimitTo, raised.insert(ObjectIdentifier(connection)).inserted {
        connection.submitSettings(maxConcurrentStreams: raisesLimitTo)
      }
    case .answer(let status, let body, let fields):
      connection.respond(stream: stream, status: status, fields: fields, body: Array(body.utf8))
    case .silence: break
    case .hold: held.append((connection, stream, request))
    case .reset(let code): connection.reset(stream: stream, errorCode: code)
    case .goAway(let last, let reason):
      connection.goAway(
        lastStreamID: last, debugData: Array(#"{"reason":"\#(reason)"}"#.utf8))
    case .abort: connection.abort()
    case .hang: connection.stopReading()
    }
  }

  static func refusal(_ status: Int, _ reason: String, _ fields: HTTPFields = [:]) -> Deed {
    .answer(status, #"{"reason":"\#(reason)"}"#, fields)
  }
}

/// A client of a scripted server, with what a test wants to look at.
struct ClientBench {
  let client: APNsClient
  let credentials: ProviderCredentials
  let server: ScriptedAPNs
  let loop: EventLoop

  static let channel = "dHN0LXNyY2gtY2hubA=="

  init(
    _ server: ScriptedAPNs, hosts: APNsHosts? = nil,
    configuration: APNsClientConfiguration = APNsClientConfiguration(),
    clock: ServiceClock = ServiceClock(), credentials own: APNsCredentials? = nil
  ) throws {
    self.server = server
    loop = try EventLoop(name: "client")
    let key = try ProviderKey(teamID: "TEAM123456", keyID: "KEY1234567", key: .generate())
    credentials = ProviderCredentials(key: key, clock: clock)
    client = try APNsClient(
      app: APNsApp(bundleID: BundleID("com.example.trains"), environment: .development),
      hosts: hosts ?? server.hosts, credentials: own ?? .token(credentials), clock: clock,
      configuration: configuration, loop: loop)
  }

  /// Sends a broadcast whose body is `{"n":<number>}`.
  func broadcast(
    _ number: Int = 0, keepUntil: UnixTime? = nil, deadline: Duration = .seconds(10)
  ) async throws -> BroadcastResult {
    let broadcast = Broadcast(
      to: try #require(ChannelID(Self.channel)), storage: .mostRecent, priority: .considerate,
      keepUntil: keepUntil, payload: Array(#"{"n":\#(number)}"#.utf8))
    return await client.broadcast(broadcast, deadline: deadline)
  }

  func expectAccepted(
    _ number: Int = 0, at location: SourceLocation = #_sourceLocation
  ) async throws {
    let result = try await broadcast(number)
    #expect(result.isAccepted, "\(result)", sourceLocation: location)
  }

  func stop() async {
    await client.close(grace: .zero)
    server.stop()
    loop.stop()
  }
}

extension Push {
  /// An alert with this body, whatever it is.
  static func alert(_ payload: [UInt8] = Array("{}".utf8)) throws -> Push {
    Push(try PushOptions(.alert), payload: payload)
  }
}

extension BroadcastResult {
  var isAccepted: Bool { if case .accepted = self { true } else { false } }
  var refusal: APNsRefusal? { if case .refused(let refusal) = self { refusal } else { nil } }

  var isNotSent: Bool { notSent != nil }
  var isUnknown: Bool { unknown != nil }
  var notSent: APNsFailure? { if case .notSent(let failure) = self { failure } else { nil } }
  var unknown: APNsFailure? { if case .unknown(let failure) = self { failure } else { nil } }
}

/// Runs a test against a scripted server and takes both down after it.
func withBench(
  _ server: ScriptedAPNs, configuration: APNsClientConfiguration = APNsClientConfiguration(),
  clock: ServiceClock = ServiceClock(), credentials: APNsCredentials? = nil,
  hosts: APNsHosts? = nil, _ body: (ClientBench) async throws -> Void
) async throws {
  let bench = try ClientBench(
    server, hosts: hosts, configuration: configuration, clock: clock, credentials: credentials)
  do {
    try await body(bench)
  } catch {
    await bench.stop()
    throw error
  }
  await bench.stop()
}

extension [BroadcastResult] {
  var areAllAccepted: Bool { allSatisfy(\.isAccepted) }
}
