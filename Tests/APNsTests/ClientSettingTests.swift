import Clocks
import HTTP
import Testing
import Transport

@testable import APNs

@Suite(.timeLimit(.minutes(1))) struct `Settings of a client` {
  typealias Change = @Sendable (inout APNsClientConfiguration) -> Void

  private static let unusable: [(String, Change)] = [
    ("pushes.maxConnections", { $0.pushes.maxConnections = 0 }),
    ("broadcasts.idleAfter", { $0.broadcasts.idleAfter = .zero }),
    ("management.maxAge", { $0.management.maxAge = .zero }),
    ("pushes.grace", { $0.pushes.grace = .seconds(-1) }),
    ("pushes.deadlinesBeforeReplacement", { $0.pushes.deadlinesBeforeReplacement = 0 }),
    ("pushes.maxWaiting", { $0.pushes.maxWaiting = 0 }),
    ("broadcastRetries.repetitions", { $0.broadcastRetries.repetitions = -1 }),
    ("pushRetries.firstWait", { $0.pushRetries.firstWait = .seconds(Int64.max) }),
    ("managementRetries.longestWait", { $0.managementRetries.longestWait = .seconds(-1) }),
  ]

  @Test(arguments: 0..<9)
  func `are refused when nothing would work with them`(number: Int) async throws {
    let (name, change) = Self.unusable[number]
    let server = try await ScriptedAPNs.start()
    defer { server.stop() }
    var configuration = APNsClientConfiguration()
    change(&configuration)
    let error = #expect(throws: APNsSetupError.self) {
      try ClientBench(server, configuration: configuration)
    }
    #expect(error?.description.hasPrefix("The setting \(name) is ") == true, "\(error as Any)")
  }

  @Test func `may be as long as anybody likes`() async throws {
    var configuration = APNsClientConfiguration()
    configuration.pushes.idleAfter = .seconds(Int64.max)
    configuration.pushes.maxAge = .seconds(Int64.max)
    configuration.pushes.grace = .seconds(Int64.max)
    try await withBench(try await .start(), configuration: configuration) { bench in
      let token = try #require(DeviceToken(String(repeating: "0", count: 64)))
      let push = try Push(AlertPayload(title: .plain("a")))
      let result = await bench.client.push(push, to: token, deadline: .seconds(Int64.max))
      #expect(result.isAccepted)
      let results = await bench.client.push(push, to: [token], deadline: .seconds(Int64.max))
      #expect(results.map(\.isAccepted) == [true])
    }
  }
}

@Suite(.timeLimit(.minutes(1))) struct `A client that is closed` {
  @Test func `closes all of its connections at once`() async throws {
    let server = try await ScriptedAPNs.start(raisesLimitTo: nil) { seen, _ in
      seen.request.path.hasPrefix("/4/") ? .hold : .accept
    }
    try await withBench(server) { bench in
      async let broadcast = bench.broadcast()
      await server.received(1)
      async let closed: Void = bench.client.close(grace: .seconds(50))
      // Pushes are refused although the broadcast has its time still.
      let token = try #require(DeviceToken(String(repeating: "0", count: 64)))
      let push = try Push(AlertPayload(title: .plain("a")))
      var isRefused = false
      for _ in 0..<500 where !isRefused {
        isRefused = await bench.client.push(push, to: token).isNotSent
      }
      #expect(isRefused)
      await server.release()
      #expect(try await broadcast.isAccepted)
      await closed
    }
  }
}

@Suite(.timeLimit(.minutes(1))) struct `A batch with refused credentials` {
  private func tokens(_ count: Int) throws -> [DeviceToken] {
    try (0..<count).map {
      try #require(DeviceToken(String(repeating: "0", count: 60) + "\(1_000 + $0)"))
    }
  }

  @Test func `stops at the first refusal`() async throws {
    let server = try await ScriptedAPNs.start { _, _ in
      ScriptedAPNs.refusal(403, "InvalidProviderToken")
    }
    try await withBench(server) { bench in
      let push = try Push(AlertPayload(title: .plain("a")))
      let results = await bench.client.push(push, to: try tokens(20))
      #expect(results.count { $0.refusal?.status == 403 } == 1)
      #expect(results.count(where: \.isNotSent) == 19)
      #expect(await server.requests().count == 1)
    }
  }

  @Test func `sends one push to ask whether it may go on`() async throws {
    let server = try await ScriptedAPNs.start(raisesLimitTo: nil) { _, count in
      count <= 2 ? ScriptedAPNs.refusal(403, "InvalidProviderToken") : .accept
    }
    var configuration = APNsClientConfiguration()
    configuration.probeInterval = .milliseconds(100)
    try await withBench(server, configuration: configuration) { bench in
      let push = try Push(AlertPayload(title: .plain("a")))
      let tokens = try tokens(20)
      #expect(await bench.client.push(push, to: tokens[0]).refusal?.status == 403)
      while await server.requests().count == 1 { _ = await bench.client.push(push, to: tokens) }
      #expect(await server.requests().count == 2)
      var results: [PushResult] = []
      while await server.requests().count == 2 {
        results = await bench.client.push(push, to: tokens)
      }
      #expect(results.count(where: \.isAccepted) == 20)
      #expect(await server.requests().count == 22)
    }
  }
}
