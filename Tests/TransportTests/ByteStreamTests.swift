import Clocks
import Testing
import Transport

@testable import Transport

/// Collects what a stream says, and lets a test wait for it.
private final class Recorder: StreamHandler {
  private struct State {
    var received: [UInt8] = []
    var closure: StreamClosure?
    var waiters: [(needs: Int, resume: UnsafeContinuation<Void, Never>)] = []
  }

  private let state = Lock(State())
  private let onReceive: @Sendable (RawSpan) -> Void

  init(onReceive: @escaping @Sendable (RawSpan) -> Void = { _ in }) { self.onReceive = onReceive }

  var received: [UInt8] { state.withLock(\.received) }
  var closure: StreamClosure? { state.withLock(\.closure) }

  /// Waits for that many bytes, or for the end of the stream.
  func wait(for count: Int) async {
    await withUnsafeContinuation { continuation in
      let ready = state.withLock { state in
        if state.received.count >= count || state.closure != nil { return true }
        state.waiters.append((count, continuation))
        return false
      }
      if ready { continuation.resume() }
    }
  }

  func streamReceived(_ bytes: RawSpan) {
    onReceive(bytes)
    let ready = state.withLock { state in
      bytes.withUnsafeBytes { state.received.append(contentsOf: $0) }
      let ready = state.waiters.filter { $0.needs <= state.received.count }
      state.waiters.removeAll { $0.needs <= state.received.count }
      return ready
    }
    for waiter in ready { waiter.resume.resume() }
  }

  func streamWillFlush() {}
  func streamDrained() {}

  func streamClosed(_ closure: StreamClosure) {
    let waiters = state.withLock { state in
      state.closure = closure
      defer { state.waiters = [] }
      return state.waiters
    }
    for waiter in waiters { waiter.resume.resume() }
  }
}

/// Sends back what it gets.
private final class Echo: StreamHandler {
  private let stream: ByteStream

  init(_ stream: ByteStream) { self.stream = stream }

  func streamReceived(_ bytes: RawSpan) { stream.write(bytes) }
  func streamWillFlush() {}
  func streamDrained() {}
  func streamClosed(_ closure: StreamClosure) {}
}

/// Writes at the end of turns, as much as the stream will hold, until all is written.
///
/// `@unchecked Sendable` is right because only the loop's thread touches it.
private final class Feeder: StreamHandler, @unchecked Sendable {
  private let stream: ByteStream
  private var rest: ArraySlice<UInt8>

  init(_ stream: ByteStream, _ bytes: [UInt8]) {
    self.stream = stream
    rest = bytes[...]
  }

  func streamReceived(_ bytes: RawSpan) { stream.setNeedsFlush() }

  func streamWillFlush() {
    while !rest.isEmpty, stream.pendingOutputBytes < ByteStream.highMark {
      let part = rest.prefix(9_000)
      part.withUnsafeBytes { stream.write($0.bytes) }
      rest = rest.dropFirst(part.count)
    }
  }

  func streamDrained() { streamWillFlush() }
  func streamClosed(_ closure: StreamClosure) {}
}

/// Reads, and for every byte that comes has one more written at the other end, which so always has
/// as much waiting, until enough came.
///
/// `@unchecked Sendable` is right because only the loop's thread touches it.
private final class Refiller: StreamHandler, @unchecked Sendable {
  var source: ByteStream?
  private(set) var mostHeld = 0
  private var rest: Int
  private let finished: @Sendable () -> Void

  init(_ total: Int, finished: @escaping @Sendable () -> Void) {
    rest = total
    self.finished = finished
  }

  func streamReceived(_ bytes: RawSpan) {
    guard let source, rest > 0 else { return }
    mostHeld = max(mostHeld, source.outputCapacity)
    rest -= bytes.byteCount
    if rest > 0 { source.write(bytes) } else { finished() }
  }

  func streamWillFlush() {}
  func streamDrained() {}
  func streamClosed(_ closure: StreamClosure) {}
}

