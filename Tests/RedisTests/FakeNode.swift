import Synchronization
import Transport

@testable import Redis

/// A server that answers what a test tells it to, command by command, and remembers what it was
/// asked.
final class FakeNode: Sendable {
  /// - Parameters:
  ///   - words: the command's.
  ///   - count: how often its name came before on any connection.
  /// - Returns: the reply as it goes over the wire; nil cuts the connection.
  typealias Answer = @Sendable (_ words: [String], _ count: Int) -> String?

  private struct State {
    var answer: Answer = { _, _ in "+OK\r\n" }
    var heard: [[String]] = []
  }

  let port: Int
  private let listener: StreamListener
  private let state: Box

  private final class Box: Sendable {
    let state = Mutex(State())

    func reply(to words: [String]) -> String? {
      let (answer, count) = state.withLock { state in
        let count = state.heard.count { $0[0] == words[0] }
        state.heard.append(words)
        return (state.answer, count)
      }
      return answer(words, count)
    }
  }

  /// One connection: commands are arrays of strings, which may come in pieces.
  private final class Peer: StreamHandler {
    let stream: ByteStream
    let box: Box
    private let pending = Mutex<[UInt8]>([])

    init(stream: ByteStream, box: Box) {
      self.stream = stream
      self.box = box
    }

    func streamReceived(_ bytes: RawSpan) {
      let commands = pending.withLock { pending in
        bytes.withUnsafeBytes { pending.append(contentsOf: $0) }
        return Self.takeCommands(from: &pending)
      }
      for command in commands {
        guard let reply = box.reply(to: command) else { return stream.abort() }
        stream.write(Array(reply.utf8))
      }
    }

    func streamWillFlush() {}
    func streamDrained() {}
    func streamClosed(_ closure: StreamClosure) {}

    private static func takeCommands(from bytes: inout [UInt8]) -> [[String]] {
      var commands: [[String]] = []
      var place = 0
      func number() -> Int? {
        guard let end = bytes[place...].firstIndex(of: UInt8(ascii: "\r")), end + 1 < bytes.count
        else { return nil }
        defer { place = end + 2 }
        return Int(String(decoding: bytes[(place + 1)..<end], as: UTF8.self))
      }
      while place < bytes.count {
        let start = place
        guard let count = number() else { break }
        var words: [String] = []
        for _ in 0..<count {
          guard let length = number(), place + length + 2 <= bytes.count else { break }
          words.append(String(decoding: bytes[place..<(place + length)], as: UTF8.self))
          place += length + 2
        }
        guard words.count == count else {
          bytes.removeFirst(start)
          return commands
        }
        commands.append(words)
      }
      bytes.removeFirst(min(place, bytes.count))
      return commands
    }
  }

  init() async throws {
    let box = Box()
    state = box
    listener = try await StreamListener.bind(
      .tcp(host: "127.0.0.1", port: 0), on: loop
    ) { stream in stream.start(Peer(stream: stream, box: box)) }
    port = listener.port
  }

  var address: RedisAddress { RedisAddress(host: "127.0.0.1", port: port) }

  func answer(_ body: @escaping Answer) { state.state.withLock { $0.answer = body } }

  /// Answers what every node of a cluster is asked for, and the rest by `body`.
  ///
  /// - Parameter slots: who serves which.
  func answerInCluster(
    _ slots: [(ClosedRange<Int>, FakeNode)], _ body: @escaping Answer = { _, _ in "+OK\r\n" }
  ) {
    let ports = slots.map { ($0.0, $0.1.port) }
    answer { words, count in
      switch words[0] {
      case "HELLO": "*2\r\n$4\r\nrole\r\n$6\r\nmaster\r\n"
      case "CLIENT": "+OK\r\n"
      case "PING": "+PONG\r\n"
      case "SCRIPT": "$40\r\n\(String(repeating: "a", count: 40))\r\n"
      case "CLUSTER" where words[1] == "INFO":
        Self.bulk("cluster_state:ok\r\ncluster_current_epoch:1\r\n")
      case "CLUSTER":
        "*\(ports.count)\r\n"
          + ports.map { range, port in
            "*3\r\n:\(range.lowerBound)\r\n:\(range.upperBound)\r\n"
              + "*2\r\n$9\r\n127.0.0.1\r\n:\(port)\r\n"
          }.joined()
      default: body(words, count)
      }
    }
  }

  static func bulk(_ text: String) -> String { "$\(text.utf8.count)\r\n\(text)\r\n" }

  /// The commands of one name that came, each with all its words.
  func heard(_ name: String) -> [[String]] {
    state.state.withLock { $0.heard.filter { $0[0] == name } }
  }

  func close() { listener.close() }
}
