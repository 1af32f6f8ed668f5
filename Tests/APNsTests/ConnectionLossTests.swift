import HTTP
import Testing
import Transport

@testable import APNs

/// Remembers which value came first.
final class FirstSeen: Sendable {
  private let first = Lock<String?>(nil)

  func isFirst(_ value: String) -> Bool {
    first.withLock { first in
      if first == nil { first = value }
      return first == value
    }
  }
}

/// A peer that takes connections and never says a word.
///
/// `@unchecked Sendable` is right because its streams are touched on its loop only.
private final class SilentPeer: StreamHandler, @unchecked Sendable {
  private let came: AsyncStream<Void>.Continuation
  private let ended: AsyncStream<Void>.Continuation

  init(came: AsyncStream<Void>.Continuation, ended: AsyncStream<Void>.Continuation) {
    self.came = came
    self.ended = ended
  }

  func streamReceived(_ bytes: RawSpan) { came.yield() }
  func streamWillFlush() {}
  func streamDrained() {}
  func streamClosed(_ closure: StreamClosure) { ended.yield() }
}

@Suite(.timeLimit(.minutes(1))) struct `When a connection ends` {
  @Test func `that was never made, closing the client ends the attempt`() async throws {
    let loop = try EventLoop(name: "silent")
    let (arrivals, came) = AsyncStream<Void>.makeStream()
    let (ends, ended) = AsyncStream<Void>.makeStream()
    let peer = SilentPeer(came: came, ended: ended)
    let listener = try await StreamListener.bind(.tcp(host: "127.0.0.1", port: 0), on: loop) {
      $0.start(peer)
    }
    defer { listener.close() }
    let host = APNsHost(
      name: "localhost", port: 443, endpoint: .tcp(host: "127.0.0.1", port: listener.port))
    var configuration = APNsClientConfiguration()
    // Far beyond what the test may take.
    configuration.broadcasts.http.connect.deadline = .seconds(600)
    let clock = ServiceClock()
    let client = try APNsClient(
      app: APNsApp(bundleID: try BundleID("org.example.walk"), environment: .development),
      hosts: APNsHosts(push: host, management: host),
      credentials: .token(
        ProviderCredentials(
          key: ProviderKey(teamID: "ABCDE12345", keyID: "ABCDE12345", key: .generate()),
          clock: clock)),
      clock: clock, configuration: configuration, loop: loop)
    await client.warmUp()
    for await _ in arrivals { break }
    await client.close()
    for await _ in ends { break }
  }

  @Test func `requests above the last stream go again, once`() async throws {
    // The first connection goes away after its eleventh request, saying that it saw only one.
    let server = try await ScriptedAPNs.start(raisesLimitTo: nil) { seen, _ in
      guard seen.connection == 0, seen.stream > 1 else { return .accept }
      return seen.stream == 21 ? .goAway(last: 1, reason: "Shutdown") : .silence
    }
    try await withBench(server) { bench in
      try await bench.expectAccepted(-1)
      let results = try await withThrowingTaskGroup(of: BroadcastResult.self) { group in
        for number in 0..<10 { group.addTask { try await bench.broadcast(number) } }
        return try await group.reduce(into: []) { $0.append($1) }
      }
      #expect(results.areAllAccepted)
      let again = await server.requests().filter { $0.connection > 0 }
      #expect(again.count == 10)
      #expect(Set(again.map { String(decoding: $0.request.body, as: UTF8.self) }).count == 10)
    }
  }

  @Test func `requests that APNs may have seen do not go again`() async throws {
    let server = try await ScriptedAPNs.start(raisesLimitTo: nil) { seen, _ in
      seen.connection == 0 && seen.stream > 1 ? .abort : .accept
    }
    try await withBench(server) { bench in
      try await bench.expectAccepted(1)
      let lost = try await bench.broadcast(2)
      #expect(lost.isUnknown)
      try await bench.expectAccepted(3)
      let bodies = await server.requests().map { String(decoding: $0.request.body, as: UTF8.self) }
      #expect(bodies == [#"{"n":1}"#, #"{"n":2}"#, #"{"n":3}"#])
    }
  }

  @Test func `a stream that APNs refuses unprocessed goes again`() async throws {
    let server = try await ScriptedAPNs.start(raisesLimitTo: nil) { _, count in
      count <= 3 ? .reset(HTTP2ErrorCode.refusedStream) : .accept
    }
    try await withBench(server) { bench in
      try await bench.expectAccepted()
      #expect(await server.requests().count == 4)
    }
  }

  @Test func `every caller has exactly one answer, through many a GOAWAY`() async throws {
    // Each connection takes 50 requests; those that travel behind are lost.
    let server = try await ScriptedAPNs.start(raisesLimitTo: nil) { seen, _ in
      switch seen.stream {
      case ...99: .accept
      case 101: .goAway(last: 99, reason: "Shutdown")
      default: .silence
      }
    }
    try await withBench(server) { bench in
      let accepted = try await withThrowingTaskGroup(of: Int.self) { group in
        for worker in 0..<8 {
          group.addTask {
            var accepted = 0
            for number in 0..<100 {
              let result = try await bench.broadcast(worker * 100 + number)
              accepted += result.isAccepted ? 1 : 0
            }
            return accepted
          }
        }
        return try await group.reduce(0, +)
      }
      #expect(accepted == 800)
      // Nothing that was answered came twice.
      let requests = await server.requests().filter { $0.stream < 100 }
      #expect(requests.count == 800)
      #expect(Set(requests.map { $0.request.body }).count == 800)
    }
  }

  @Test func `a connection that answers nothing is replaced`() async throws {
    let server = try await ScriptedAPNs.start(raisesLimitTo: nil) { seen, _ in
      seen.connection == 0 && seen.stream > 1 ? .silence : .accept
    }
    try await withBench(server) { bench in
      try await bench.expectAccepted()
      var unanswered = 0
      while unanswered < 3 {
        // On a busy machine this may pass before the request is sent, which tells nothing.
        let lost = try await bench.broadcast(deadline: .milliseconds(30))
        unanswered += lost.isUnknown ? 1 : 0
        #expect(!lost.isAccepted)
      }
      try await bench.expectAccepted()
      #expect(await server.connectionCount() == 2)
      #expect(await bench.client.health.broadcasts.replaced == 1)
    }
  }

  @Test func `the reason of a GOAWAY is known`() async throws {
    let server = try await ScriptedAPNs.start(raisesLimitTo: nil) { seen, _ in
      switch seen.connection {
      case 0: .goAway(last: 0, reason: "IdleTimeout")
      case 1: .goAway(last: 0, reason: "NewWord")
      default: .accept
      }
    }
    try await withBench(server) { bench in
      try await bench.expectAccepted()
      let status = await bench.client.health.broadcasts
      #expect(status.goAways == 2)
      #expect(status.goAwayReasons == ["IdleTimeout": 1, "other": 1])
      #expect(status.lastEnd?.contains("NewWord") == true)
    }
  }

  @Test func `for the credentials, others are not tried`() async throws {
    let server = try await ScriptedAPNs.start(raisesLimitTo: nil) { _, _ in
      .goAway(last: 0, reason: "BadCertificateEnvironment")
    }
    try await withBench(server) { bench in
      for _ in 0..<3 {
        guard case .credentialsRefused(let refusal)? = try await bench.broadcast().notSent else {
          Issue.record("was sent")
          return
        }
        #expect(refusal.reason == .badCertificateEnvironment)
      }
      #expect(await server.requests().count == 1)
      #expect(await server.connectionCount() == 1)
    }
  }
}