private func onLoop<T: Sendable>(
  _ loop: EventLoop, _ body: @escaping @Sendable () -> T
) async -> T {
  await withUnsafeContinuation { continuation in
    loop.execute { continuation.resume(returning: body()) }
  }
}

@Suite struct `A byte stream` {
  private let loop: EventLoop
  private let big = (0..<3_000_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }

  init() throws { loop = try EventLoop(name: "streams") }

  @Test(arguments: [false, true])
  func `carries megabytes there and back`(withTLS: Bool) async throws {
    defer { loop.stop() }
    let certificate = withTLS ? try await TestCertificate.make(on: loop) : nil
    let listener = try await StreamListener.bind(
      .tcp(host: "127.0.0.1", port: 0), tls: try certificate?.server(alpn: ["h2"]), on: loop
    ) { $0.start(Echo($0)) }
    defer { listener.close() }
    let stream = try await StreamConnector.connect(
      to: .tcp(host: "localhost", port: listener.port),
      tls: try certificate?.client(alpn: ["h2"]), on: loop)
    let recorder = Recorder()
    await onLoop(loop) { [big] in
      stream.start(recorder)
      stream.write(big)
    }
    await recorder.wait(for: big.count)
    #expect(recorder.received == big)
    #expect(await onLoop(loop) { stream.alpn } == (withTLS ? "h2" : nil))
    await onLoop(loop) { stream.close() }
    await recorder.wait(for: .max)
    #expect(recorder.closure == .byUs)
  }

  @Test func `holds no more memory than what waits, however long a peer does not catch up`()
    async throws
  {
    defer { loop.stop() }
    let done = AsyncStream.makeStream(of: Void.self)
    let refiller = Refiller(20 * big.count) { done.continuation.yield() }
    let listener = try await StreamListener.bind(.tcp(host: "127.0.0.1", port: 0), on: loop) {
      $0.start(refiller)
    }
    defer { listener.close() }
    let stream = try await StreamConnector.connect(
      to: .tcp(host: "localhost", port: listener.port), on: loop)
    await onLoop(loop) { [big] in
      refiller.source = stream
      stream.start(Recorder())
      for _ in 0..<4 { stream.write(big) }
    }
    for await _ in done.stream { break }
    #expect(await onLoop(loop) { refiller.mostHeld } < 12 * big.count)
    await onLoop(loop) { stream.abort() }
  }

  @Test(arguments: [false, true])
  func `keeps the order of what is written at the end of turns`(withTLS: Bool) async throws {
    defer { loop.stop() }
    let certificate = withTLS ? try await TestCertificate.make(on: loop) : nil
    let listener = try await StreamListener.bind(
      .tcp(host: "127.0.0.1", port: 0), tls: try certificate?.server(alpn: ["h2"]), on: loop
    ) { [big] in $0.start(Feeder($0, big)) }
    defer { listener.close() }
    let stream = try await StreamConnector.connect(
      to: .tcp(host: "localhost", port: listener.port),
      tls: try certificate?.client(alpn: ["h2"]), on: loop)
    let recorder = Recorder()
    await onLoop(loop) {
      stream.start(recorder)
      stream.write(Array("go".utf8))
    }
    await recorder.wait(for: big.count)
    #expect(recorder.received == big)
    await onLoop(loop) { stream.close() }
  }

  @Test func `tells the other side when it closes, after its last byte`() async throws {
    defer { loop.stop() }
    let listener = try await StreamListener.bind(.tcp(host: "127.0.0.1", port: 0), on: loop) {
      stream in
      stream.start(Echo(stream))
      stream.write(Array("last words".utf8))
      stream.close()
    }
    defer { listener.close() }
    let stream = try await StreamConnector.connect(
      to: .tcp(host: "127.0.0.1", port: listener.port), on: loop)
    let recorder = Recorder()
    // Unread input on the other side must not destroy what it said.
    await onLoop(loop) {
      stream.start(recorder)
      stream.write(Array(repeating: 7, count: 100_000))
    }
    await recorder.wait(for: .max)
    #expect(recorder.received == Array("last words".utf8))
    #expect(recorder.closure == .byPeer)
  }

