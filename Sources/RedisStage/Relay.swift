package import Redis
package import Transport

/// Stands between a client and a server, and does to their connections what a network does: it
/// loses a reply, cuts them, lets nobody through, or holds everything back for a while.
package actor Relay {
  package nonisolated var unownedExecutor: UnownedSerialExecutor {
    loop.serial.asUnownedSerialExecutor()
  }

  private struct Pair {
    let client: ByteStream
    let server: ByteStream
  }

  package nonisolated let loop: EventLoop
  private let target: Endpoint
  private var listener: StreamListener?
  private var pairs: [Int: Pair] = [:]
  private var lastPair = 0
  /// The next reply that holds this is lost.
  private var losing: String?
  /// The next request that holds this is held back, with all that comes after it.
  private var awaited: String?
  private var heldBack: (pair: Int, bytes: [UInt8])?
  private var isCut = false
  private(set) package var isHolding = false

  private init(to target: Endpoint, on loop: EventLoop) {
    self.target = target
    self.loop = loop
  }

  package static func open(to target: Endpoint, on loop: EventLoop) async throws -> Relay {
    let relay = Relay(to: target, on: loop)
    try await relay.listen()
    return relay
  }

  private func listen() async throws {
    listener = try await StreamListener.bind(.tcp(host: "127.0.0.1", port: 0), on: loop) {
      [self] client in
      Task(executorPreference: loop.tasks) { await self.connect(client) }
    }
  }

  /// Where clients find it.
  package var endpoint: Endpoint { .tcp(host: "127.0.0.1", port: listener?.port ?? 0) }

  /// Of the server behind it, with short pauses between attempts to connect.
  package var configuration: RedisConfiguration {
    var configuration = RedisConfiguration(endpoint: endpoint)
    configuration.firstBackoff = .milliseconds(5)
    return configuration
  }

  package var url: String { "redis://127.0.0.1:\(listener?.port ?? 0)" }

  package func close() {
    listener?.close()
    cut()
  }

  // MARK: Faults

  /// Swallows the next bytes from the server that hold `text`, and cuts their connection.
  package func loseReply(containing text: String) { losing = text }

  package var hasLostIt: Bool { losing == nil }

  /// Ends all connections, and lets nobody through until ``mend()``.
  package func cut() {
    isCut = true
    for pair in pairs.values {
      pair.client.abort()
      pair.server.abort()
    }
  }

  /// Lets nothing pass in either direction until ``mend()``; it arrives then.
  package func hold() {
    isHolding = true
    for pair in pairs.values { pause(pair) }
  }

  /// Like ``hold()``, from the next request on that holds `text`, which does not pass either.
  package func hold(from text: String) { awaited = text }

  package func mend() {
    isCut = false
    isHolding = false
    awaited = nil
    if let held = heldBack.take() { pairs[held.pair]?.server.write(held.bytes) }
    for pair in pairs.values {
      pair.client.resumeReading()
      pair.server.resumeReading()
    }
  }

  // MARK: Connections

  private func connect(_ client: ByteStream) async {
    guard !isCut, let server = try? await StreamConnector.connect(to: target, on: loop) else {
      return client.abort()
    }
    if isCut {
      server.abort()
      return client.abort()
    }
    lastPair += 1
    let pair = Pair(client: client, server: server)
    pairs[lastPair] = pair
    client.start(Leg(lastPair, of: self, from: client, to: server, isReply: false))
    server.start(Leg(lastPair, of: self, from: server, to: client, isReply: true))
    if isHolding { pause(pair) }
  }

  private func pause(_ pair: Pair) {
    pair.client.pauseReading()
    pair.server.pauseReading()
  }

  private func forget(_ pair: Int) { pairs[pair] = nil }

  /// Whether these bytes are the ones to be lost.
  private func takesAway(_ bytes: RawSpan) -> Bool {
    guard let losing, Self.text(bytes).contains(losing) else { return false }
    self.losing = nil
    return true
  }

  /// Whether these bytes wait for ``mend()``.
  private func keepsBack(_ bytes: RawSpan, of pair: Int) -> Bool {
    guard let awaited, Self.text(bytes).contains(awaited) else { return false }
    self.awaited = nil
    heldBack = (pair, bytes.withUnsafeBytes { Array($0) })
    hold()
    return true
  }

  private static func text(_ bytes: RawSpan) -> String {
    bytes.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
  }

  /// One direction of a connection.
  private final class Leg: StreamHandler {
    private let pair: Int
    private let relay: Relay
    private let source: ByteStream
    private let target: ByteStream
    private let isReply: Bool

    init(
      _ pair: Int, of relay: Relay, from source: ByteStream, to target: ByteStream, isReply: Bool
    ) {
      self.pair = pair
      self.relay = relay
      self.source = source
      self.target = target
      self.isReply = isReply
    }

    func streamReceived(_ bytes: RawSpan) {
      if isReply, relay.assumeIsolated({ $0.takesAway(bytes) }) {
        source.abort()
        target.abort()
      } else if isReply || !relay.assumeIsolated({ [pair] in $0.keepsBack(bytes, of: pair) }) {
        target.write(bytes)
      }
    }

    func streamWillFlush() {}
    func streamDrained() {}

    func streamClosed(_ closure: StreamClosure) {
      target.close()
      relay.assumeIsolated { $0.forget(pair) }
    }
  }
}
