import Clocks
import Crypto
import HTTP
import Testing
import Transport

@testable import APNs

private let payload = Array("{}".utf8)

private func tokens(_ count: Int) throws -> [DeviceToken] {
  try (0..<count).map { number in
    let digits = String(number, radix: 16)
    return try #require(
      DeviceToken(String(repeating: "0", count: 64 - digits.utf8.count) + digits))
  }
}

extension ClientBench {
  /// So many pushes at once, each with a wait of its own.
  fileprivate func pushes(
    _ count: Int, deadline: Duration = .seconds(20)
  ) async throws -> [PushResult] {
    let push = try Push.alert(payload)
    let tokens = try tokens(count)
    return await withTaskGroup(of: PushResult.self) { group in
      for token in tokens {
        group.addTask {
          await self.client.push(push, to: token, deadline: deadline)
        }
      }
      return await group.reduce(into: []) { $0.append($1) }
    }
  }
}

extension ClientBench {
  fileprivate func expectPushed(at location: SourceLocation = #_sourceLocation) async throws {
    let result = try await pushes(1).first
    #expect(result?.isAccepted == true, "\(result as Any)", sourceLocation: location)
  }
}

@Suite(.timeLimit(.minutes(1))) struct `A pool of connections` {
  @Test func `grows with the load, and shrinks to one when there is none`() async throws {
    let server = try await ScriptedAPNs.start(
      raisesLimitTo: nil, script: { _, count in (2...13).contains(count) ? .hold : .accept },
      configure: { $0.settings = [.maxConcurrentStreams(4)] })
    var configuration = APNsClientConfiguration()
    configuration.pushes.maxConnections = 3
    configuration.pushes.idleAfter = .milliseconds(60)
    try await withBench(server, configuration: configuration) { bench in
      try await bench.expectPushed()
      #expect(await server.connectionCount() == 1)
      let waiting = Task { try await bench.pushes(12) }
      // Four fit on each connection, so there are three of them now.
      await server.received(13)
      #expect(await bench.client.health.pushes.open == 3)
      #expect(await bench.client.health.pushes.streamLimit == 12)
      await server.release()
      let results = try await waiting.value
      #expect(results.count(where: \.isAccepted) == 12)
      await server.connectionsOpen(1)
      #expect(await bench.client.health.pushes.open == 1)
      try await bench.expectPushed()
    }
  }

  @Test func `lets callers wait for room, and refuses more than it can hold`() async throws {
    let server = try await ScriptedAPNs.start(
      raisesLimitTo: nil, script: { _, count in (2...3).contains(count) ? .hold : .accept },
      configure: { $0.settings = [.maxConcurrentStreams(2)] })
    var configuration = APNsClientConfiguration()
    configuration.pushes.maxConnections = 1
    configuration.pushes.http.maxQueued = 10
    try await withBench(server, configuration: configuration) { bench in
      try await bench.expectPushed()
      // Two have a stream and ten wait for one; the others learn at once that there is no room.
      let waiting = Task { try await bench.pushes(400) }
      await server.received(3)
      while await bench.client.health.pushes.inFlight < 12 { await Task.yield() }
      await server.release()
      let results = try await waiting.value
      let refused = results.count { result in
        guard case .notSent(.exchange(let failure)) = result else { return false }
        return failure.kind == .queueFull
      }
      #expect(results.count(where: \.isAccepted) == 400 - refused)
      // Those who came late may have found room that others had left.
      #expect(refused <= 388 && refused > 0)
    }
  }

  @Test func `bounds how many wait while there is no connection`() async throws {
    let server = try await ScriptedAPNs.start()
    var hosts = server.hosts
    hosts.push.endpoint = .tcp(host: "127.0.0.1", port: 1)
    var configuration = APNsClientConfiguration()
    configuration.pushes.maxWaiting = 30
    try await withBench(server, configuration: configuration, hosts: hosts) { bench in
      let results = try await bench.pushes(400, deadline: .seconds(3))
      let kinds = results.map { result -> ExchangeFailure.Kind? in
        if case .notSent(.exchange(let failure)) = result { failure.kind } else { nil }
      }
      #expect(kinds.count { $0 == .queueFull } == 370)
      #expect(kinds.count { $0 == .deadline } == 30)
      #expect(await bench.client.health.pushes.waiting == 0)
    }
  }

  @Test func `holds nobody back for good when no stream is allowed for a while`() async throws {
    let server = try await ScriptedAPNs.start(
      raisesLimitTo: nil,
      configure: {
        $0.settings = [.maxConcurrentStreams(0)]
      })
    var configuration = APNsClientConfiguration()
    configuration.pushes.maxConnections = 1
    try await withBench(server, configuration: configuration) { bench in
      let waiting = Task { try await bench.pushes(300) }
      await server.connectionsOpen(1)
      await server.onConnections { $0.last?.submitSettings(maxConcurrentStreams: 50) }
      let results = try await waiting.value
      #expect(results.count(where: \.isAccepted) == 300)
      #expect(await server.mostOpenStreams() <= 50)
    }
  }

  @Test func `replaces a connection whose windows stay shut`() async throws {
    // The server takes no byte of a body, so no request of ours is ever whole.
    let server = try await ScriptedAPNs.start(
      raisesLimitTo: nil,
      configure: {
        $0.settings = [.maxConcurrentStreams(100), .initialWindowSize(0)]
        $0.opensWindows = false
      })
    try await withBench(server) { bench in
      var lost = 0
      while await bench.client.health.pushes.replaced == 0 {
        // On a slow machine there may be no connection yet by the deadline.
        let result = try await bench.pushes(1, deadline: .milliseconds(60)).first
        #expect(result?.isAccepted == false)
        if result?.isUnknown == true { lost += 1 }
      }
      #expect(lost == 3)
      await server.connectionsClosed(1)
      // Reset by us, so that the server need not keep them.
      #expect(await server.requests().isEmpty)
    }
  }

  @Test func `outlives a batch that is too late as a whole`() async throws {
    let server = try await ScriptedAPNs.start(raisesLimitTo: nil) { _, count in
      (2...9).contains(count) ? .silence : .accept
    }
    try await withBench(server) { bench in
      try await bench.expectPushed()
      let results = await bench.client.push(
        try .alert(payload), to: try tokens(8), deadline: .milliseconds(300))
      #expect(results.count(where: \.isUnknown) == 8)
      #expect(await bench.client.health.pushes.replaced == 0)
      try await bench.expectPushed()
      #expect(await server.connectionCount() == 1)
    }
  }

  @Test func `ends the stream of a task that is cancelled`() async throws {
    let server = try await ScriptedAPNs.start(raisesLimitTo: nil) { _, _ in .silence }
    try await withBench(server) { bench in
      let task = Task { try await bench.pushes(1) }
      await server.received(1)
      task.cancel()
      let result = try await task.value.first
      #expect(result?.isUnknown == true)
      #expect(await server.streamsReset(1) == [HTTP2ErrorCode.cancel])
    }
  }
}