  @Test func `refuses a certificate that it does not trust, and names it`() async throws {
    defer { loop.stop() }
    let certificate = try await TestCertificate.make(on: loop)
    let listener = try await StreamListener.bind(
      .tcp(host: "127.0.0.1", port: 0), tls: try certificate.server(alpn: ["h2"]), on: loop
    ) { $0.start(Echo($0)) }
    defer { listener.close() }
    let strangers = try TLSClientContext(trust: .system, alpn: ["h2"])
    let error = await #expect(throws: StreamError.self) {
      _ = try await StreamConnector.connect(
        to: .tcp(host: "localhost", port: listener.port), tls: strangers, on: self.loop)
    }
    #expect("\(try #require(error))".contains("CN=localhost"))
    let wrongName = await #expect(throws: StreamError.self) {
      _ = try await StreamConnector.connect(
        to: .tcp(host: "127.0.0.1", port: listener.port),
        tls: try certificate.client(alpn: ["h2"]), serverName: "elsewhere.example", on: self.loop)
    }
    #expect("\(try #require(wrongName))".contains("expected host elsewhere.example"))
  }

  @Test func `says why there is no connection`() async throws {
    defer { loop.stop() }
    let refused = await #expect(throws: StreamError.self) {
      _ = try await StreamConnector.connect(to: .tcp(host: "127.0.0.1", port: 1), on: self.loop)
    }
    #expect("\(try #require(refused))" == "no connection to 127.0.0.1:1: Connection refused")
    let missing = await #expect(throws: StreamError.self) {
      _ = try await StreamConnector.connect(to: .unix(path: "/nowhere/at/all"), on: self.loop)
    }
    #expect("\(try #require(missing))".contains("No such file or directory"))
  }

  @Test func `gives up on a peer that does not finish the handshake`() async throws {
    defer { loop.stop() }
    let certificate = try await TestCertificate.make(on: loop)
    let silent = Recorder()
    let listener = try await StreamListener.bind(.tcp(host: "127.0.0.1", port: 0), on: loop) {
      $0.start(silent)
    }
    defer { listener.close() }
    var options = ConnectOptions()
    options.deadline = .milliseconds(100)
    let error = await #expect(throws: StreamError.self) {
      _ = try await StreamConnector.connect(
        to: .tcp(host: "127.0.0.1", port: listener.port),
        tls: try certificate.client(alpn: []), options: options, on: self.loop)
    }
    guard case .timedOut = try #require(error) else {
      Issue.record("expected a time-out, got \(String(describing: error))")
      return
    }
  }

  @Test func `connects over a Unix socket`() async throws {
    defer { loop.stop() }
    let path = "/tmp/fieldcast-transport-\(UInt64.random(in: 0 ... .max)).sock"
    let listener = try await StreamListener.bind(.unix(path: path), on: loop) {
      $0.start(Echo($0))
    }
    defer { listener.close() }
    let stream = try await StreamConnector.connect(to: .unix(path: path), on: loop)
    let recorder = Recorder()
    await onLoop(loop) {
      stream.start(recorder)
      stream.write([1, 2, 3])
    }
    await recorder.wait(for: 3)
    #expect(recorder.received == [1, 2, 3])
  }
}

@Suite struct `A subprocess` {
  @Test func `reports its exit status, and ends when it is asked to`() async throws {
    let loop = try EventLoop(name: "processes")
    defer { loop.stop() }
    let quick = try await Subprocess.start("/bin/sh", arguments: ["-c", "exit 3"], on: loop)
    #expect(await quick.waitForExit() == 3)
    let slow = try await Subprocess.start("/bin/sleep", arguments: ["600"], on: loop)
    #expect(slow.isRunning)
    slow.terminate()
    #expect(await slow.waitForExit() == 128 + 15)
    await #expect(throws: SystemError.self) {
      _ = try await Subprocess.start("/no/such/program", arguments: [], on: loop)
    }
  }
}
