import Clocks
import HTTP
import Testing
import Transport

@testable import APNs

@Suite struct `A policy of repetitions` {
  @Test func `doubles its waits up to the longest, by half of it at least`() {
    var random = SystemRandomNumberGenerator()
    let policy = RetryPolicy(
      repetitions: 6, firstWait: .milliseconds(100), longestWait: .milliseconds(500))
    for _ in 0..<200 {
      let waits = (0..<6).compactMap { policy.wait(after: $0, asked: nil, using: &random) }
      for (wait, most) in zip(waits, [100, 200, 400, 500, 500, 500]) {
        #expect(wait <= .milliseconds(most) && wait >= .milliseconds(most) / 2)
      }
      #expect(waits.count == 6)
    }
    #expect(policy.wait(after: 6, asked: nil, using: &random) == nil)
  }

  @Test func `waits at least as long as it is asked to`() {
    var random = SystemRandomNumberGenerator()
    let policy = RetryPolicy.quick
    #expect(policy.wait(after: 0, asked: .seconds(30), using: &random) == .seconds(30))
    #expect(policy.wait(after: 0, asked: .zero, using: &random) ?? .zero >= .milliseconds(150))
    #expect(RetryPolicy.never.wait(after: 0, asked: .zero, using: &random) == nil)
  }

  @Test func `has a budget for each reason`() {
    var random = SystemRandomNumberGenerator()
    var budget = RepeatBudget(
      RetryPolicy(repetitions: 1, firstWait: .seconds(2), longestWait: .seconds(2)))
    let first = budget.take(
      [.renewed, .reconnect, .later(asked: nil)], within: .seconds(60), using: &random)
    #expect(first?.allowed == [.renewed, .reconnect, .later(asked: nil)])
    #expect(first?.wait ?? .zero >= .seconds(1))
    let second = budget.take(
      [.renewed, .reconnect, .later(asked: nil)], within: .seconds(60), using: &random)
    #expect(second?.allowed == [.reconnect])
    #expect(second?.wait == .zero)
    #expect(budget.take([.reconnect], within: .seconds(60), using: &random) != nil)
    #expect(budget.take([.reconnect, .renewed], within: .seconds(60), using: &random) == nil)
    #expect(budget.take([], within: .seconds(60), using: &random) == nil)
  }
}

