import Synchronization
import Transport

@testable import Redis

/// Stands between a client and a server, and can lose a reply: when certain bytes come from the
/// server, it swallows them and cuts both sides.
final class CuttingProxy: Sendable {
  private let needle: Needle
  private let listener: StreamListener

  private final class Needle: Sendable {
    private let text = Mutex<String?>(nil)

    func set(_ value: String) { text.withLock { $0 = value } }

    var isUsedUp: Bool { text.withLock { $0 == nil } }

    /// Whether it is in these bytes; it is found once.
    func isFound(in bytes: RawSpan) -> Bool {
      text.withLock { text in
        guard let wanted = text else { return false }
        let all = bytes.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
        guard all.contains(wanted) else { return false }
        text = nil
        return true
      }
    }
  }

  /// One direction.
  private final class Leg: StreamHandler {
    let source: ByteStream
    let target: ByteStream
    let needle: Needle?

    init(from source: ByteStream, to target: ByteStream, needle: Needle?) {
      self.source = source
      self.target = target
      self.needle = needle
    }

    func streamReceived(_ bytes: RawSpan) {
      if needle?.isFound(in: bytes) == true {
        source.abort()
        target.abort()
      } else {
        target.write(bytes)
      }
    }

    func streamWillFlush() {}
    func streamDrained() {}
    func streamClosed(_ closure: StreamClosure) { target.close() }
  }

  init(to endpoint: Endpoint) async throws {
    let needle = Needle()
    self.needle = needle
    listener = try await StreamListener.bind(.tcp(host: "127.0.0.1", port: 0), on: loop) { client in
      Task(executorPreference: loop.tasks) {
        guard let server = try? await StreamConnector.connect(to: endpoint, on: loop) else {
          loop.execute { client.abort() }
          return
        }
        loop.execute {
          client.start(Leg(from: client, to: server, needle: nil))
          server.start(Leg(from: server, to: client, needle: needle))
        }
      }
    }
  }

  var configuration: RedisConfiguration {
    var configuration = RedisConfiguration(
      endpoint: .tcp(host: "127.0.0.1", port: listener.port))
    configuration.firstBackoff = .milliseconds(5)
    return configuration
  }

  /// Loses the next reply that holds `text`.
  func loseReply(containing text: String) { needle.set(text) }

  var hasLostIt: Bool { needle.isUsedUp }

  func close() { listener.close() }
}
