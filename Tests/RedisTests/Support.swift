import Clocks
import Testing
import Transport

@testable import Redis

/// One loop for all tests of this room; each test has its own server and connections.
let loop: EventLoop = {
  do { return try EventLoop(name: "redis-tests") } catch { fatalError("no event loop: \(error)") }
}()

func withRedis(
  arguments: [String] = [], _ body: (PrivateRedisServer) async throws -> Void
) async throws {
  try await PrivateRedisServer.withTemporary(on: loop, arguments: arguments, body)
}

/// A server and one client of it, closed afterwards.
func withClient(
  firstBackoff: Duration = .milliseconds(20),
  _ body: (RedisClient, PrivateRedisServer) async throws -> Void
) async throws {
  try await withRedis { server in
    var configuration = server.configuration
    configuration.firstBackoff = firstBackoff
    let client = RedisClient(configuration: configuration, loop: loop)
    try await body(client, server)
    await client.close(atOnce: true)
  }
}

extension RedisConnection {
  func call(_ command: RedisCommand) async throws(RedisError) -> RESPValue {
    try await call(command, before: MonotonicClock.now() + .seconds(10))
  }
}

/// Runs `body` and returns the Redis error that it must end in.
func redisError(
  sourceLocation: SourceLocation = #_sourceLocation, _ body: () async throws -> Void
) async -> RedisError? {
  do {
    try await body()
    Issue.record("no error", sourceLocation: sourceLocation)
    return nil
  } catch let error as RedisError {
    return error
  } catch {
    Issue.record("another error: \(error)", sourceLocation: sourceLocation)
    return nil
  }
}

/// Waits for something that has no event of its own; fails after half a minute.
func eventually(
  sourceLocation: SourceLocation = #_sourceLocation, _ condition: () async throws -> Bool
) async throws {
  let end = MonotonicClock.now() + .seconds(30)
  while MonotonicClock.now() < end {
    if try await condition() { return }
    try await loop.sleep(for: .milliseconds(5))
  }
  Issue.record("it did not come to be", sourceLocation: sourceLocation)
}

/// A server that answers whatever it gets with fixed bytes, once per connection.
final class ScriptedServer: Sendable {
  let port: Int
  private let listener: StreamListener

  private final class Answer: StreamHandler {
    let stream: ByteStream
    let text: String

    init(stream: ByteStream, text: String) {
      self.stream = stream
      self.text = text
    }

    func streamReceived(_ bytes: RawSpan) { stream.write(Array(text.utf8)) }
    func streamWillFlush() {}
    func streamDrained() {}
    func streamClosed(_ closure: StreamClosure) {}
  }

  init(answering text: String) async throws {
    listener = try await StreamListener.bind(
      .tcp(host: "127.0.0.1", port: 0), on: loop
    ) { stream in stream.start(Answer(stream: stream, text: text)) }
    port = listener.port
  }

  var configuration: RedisConfiguration {
    RedisConfiguration(endpoint: .tcp(host: "127.0.0.1", port: port))
  }

  func close() { listener.close() }
}