@Suite(.timeLimit(.minutes(1))) struct `Pushes that APNs cannot serve just then` {
  private static let quick = RetryPolicy(
    repetitions: 3, firstWait: .milliseconds(4), longestWait: .milliseconds(10))

  private var configuration: APNsClientConfiguration {
    var configuration = APNsClientConfiguration()
    configuration.pushRetries = Self.quick
    return configuration
  }

  private func token(_ number: Int) throws -> DeviceToken {
    try #require(DeviceToken(String(repeating: "0", count: 62) + "\(10 + number)"))
  }

  private func push(
    _ bench: ClientBench, _ number: Int = 0, id: String? = nil, deadline: Duration = .seconds(10)
  ) async throws -> PushResult {
    await bench.client.push(
      try Push(AlertPayload(title: .plain("a"))), to: try token(number), id: id, deadline: deadline)
  }

  @Test(arguments: [
    (429, "TooManyRequests"), (503, "ServiceUnavailable"),
  ])
  func `go again with the same ID, until they are accepted`(status: Int, word: String) async throws
  {
    let server = try await ScriptedAPNs.start { _, count in
      count <= 3 ? ScriptedAPNs.refusal(status, word) : .accept
    }
    try await withBench(server, configuration: configuration) { bench in
      let id = "123e4567-e89b-12d3-a456-42665544000a"
      let result = try await push(bench, id: id)
      #expect(result.isAccepted)
      let requests = await server.requests()
      #expect(requests.map { $0.request.fields["apns-id"] } == [id, id, id, id])
      #expect(await server.connectionCount() == 1)
    }
  }

  @Test(arguments: [(500, "InternalServerError"), (502, "?"), (503, "?"), (504, "?")])
  func `do not go again where APNs may have acted`(status: Int, word: String) async throws {
    let server = try await ScriptedAPNs.start { _, _ in ScriptedAPNs.refusal(status, word) }
    try await withBench(server, configuration: configuration) { bench in
      let result = try await push(bench)
      #expect(result.refusal?.mayHaveActed == true)
      #expect(await server.requests().count == 1)
    }
  }

  @Test func `of two kinds do not wait for each other beyond the deadline`() {
    var budget = RepeatBudget(.quick)
    var random = SystemRandomNumberGenerator()
    let far = Repetition.later(asked: .seconds(3_600))
    let taken = budget.take([far, .renewed], within: .seconds(10), using: &random)
    #expect(taken?.allowed == [.renewed])
    #expect(taken?.wait == .zero)
    #expect(budget.take([far], within: .seconds(10), using: &random) == nil)
  }

  @Test func `are the caller's when the tries are used up`() async throws {
    let server = try await ScriptedAPNs.start { _, _ in
      ScriptedAPNs.refusal(503, "ServiceUnavailable")
    }
    try await withBench(server, configuration: configuration) { bench in
      let result = try await push(bench)
      #expect(result.refusal?.status == 503)
      #expect(await server.requests().count == 4)
    }
  }

  @Test func `do not wait for what the deadline would cut off`() async throws {
    let server = try await ScriptedAPNs.start { _, _ in
      ScriptedAPNs.refusal(429, "TooManyRequests", ["retry-after": "3600"])
    }
    try await withBench(server, configuration: configuration) { bench in
      // A test's time limit is a minute, so waiting an hour would fail it.
      let result = try await push(bench)
      #expect(result.refusal?.retryAfter == .seconds(3_600))
      #expect(await server.requests().count == 1)
    }
  }

  @Test func `end at once when their task is cancelled while they wait`() async throws {
    let server = try await ScriptedAPNs.start { _, _ in
      ScriptedAPNs.refusal(429, "TooManyRequests", ["retry-after": "30"])
    }
    try await withBench(server, configuration: configuration) { bench in
      let task = Task { try await push(bench, deadline: .seconds(50)) }
      await server.received(1)
      task.cancel()
      // Refused if the answer had come, unknown if not; within the time limit in both cases.
      let result = try await task.value
      #expect(!result.isAccepted)
      #expect(await server.requests().count == 1)
    }
  }

  @Test func `of a batch go again alone, the others' results are kept`() async throws {
    let tries = Lock<[String: Int]>([:])
    let server = try await ScriptedAPNs.start(raisesLimitTo: nil) { seen, _ in
      let path = seen.request.path
      let tried = tries.withLock { tries in
        tries[path, default: 0] += 1
        return tries[path] ?? 0
      }
      if path.hasSuffix("3") { return ScriptedAPNs.refusal(410, "Unregistered") }
      if path.hasSuffix("5") { return ScriptedAPNs.refusal(500, "InternalServerError") }
      return path.hasSuffix("7") && tried < 3
        ? ScriptedAPNs.refusal(429, "TooManyRequests") : .accept
    }
    try await withBench(server, configuration: configuration) { bench in
      let push = try Push(AlertPayload(title: .plain("a")))
      let tokens = try (0..<80).map { try token($0) }
      let results = await bench.client.push(push, to: tokens)
      for (token, result) in zip(tokens, results) {
        switch token.text.last {
        case "3": #expect(result.refusal?.reason == .unregistered)
        case "5": #expect(result.refusal?.reason == .internalServerError)
        default: #expect(result.isAccepted)
        }
      }
      let counts = tries.withLock { $0 }
      for (path, count) in counts {
        #expect(count == (path.hasSuffix("7") ? 3 : 1), "\(path)")
      }
    }
  }
}
