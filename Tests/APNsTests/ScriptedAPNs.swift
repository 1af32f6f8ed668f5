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
  case reset(UInt32)
  /// GOAWAY with this last stream, or the present one; nothing is answered.
  case goAway(last: Int32?, reason: String)
  /// The connection is cut.
  case abort
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
  private var mostOpen = 0
  private var waiters: [(count: Int, go: UnsafeContinuation<Void, Never>)] = []

  private init(
    loop: EventLoop, trust: TLSTrust, raisesLimitTo: UInt32?, script: @escaping Script
  ) {
    self.loop = loop
    self.trust = trust
    self.raisesLimitTo = raisesLimitTo
    self.script = script
  }

  /// - Parameter raisesLimitTo: streams allowed after the first accepted request; before it is 1.
  static func start(
    raisesLimitTo: UInt32? = 100, names: [CertificateAuthority.SubjectName] = [.dns("localhost")],
    alpn: [String] = ["h2"], clientTrustPEM: [UInt8]? = nil,
    script: @escaping Script = { _, _ in .accept }
  ) async throws -> ScriptedAPNs {
    let validity = CertificateAuthority.Validity.days(1, fromSeconds: WallClock.now().wholeSeconds)
    let authority = try CertificateAuthority(commonName: "Test authority", validity: validity)
    let issued = try authority.issue(.server, names: names, validity: validity)
    let tls = try TLSServerContext(
      identity: TLSIdentity(
        certificateChainPEM: issued.chainPEM, privateKeyPEM: issued.privateKeyPEM), alpn: alpn,
      clientTrustPEM: clientTrustPEM)
    let server = ScriptedAPNs(
      loop: try EventLoop(name: "apns"), trust: .pem(try authority.certificatePEM()),
      raisesLimitTo: raisesLimitTo, script: script)
    server.listener = try await StreamListener.bind(
      .tcp(host: "127.0.0.1", port: 0), tls: tls, on: server.loop
    ) { [unowned server] stream in
      var configuration = HTTP2ServerConfiguration()
      configuration.settings = [.maxConcurrentStreams(server.raisesLimitTo == nil ? 1_000 : 1)]
      server.connections.append(
        HTTP2ServerConnection(stream, configuration: configuration, delegate: server))
    }
    return server
  }

  var host: APNsHost {
    APNsHost(
      name: "localhost", port: 443,
      endpoint: .tcp(host: "127.0.0.1", port: listener?.port ?? 0))
  }

  var hosts: APNsHosts { APNsHosts(push: host, management: host, trust: trust) }

  func requests() async -> [Seen] { await onLoop { $0.seen } }
  func connectionCount() async -> Int { await onLoop { $0.connections.count } }
  /// The most streams that were open on one connection when a request came.
  func mostOpenStreams() async -> Int { await onLoop { $0.mostOpen } }

  /// Waits until so many requests came in all.
  func received(_ count: Int) async {
    await withUnsafeContinuation { continuation in
      loop.execute {
        if self.seen.count >= count { return continuation.resume() }
        self.waiters.append((count, continuation))
      }
    }
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
    for waiter in waiters where seen.count >= waiter.count { waiter.go.resume() }
    waiters.removeAll { seen.count >= $0.count }
  }

  func connectionClosed(_ connection: HTTP2ServerConnection, reason: String) {}

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
    case .reset(let code): connection.reset(stream: stream, errorCode: code)
    case .goAway(let last, let reason):
      connection.goAway(
        lastStreamID: last, debugData: Array(#"{"reason":"\#(reason)"}"#.utf8))
    case .abort: connection.abort()
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