@Suite(.timeLimit(.minutes(1))) struct `When there is no connection` {
  private func failure(_ hosts: APNsHosts, _ server: ScriptedAPNs) async throws -> String {
    let bench = try ClientBench(server, hosts: hosts)
    let result = try await bench.broadcast(deadline: .seconds(4))
    await bench.stop()
    return "\(try #require(result.notSent))"
  }

  @Test func `a certificate for another name is named`() async throws {
    let server = try await ScriptedAPNs.start(names: [.dns("other.example")])
    let message = try await failure(server.hosts, server)
    #expect(message.contains("localhost"))
    #expect(message.contains("other.example") || message.contains("ostname"))
  }

  @Test func `an unknown authority is named`() async throws {
    let server = try await ScriptedAPNs.start()
    let other = try await ScriptedAPNs.start()
    var hosts = server.hosts
    hosts.trust = other.trust
    let message = try await failure(hosts, server)
    other.stop()
    #expect(message.contains("Test authority"))
  }

  @Test func `a certificate that has expired is named, with its dates`() async throws {
    let server = try await ScriptedAPNs.start(age: .seconds(10 * 86_400))
    let message = try await failure(server.hosts, server)
    #expect(message.contains("expired"))
    #expect(message.contains("CN=localhost") && message.contains("issued by /CN=Test authority"))
    #expect(message.contains("is valid from 20"))
  }

  @Test func `a certificate that is not yet valid is named`() async throws {
    let server = try await ScriptedAPNs.start(age: .seconds(-10 * 86_400))
    #expect(try await failure(server.hosts, server).contains("not yet valid"))
  }

  @Test func `a server that wants another certificate of ours is quoted`() async throws {
    let stranger = try ScriptedAPNs.makeAuthority()
    let files = try await PushCertificates.make(
      userID: "com.example.trains", topics: ["com.example.trains"])
    let server = try await ScriptedAPNs.start(clientTrustPEM: try stranger.certificatePEM())
    let certificate = try ClientCertificate(
      certificatesPEM: files.chainPEM, privateKeyPEM: files.keyPEM)
    try await withBench(server, credentials: .certificate(certificate)) { bench in
      let result = try await bench.broadcast(deadline: .seconds(1))
      #expect("\(try #require(result.notSent))".contains("unknown ca"))
    }
  }

  @Test func `a proxy that opens no tunnel is named, and its password is not`() async throws {
    let server = try await ScriptedAPNs.start()
    var hosts = server.hosts
    hosts.proxy = try HTTPProxy(host: "127.0.0.1", port: 1, user: "me", password: "secret")
    let message = try await failure(hosts, server)
    #expect(message.contains("the proxy 127.0.0.1:1 cannot be reached"))
    #expect(!message.contains("secret"))
  }

  @Test func `a peer without HTTP/2 is suspected to be a proxy`() async throws {
    let server = try await ScriptedAPNs.start(alpn: ["http/1.1"])
    let message = try await failure(server.hosts, server)
    #expect(message.contains("HTTP/2") || message.contains("ALPN") || message.contains("protocol"))
  }

  @Test func `a closed port is named`() async throws {
    let server = try await ScriptedAPNs.start()
    var hosts = server.hosts
    hosts.broadcast.endpoint = .tcp(host: "127.0.0.1", port: 1)
    let message = try await failure(hosts, server)
    #expect(message.contains("127.0.0.1:1"))
  }

  @Test func `a request that is cancelled ends at once`() async throws {
    let server = try await ScriptedAPNs.start()
    var hosts = server.hosts
    hosts.broadcast.endpoint = .tcp(host: "127.0.0.1", port: 1)
    let bench = try ClientBench(server, hosts: hosts)
    let task = Task { try await bench.broadcast(deadline: .seconds(50)) }
    task.cancel()
    #expect(try await task.value.isNotSent)
    await bench.stop()
  }

  @Test func `a client that was closed sends nothing`() async throws {
    try await withBench(try await .start()) { bench in
      try await bench.expectAccepted()
      await bench.client.close()
      let late = try await bench.broadcast()
      #expect(late.isNotSent)
      #expect(await bench.server.requests().count == 1)
    }
  }
}
