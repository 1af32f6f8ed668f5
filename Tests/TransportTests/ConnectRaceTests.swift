import Clocks
import Glibc
import Synchronization
import Testing

@testable import Transport

@Suite(.timeLimit(.minutes(1))) struct `A race for a connection` {
  /// Connects to `push.example`, which has these addresses.
  private func connect(
    _ addresses: [String], port: Int, headStart: Duration = .seconds(50), skipped: Int = 0
  ) async throws -> String {
    let loop = try EventLoop(name: "race")
    defer { loop.stop() }
    var options = ConnectOptions()
    options.headStart = headStart
    options.skipped = skipped
    options.addresses = { host in host == "push.example" ? addresses : [] }
    let stream = try await StreamConnector.connect(
      to: .tcp(host: "push.example", port: port), options: options, on: loop)
    let peer = stream.peer
    await withUnsafeContinuation { continuation in
      loop.execute {
        stream.abort()
        continuation.resume()
      }
    }
    return peer
  }

  private func withListener(
    on address: String, _ body: (_ port: Int) async throws -> Void
  ) async throws {
    let loop = try EventLoop(name: "listener")
    let listener = try await StreamListener.bind(.tcp(host: address, port: 0), on: loop) {
      $0.close()
    }
    try await body(listener.port)
    listener.close()
    loop.stop()
  }

  @Test func `goes to the next address at once when one refuses, whatever the family`() async throws
  {
    try await withListener(on: "127.0.0.2") { port in
      // The head start is longer than the test may take, so only a refusal can have moved it on.
      let peer = try await connect(["::1", "127.0.0.77", "127.0.0.2"], port: port)
      #expect(peer == "127.0.0.2:\(port)")
    }
    try await withListener(on: "::1") { port in
      let peer = try await connect(["127.0.0.77", "::1"], port: port)
      #expect(peer == "[::1]:\(port)")
    }
  }

  @Test func `tries both families by turns`() async throws {
    try await withListener(on: "127.0.0.2") { port in
      // By turns: ::1, 127.0.0.2, and so on; in the given order 127.0.0.2 would be the last.
      let swallower = try Swallower(port: port)
      let peer = try await connect(
        ["::1", "127.0.0.2", "127.0.0.77"], port: port, headStart: .milliseconds(10))
      #expect(peer == "127.0.0.2:\(port)")
      swallower.close()
    }
  }

  @Test func `does not wait for an address that never answers`() async throws {
    try await withListener(on: "127.0.0.2") { port in
      let swallower = try Swallower(port: port)
      let peer = try await connect(
        ["127.0.0.77", "127.0.0.2"], port: port, headStart: .milliseconds(20))
      #expect(peer == "127.0.0.2:\(port)")
      swallower.close()
    }
  }

  @Test func `begins elsewhere when it is told to`() async throws {
    try await withListener(on: "127.0.0.2") { port in
      let swallower = try Swallower(port: port)
      for skipped in [1, 3] {
        // The head start is longer than the test may take.
        let peer = try await connect(
          ["127.0.0.77", "127.0.0.2"], port: port, skipped: skipped)
        #expect(peer == "127.0.0.2:\(port)")
      }
      swallower.close()
    }
  }

  @Test func `says why when nobody wins`() async throws {
    let error = await #expect(throws: StreamError.self) {
      _ = try await connect(["127.0.0.77", "::1"], port: 1)
    }
    let message = try #require(error.map { "\($0)" })
    #expect(message.contains("push.example:1: Connection refused"))
    await #expect(throws: StreamError.self) { _ = try await connect([], port: 1) }
  }
}

/// A port of 127.0.0.77 whose queue is full, so that further attempts to connect hear nothing, as
/// behind a firewall that drops them.
private final class Swallower: Sendable {
  private let descriptors: [Int32]

  struct Failure: Error {}

  init(port: Int) throws {
    let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    guard let address = Resolver.numeric("127.0.0.77", port: port).first,
      address.withPointer({ bind(listener, $0, $1) }) == 0, listen(listener, 0) == 0
    else { throw Failure() }
    let kind = Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue)
    descriptors =
      [listener]
      + (0..<4).map { _ in
        let descriptor = socket(AF_INET, kind, 0)
        _ = address.withPointer { Glibc.connect(descriptor, $0, $1) }
        return descriptor
      }
  }

  func close() { for descriptor in descriptors { Glibc.close(descriptor) } }
}