@Suite(.timeLimit(.minutes(1))) struct `A connection that stops answering` {
  private var watchful: APNsClientConfiguration {
    var configuration = APNsClientConfiguration()
    configuration.pushes.maxConnections = 1
    configuration.pushes.http.pingAfterSilence = .seconds(50)
    configuration.pushes.http.pingWhenWaiting = .milliseconds(400)
    configuration.pushes.http.pingTimeout = .milliseconds(800)
    return configuration
  }

  @Test func `is given up, what was not sent goes elsewhere, what was is reported`() async throws {
    // One stream at a time, so of the ten requests one is sent and nine wait behind it.
    let server = try await ScriptedAPNs.start(raisesLimitTo: nil) { seen, _ in
      seen.connection == 0 && seen.stream > 1 ? .hang : .accept
    } configure: {
      $0.settings = [.maxConcurrentStreams(1)]
    }
    try await withBench(server, configuration: watchful) { bench in
      try await bench.expectPushed()
      let results = try await bench.pushes(10)
      #expect(results.count(where: \.isAccepted) == 9)
      let lost = try #require(results.first { $0.isUnknown })
      guard case .unknown(let failure) = lost else { return }
      #expect("\(failure)".contains("did not answer a PING"))
      // Each of the ten reached a server once.
      let paths = await server.requests().dropFirst().map(\.request.path)
      #expect(paths.count == 10 && Set(paths).count == 10)
    }
  }

  @Test func `is told from one that is slow`() async throws {
    let server = try await ScriptedAPNs.start(raisesLimitTo: nil) { _, count in
      count == 1 ? .silence : .accept
    }
    try await withBench(server, configuration: watchful) { bench in
      // The first has no answer for longer than silence is borne; its PINGs have.
      let first = Task { try await bench.pushes(1, deadline: .seconds(3)) }
      await server.received(1)
      let failure = try await first.value.first
      guard case .unknown(.exchange(let reason)) = failure else {
        Issue.record("\(String(describing: failure))")
        return
      }
      #expect(reason.kind == .deadline)
      try await bench.expectPushed()
      #expect(await server.connectionCount() == 1)
    }
  }
}

