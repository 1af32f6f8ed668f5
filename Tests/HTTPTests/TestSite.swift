import HTTP
import Testing
import Transport

/// A server with a few pages that behave in their own ways, and a loop for its clients.
final class TestSite: Sendable {
  let server: HTTPServer
  let endpoint: Endpoint
  /// The clients' loop.
  let loop: EventLoop
  /// Requests for `/gate` wait here.
  let gate: Gate
  fileprivate let listeners: Listeners

  private init(
    server: HTTPServer, endpoint: Endpoint, loop: EventLoop, gate: Gate, listeners: Listeners
  ) {
    self.server = server
    self.endpoint = endpoint
    self.loop = loop
    self.gate = gate
    self.listeners = listeners
  }

  /// The reply that the last request for `/events` got.
  var lastEvents: ServerSentEvents { listeners.last }

  /// Waits until so many listeners have gone.
  func listenersGone(_ count: Int) async { await listeners.gone.reached(count) }

  static func run(
    on endpoint: Endpoint = .tcp(host: "127.0.0.1", port: 0), tls: TLSServerContext? = nil,
    configuration: HTTPServerConfiguration = HTTPServerConfiguration(),
    _ body: (TestSite) async throws -> Void
  ) async throws {
    let serverLoop = try EventLoop(name: "server")
    let clientLoop = try EventLoop(name: "client")
    let gate = Gate()
    let listeners = Listeners()
    let server = try await HTTPServer.start(
      on: endpoint, tls: tls, configuration: configuration, loop: serverLoop
    ) { request, _ in
      await answer(request, gate, listeners)
    }
    var reached = endpoint
    if case .tcp = endpoint { reached = .tcp(host: "127.0.0.1", port: await server.port()) }
    try await body(
      TestSite(
        server: server, endpoint: reached, loop: clientLoop, gate: gate, listeners: listeners))
    gate.open()
    await server.drain(grace: .zero)
    serverLoop.stop()
    clientLoop.stop()
  }

  private static func answer(
    _ request: HTTPRequest, _ gate: Gate, _ listeners: Listeners
  ) async -> HTTPReply {
    var response = HTTPResponse(
      status: 200, fields: ["x-path": request.path], body: Array("ok".utf8))
    switch request.path {
    case "/echo": response.body = request.body
    case "/gate", "/never": await gate.pass()
    case "/splitting": response.fields["x"] = "a\r\ninjected: b"
    case "/large": response.body = Array(repeating: 120, count: 4_000_000)
    case "/events": return .events(listeners.make())
    default:
      // Not at once, so that an answer could overtake another.
      if request.path.hasPrefix("/slow") { for _ in 0..<5 { await Task.yield() } }
    }
    return .response(response)
  }
}

/// The server-sent event replies that a site has made.
private final class Listeners: Sendable {
  let gone = Tally()
  private let made = Lock<[ServerSentEvents]>([])

  var last: ServerSentEvents { made.withLock { $0[$0.count - 1] } }

  func make() -> ServerSentEvents {
    let events = ServerSentEvents(
      heartbeat: .milliseconds(30), maxPendingBytes: 200_000, onClose: { [gone] in gone.add() },
      farewell: { ServerSentEvent(name: "bye", retry: .seconds(2), data: $0.rawValue) })
    events.send(ServerSentEvent(data: "early"))
    made.withLock { $0.append(events) }
    return events
  }
}

/// Holds tasks until it is opened.
final class Gate: Sendable {
  private struct State {
    var isOpen = false
    var waiting: [UnsafeContinuation<Void, Never>] = []
  }
  private let state = Lock(State())
  private let arrivals = Tally()

  func pass() async {
    arrivals.add()
    await withUnsafeContinuation { continuation in
      let isOpen: Bool = state.withLock { state in
        if !state.isOpen { state.waiting.append(continuation) }
        return state.isOpen
      }
      if isOpen { continuation.resume() }
    }
  }

  /// Waits until a task stands here.
  func reached() async { await arrivals.reached(1) }

  func open() {
    state.withLock { state in
      state.isOpen = true
      for continuation in state.waiting { continuation.resume() }
      state.waiting = []
    }
  }
}

/// Counts what happens and lets a test wait for a count.
final class Tally: Sendable {
  private struct State {
    var count = 0
    var waiting: [(wanted: Int, continuation: UnsafeContinuation<Void, Never>)] = []
  }
  private let state = Lock(State())

  func add() {
    state.withLock { state in
      state.count += 1
      for waiter in state.waiting where waiter.wanted <= state.count {
        waiter.continuation.resume()
      }
      state.waiting.removeAll { $0.wanted <= state.count }
    }
  }

  func reached(_ wanted: Int) async {
    await withUnsafeContinuation { continuation in
      let isThere: Bool = state.withLock { state in
        if state.count < wanted { state.waiting.append((wanted, continuation)) }
        return state.count >= wanted
      }
      if isThere { continuation.resume() }
    }
  }
}

/// Text that comes in parts, and how to wait for a piece of it.
final class TextLog: Sendable {
  private struct State {
    var text = ""
    var waiting: [(piece: String, continuation: UnsafeContinuation<Void, Never>)] = []
  }
  private let state = Lock(State())

  func append(_ bytes: [UInt8]) {
    state.withLock { state in
      state.text += String(decoding: bytes, as: UTF8.self)
      for waiter in state.waiting where state.text.contains(waiter.piece) {
        waiter.continuation.resume()
      }
      state.waiting.removeAll { state.text.contains($0.piece) }
    }
  }

  func contains(_ piece: String) async {
    await withUnsafeContinuation { continuation in
      let isThere: Bool = state.withLock { state in
        if !state.text.contains(piece) { state.waiting.append((piece, continuation)) }
        return state.text.contains(piece)
      }
      if isThere { continuation.resume() }
    }
  }
}

extension String {
  /// How often a piece stands in this text.
  func count(of piece: String) -> Int { ranges(of: piece).count }
}
