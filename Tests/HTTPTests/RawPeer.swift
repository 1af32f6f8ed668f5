import Transport

/// The other end of a connection that a test speaks byte by byte.
///
/// `@unchecked Sendable` is right because its state is touched on its loop only.
final class RawPeer: StreamHandler, @unchecked Sendable {
  private let stream: ByteStream
  private let loop: EventLoop
  private var received: [UInt8] = []
  private var isClosed = false
  private var waiters: [(condition: (RawPeer) -> Bool, go: UnsafeContinuation<Void, Never>)] = []

  private init(_ stream: ByteStream) {
    self.stream = stream
    loop = stream.loop
  }

  static func connect(to endpoint: Endpoint, on loop: EventLoop) async throws -> RawPeer {
    let stream = try await StreamConnector.connect(to: endpoint, on: loop)
    let peer = RawPeer(stream)
    await withUnsafeContinuation { continuation in
      loop.execute {
        stream.start(peer)
        continuation.resume()
      }
    }
    return peer
  }

  func send(_ text: String) {
    loop.execute { self.stream.write(Array(text.utf8)) }
  }

  func stopReading() { loop.execute { self.stream.pauseReading() } }
  func goOnReading() { loop.execute { self.stream.resumeReading() } }
  func abort() { loop.execute { self.stream.abort() } }

  /// What came, once `text` is in it.
  func received(_ text: String) async -> String {
    await wait { String(decoding: $0.received, as: UTF8.self).contains(text) || $0.isClosed }
  }

  /// All that came, once the other end closed.
  func receivedAll() async -> String { await wait { $0.isClosed } }

  private func wait(until condition: @escaping @Sendable (RawPeer) -> Bool) async -> String {
    await withUnsafeContinuation { continuation in
      loop.execute {
        self.waiters.append((condition, continuation))
        self.look()
      }
    }
    return await withUnsafeContinuation { continuation in
      loop.execute {
        continuation.resume(returning: String(decoding: self.received, as: UTF8.self))
      }
    }
  }

  private func look() {
    for waiter in waiters where waiter.condition(self) { waiter.go.resume() }
    waiters.removeAll { $0.condition(self) }
  }

  func streamReceived(_ bytes: RawSpan) {
    bytes.withUnsafeBytes { received.append(contentsOf: $0) }
    look()
  }

  func streamWillFlush() {}
  func streamDrained() {}

  func streamClosed(_ closure: StreamClosure) {
    isClosed = true
    look()
  }
}