@Suite(.timeLimit(.minutes(1))) struct `A name whose address changes` {
  @Test func `is looked up anew for each connection`() async throws {
    let authority = try ScriptedAPNs.makeAuthority()
    let old = try await ScriptedAPNs.start(raisesLimitTo: nil, authority: authority)
    let new = try await ScriptedAPNs.start(
      raisesLimitTo: nil, authority: authority, address: "127.0.0.2", port: old.port)
    let answers = Lock(["127.0.0.1"])
    var configuration = APNsClientConfiguration()
    configuration.pushes.http.connect.addresses = { _ in answers.withLock { $0 } }
    var hosts = old.hosts
    hosts.push.endpoint = .tcp(host: "push.example", port: old.port)
    try await withBench(old, configuration: configuration, hosts: hosts) { bench in
      try await bench.expectPushed()
      answers.withLock { $0 = ["127.0.0.2"] }
      // What is there goes on until it ends.
      try await bench.expectPushed()
      await old.onConnections { $0.last?.goAway(lastStreamID: nil) }
      await old.connectionsClosed(1)
      try await bench.expectPushed()
      #expect(await old.requests().count == 2)
      #expect(await new.requests().count == 1)
    }
    new.stop()
  }
}

@Suite(.timeLimit(.minutes(1))) struct `An address that answers and says nothing` {
  @Test func `is not tried first again`() async throws {
    let server = try await ScriptedAPNs.start(raisesLimitTo: nil, address: "127.0.0.2")
    let loop = try EventLoop(name: "mute")
    // TCP comes about, and then nobody speaks TLS.
    let mute = try await StreamListener.bind(
      .tcp(host: "127.0.0.78", port: server.port), on: loop
    ) { $0.start(Mute()) }
    var configuration = APNsClientConfiguration()
    configuration.pushes.http.connect.addresses = { _ in ["127.0.0.78", "127.0.0.2"] }
    configuration.pushes.http.connect.deadline = .seconds(1)
    var hosts = server.hosts
    hosts.push.endpoint = .tcp(host: "push.example", port: server.port)
    try await withBench(server, configuration: configuration, hosts: hosts) { bench in
      try await bench.expectPushed()
      #expect(await bench.client.health.pushes.failedToOpen >= 1)
    }
    mute.close()
    loop.stop()
  }

  private final class Mute: StreamHandler {
    func streamReceived(_ bytes: RawSpan) {}
    func streamWillFlush() {}
    func streamDrained() {}
    func streamClosed(_ closure: StreamClosure) {}
  }
}

@Suite(.timeLimit(.minutes(1))) struct `Several apps, teams and environments` {
  @Test func `in one process share a key's token, and no connection`() async throws {
    let worlds = [try await ScriptedAPNs.start(), try await ScriptedAPNs.start()]
    let loop = try EventLoop(name: "clients")
    var clients: [(client: APNsClient, team: String)] = []
    var credentials: [ProviderCredentials] = []
    for team in ["TEAM111111", "TEAM222222"] {
      let key = try ProviderKey(teamID: team, keyID: "KEY1234567", key: .generate())
      let shared = ProviderCredentials(key: key, clock: ServiceClock())
      credentials.append(shared)
      for bundleID in ["com.example.trains", "com.example.ships"] {
        for (world, environment) in zip(worlds, APNsEnvironment.allCases) {
          let app = APNsApp(bundleID: try BundleID(bundleID), environment: environment)
          let client = try APNsClient(
            app: app, hosts: world.hosts, credentials: .token(shared), clock: ServiceClock(),
            loop: loop)
          clients.append((client, team))
        }
      }
    }
    let push = try Push(AlertPayload(title: .plain("a")))
    await withTaskGroup(of: Void.self) { group in
      for (client, _) in clients {
        group.addTask {
          for _ in 0..<10 { _ = await client.push(push, to: (try? tokens(4)) ?? []) }
        }
      }
    }
    for world in worlds {
      let requests = await world.requests()
      #expect(requests.count == 4 * 40)
      let byConnection = Dictionary(grouping: requests, by: \.connection)
      #expect(byConnection.count == 4)
      for requests in byConnection.values {
        #expect(Set(requests.map(\.authorization)).count == 1)
        #expect(Set(requests.map { $0.request.fields["apns-topic"] }).count == 1)
      }
      #expect(Set(requests.map(\.authorization)).count == 2)
    }
    #expect(credentials.map(\.signedCount) == [1, 1])
    for (client, _) in clients { await client.close() }
    for world in worlds { world.stop() }
    loop.stop()
  }
}
