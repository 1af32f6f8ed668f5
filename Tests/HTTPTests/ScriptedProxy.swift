import HTTP
import Testing
import Transport

/// A proxy that answers `CONNECT` as a test says, and relays what a tunnel carries.
final class ScriptedProxy: Sendable {
  enum Deed: Sendable {
    /// Connects to this endpoint, whatever was asked for, and relays.
    case open(Endpoint)
    case answer(String)
    case silence
    case close
  }

  private let listener: StreamListener
  private let loop: EventLoop
  private let heads = Lock<[String]>([])

  private init(listener: StreamListener, loop: EventLoop) {
    self.listener = listener
    self.loop = loop
  }

  static func run(_ deed: Deed, _ body: (ScriptedProxy) async throws -> Void) async throws {
    let loop = try EventLoop(name: "proxy")
    let slot = Lock<ScriptedProxy?>(nil)
    let listener = try await StreamListener.bind(.tcp(host: "127.0.0.1", port: 0), on: loop) {
      stream in
      let door = Door(stream, deed: deed, loop: loop) { head in
        slot.withLock { $0 }?.heads.withLock { $0.append(head) }
      }
      stream.start(door)
    }
    let proxy = ScriptedProxy(listener: listener, loop: loop)
    slot.withLock { $0 = proxy }
    defer {
      listener.close()
      loop.execute { loop.stop() }
    }
    try await body(proxy)
  }

  var port: Int { listener.port }

  /// The heads of all requests so far.
  var requests: [String] { heads.withLock { $0 } }

  /// Reads one request, then does what it is told.
  private final class Door: StreamHandler {
    private let stream: ByteStream
    private let deed: Deed
    private let loop: EventLoop
    private let note: @Sendable (String) -> Void
    private let state = Lock<(head: [UInt8], far: ByteStream?)>(([], nil))

    init(
      _ stream: ByteStream, deed: Deed, loop: EventLoop, note: @escaping @Sendable (String) -> Void
    ) {
      self.stream = stream
      self.deed = deed
      self.loop = loop
      self.note = note
    }

    func streamReceived(_ bytes: RawSpan) {
      if let far = state.withLock({ $0.far }) { return far.write(bytes) }
      let head = state.withLock { state -> String? in
        bytes.withUnsafeBytes { state.head.append(contentsOf: $0) }
        let text = String(decoding: state.head, as: UTF8.self)
        return text.hasSuffix("\r\n\r\n") ? text : nil
      }
      guard let head else { return }
      note(head)
      switch deed {
      case .silence: break
      case .close: stream.close()
      case .answer(let text): stream.write(Array(text.utf8))
      case .open(let endpoint):
        Task(executorPreference: loop.tasks) { await self.connect(to: endpoint) }
      }
    }

    private func connect(to endpoint: Endpoint) async {
      guard let far = try? await StreamConnector.connect(to: endpoint, on: loop) else {
        return loop.execute { self.stream.abort() }
      }
      loop.execute {
        self.state.withLock { $0.far = far }
        far.start(Return(to: self.stream))
        self.stream.write(Array("HTTP/1.1 200 Connection established\r\nVia: 1.1 p\r\n\r\n".utf8))
      }
    }

    func streamWillFlush() {}
    func streamDrained() {}
    func streamClosed(_ closure: StreamClosure) { state.withLock { $0.far }?.close() }
  }

  private final class Return: StreamHandler {
    private let stream: ByteStream

    init(to stream: ByteStream) { self.stream = stream }

    func streamReceived(_ bytes: RawSpan) { stream.write(bytes) }
    func streamWillFlush() {}
    func streamDrained() {}
    func streamClosed(_ closure: StreamClosure) { stream.close() }
  }
}
