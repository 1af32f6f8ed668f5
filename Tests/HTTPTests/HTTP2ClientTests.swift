import Clocks
import Glibc
import HTTP
import Testing
import Transport

private let note = HTTPRequest(
  method: "POST", authority: "apns.example", path: "/3/device/abc",
  fields: ["apns-topic": "org.example.walk"], body: Array("{}".utf8))
private let patience: Duration = .seconds(20)

@Suite(.timeLimit(.minutes(1))) struct `An HTTP/2 client` {
  @Test func `gets answers over TLS`() async throws {
    let tls = try TestTLS.make()
    let server = try await ScriptedServer.start(tls: tls.server) { connection, request, stream in
      connection.respond(
        stream: stream, status: 200, fields: ["apns-id": request.path], body: request.body)
    }
    defer { server.stop() }
    let loop = try EventLoop(name: "client")
    defer { loop.stop() }
    let client = try await HTTP2Client.connect(to: server.endpoint, tls: tls.client, on: loop)
    for number in 0..<3 {
      var request = note
      request.path = "/\(number)"
      let response = try #require(await client.send(request, deadline: patience).response)
      #expect(response.fields == ["apns-id": "/\(number)"])
      #expect(response.body == note.body)
    }
    await client.close()
    #expect(await client.isClosed)
    #expect(await client.slotsInUse == 0)
  }

  @Test func `names the protocol when the peer speaks another`() async throws {
    let tls = try TestTLS.make(serverALPN: [], clientALPN: ["h2"])
    let server = try await ScriptedServer.start(tls: tls.server)
    defer { server.stop() }
    let loop = try EventLoop(name: "client")
    defer { loop.stop() }
    let error = await #expect(throws: HTTP2ConnectError.self) {
      try await HTTP2Client.connect(to: server.endpoint, tls: tls.client, on: loop)
    }
    #expect("\(try #require(error))".contains("does not speak HTTP/2"))
  }

  @Test func `sends more at once than the peer allows, in turn`() async throws {
    var configuration = HTTP2ServerConfiguration()
    configuration.settings = [.maxConcurrentStreams(3)]
    let most = Lock(0)
    let server = try await ScriptedServer.start(configuration: configuration) {
      connection, _, stream in
      most.withLock { $0 = max($0, connection.openStreams) }
      connection.respond(stream: stream, status: 200)
    }
    defer { server.stop() }
    try await withClient(of: server) { client in
      await withTaskGroup(of: Bool.self) { group in
        for _ in 0..<200 {
          group.addTask { await client.send(note, deadline: patience).response?.status == 200 }
        }
        for await isGood in group { #expect(isGood) }
      }
      #expect(await client.streamLimit == 3)
      #expect(await client.slotsInUse == 0)
    }
    #expect(most.withLock { $0 } == 3)
  }

  @Test func `obeys a limit that is lowered and raised while requests wait`() async throws {
    var configuration = HTTP2ServerConfiguration()
    configuration.settings = [.maxConcurrentStreams(50)]
    let server = try await ScriptedServer.start(configuration: configuration) {
      connection, request, stream in
      if request.path == "/lower" { connection.submitSettings(maxConcurrentStreams: 1) }
      if request.path == "/raise" { connection.submitSettings(maxConcurrentStreams: 40) }
      connection.respond(stream: stream, status: 200)
    }
    defer { server.stop() }
    try await withClient(of: server) { client in
      let template = try RequestTemplate(method: "GET", authority: "a", path: nil, fields: [:])
      let paths = ["/lower"] + (0..<100).map { "/\($0)" } + ["/raise"]
      let outcomes = await client.sendAll(
        template, paths.map { BatchItem(values: [$0], body: []) }, deadline: patience)
      #expect(outcomes.allSatisfy { $0.response?.status == 200 })
      #expect(await client.streamLimit == 40)
      #expect(await client.slotsInUse == 0)
    }
  }

  @Test func `says what a GOAWAY left undone, and takes no more`() async throws {
    let events = EventLog()
    let server = try await ScriptedServer.start { connection, _, stream in
      guard stream == 9 else { return }
      connection.goAway(lastStreamID: 5, debugData: Array(#"{"reason":"Shutdown"}"#.utf8))
      for answered in [1, 3, 5] as [Int32] { connection.respond(stream: answered, status: 200) }
    }
    defer { server.stop() }
    try await withClient(of: server, events: events) { client in
      let template = try RequestTemplate(note)
      let items = (0..<5).map { _ in BatchItem(values: [], body: [1]) }
      let outcomes = await client.sendAll(template, items, deadline: patience)
      #expect(outcomes[..<3].allSatisfy { $0.response?.status == 200 })
      for outcome in outcomes[3...] {
        guard case .notSent(let failure) = outcome, case .goAway(let goAway) = failure.kind else {
          Issue.record("\(outcome)")
          continue
        }
        #expect(goAway.lastStreamID == 5)
        #expect(failure.message.contains("Shutdown"))
      }
      let late = await client.send(note, deadline: patience)
      #expect(late.failure != nil && late.response == nil)
      await events.closed()
      #expect(await client.slotsInUse == 0)
    }
  }

  @Test func `loses nothing when the peer ends gracefully under load`() async throws {
    let server = try await ScriptedServer.start { connection, _, stream in
      if stream == 41 { connection.goAway(lastStreamID: .max) }
      if stream == 61 { connection.goAway() }
      connection.respond(stream: stream, status: 200)
    }
    defer { server.stop() }
    try await withClient(of: server) { client in
      let items = (0..<300).map { _ in BatchItem(values: [], body: [1]) }
      let outcomes = await client.sendAll(try RequestTemplate(note), items, deadline: patience)
      let answered = outcomes.count { $0.response != nil }
      let unsent = outcomes.count { if case .notSent = $0 { true } else { false } }
      #expect(answered + unsent == 300)
      #expect(answered >= 21)
      #expect(await server.requestCount() == answered)
    }
  }

  @Test func `tells written from unwritten when the connection is cut`() async throws {
    var configuration = HTTP2ServerConfiguration()
    configuration.settings = [.maxConcurrentStreams(2)]
    let server = try await ScriptedServer.start(configuration: configuration) {
      connection, _, stream in
      if stream == 3 { connection.abort() }
    }
    defer { server.stop() }
    try await withClient(of: server) { client in
      let items = (0..<5).map { _ in BatchItem(values: [], body: []) }
      let outcomes = await client.sendAll(try RequestTemplate(note), items, deadline: patience)
      #expect(outcomes[..<2].allSatisfy { $0.isUnknown(.connectionLost) })
      #expect(outcomes[2...].allSatisfy { $0.isNotSent(.connectionLost) })
      #expect(await client.isClosed)
      #expect(await client.send(note, deadline: patience).isNotSent(.connectionLost))
    }
  }

  @Test func `resets what has no answer by its deadline`() async throws {
    let server = try await ScriptedServer.start { connection, request, stream in
      if request.path != "/never" { connection.respond(stream: stream, status: 200) }
    }
    defer { server.stop() }
    try await withClient(of: server) { client in
      var silent = note
      silent.path = "/never"
      let outcome = await client.send(silent, deadline: .milliseconds(200))
      #expect(outcome.isUnknown(.deadline))
      await server.streamsOpen(0)
      #expect(await client.send(note, deadline: patience).response?.status == 200)
      #expect(await client.slotsInUse == 0)
    }
  }

  @Test func `does not send what finds no stream by its deadline`() async throws {
    var configuration = HTTP2ServerConfiguration()
    configuration.settings = [.maxConcurrentStreams(0)]
    let server = try await ScriptedServer.start(configuration: configuration)
    defer { server.stop() }
    var bounded = HTTP2ClientConfiguration()
    bounded.maxQueued = 10
    try await withClient(of: server, configuration: bounded) { client in
      let outcomes = await withTaskGroup(of: ExchangeOutcome.self) { group in
        for _ in 0..<25 {
          group.addTask { await client.send(note, deadline: .milliseconds(50)) }
        }
        return await group.reduce(into: []) { $0.append($1) }
      }
      #expect(outcomes.count { $0.isNotSent(.deadline) } >= 10)
      #expect(outcomes.count { $0.isNotSent(.deadline) || $0.isNotSent(.queueFull) } == 25)
      let items = (0..<50).map { _ in BatchItem(values: [], body: []) }
      let batch = await client.sendAll(
        try RequestTemplate(note), items, deadline: .milliseconds(20))
      #expect(batch.allSatisfy { $0.isNotSent(.deadline) })
      await server.onLast { $0.submitSettings(maxConcurrentStreams: 5) }
      #expect(await client.send(note, deadline: patience).response?.status == 200)
      #expect(await client.slotsInUse == 0)
    }
  }

  @Test func `sends nothing whose deadline passed while the loop was busy`() async throws {
    let paths = Lock<[String]>([])
    let server = try await ScriptedServer.start { connection, request, stream in
      paths.withLock { $0.append(request.path) }
      connection.respond(stream: stream, status: 200)
    }
    defer { server.stop() }
    try await withClient(of: server) { client in
      let late = HTTPRequest(method: "GET", authority: "a", path: "/late")
      let outcome = await Task(executorPreference: client.loop.tasks) {
        // Runs behind the request and before anything is written.
        client.loop.execute { client.loop.execute { usleep(30_000) } }
        return await client.send(late, deadline: .milliseconds(10))
      }.value
      #expect(outcome.isNotSent(.deadline), "\(outcome)")
      #expect(await client.send(note, deadline: patience).response?.status == 200)
      #expect(await client.slotsInUse == 0)
    }
    #expect(paths.withLock { $0 } == [note.path])
  }

  @Test func `leaves no stream open when many tasks are cancelled`() async throws {
    var configuration = HTTP2ServerConfiguration()
    configuration.settings = [.maxConcurrentStreams(20)]
    let server = try await ScriptedServer.start(configuration: configuration) {
      connection, request, stream in
      // A third is never answered.
      if request.path == "/" || stream % 3 != 0 { connection.respond(stream: stream, status: 200) }
    }
    defer { server.stop() }
    try await withClient(of: server) { client in
      let tasks = (0..<400).map { number in
        Task(executorPreference: client.loop.tasks) {
          await client.send(note, deadline: patience)
        }
      }
      await server.requestsReceived(20)
      for task in tasks { task.cancel() }
      for task in tasks {
        switch await task.value {
        case .answered: break
        case .notSent(let failure), .unknown(let failure): #expect(failure.kind == .cancelled)
        }
      }
      await server.streamsOpen(0)
      #expect(await client.activeStreams == 0)
      #expect(await client.queued == 0)
      #expect(await client.slotsInUse == 0)
      var another = note
      another.path = "/"
      #expect(await client.send(another, deadline: patience).response?.status == 200)
    }
  }

  @Test func `cancels a batch whole`() async throws {
    var configuration = HTTP2ServerConfiguration()
    configuration.settings = [.maxConcurrentStreams(4)]
    let server = try await ScriptedServer.start(configuration: configuration) { _, _, _ in }
    defer { server.stop() }
    try await withClient(of: server) { client in
      let template = try RequestTemplate(note)
      let task = Task {
        await client.sendAll(
          template, (0..<9).map { _ in BatchItem(values: [], body: []) }, deadline: patience)
      }
      await server.requestsReceived(4)
      task.cancel()
      let outcomes = await task.value
      #expect(outcomes.count { $0.isUnknown(.cancelled) } == 4)
      #expect(outcomes.count { $0.isNotSent(.cancelled) } == 5)
      await server.streamsOpen(0)
      #expect(await client.slotsInUse == 0)
    }
  }

  @Test func `measures a ping`() async throws {
    let server = try await ScriptedServer.start()
    defer { server.stop() }
    try await withClient(of: server) { client in
      #expect(await client.ping(timeout: patience) != nil)
    }
  }

  @Test(arguments: [true, false])
  func `gives a silent peer up`(withRequestOpen: Bool) async throws {
    let server = try await ScriptedServer.start { connection, _, _ in connection.stopReading() }
    defer { server.stop() }
    var quick = HTTP2ClientConfiguration()
    quick.pingAfterSilence = .milliseconds(30)
    quick.pingTimeout = .milliseconds(30)
    let events = EventLog()
    try await withClient(of: server, configuration: quick, events: events) { client in
      if withRequestOpen {
        // On a slow machine the peer may have been given up before the request.
        let outcome = await client.send(note, deadline: patience)
        #expect(outcome.failure?.kind == .connectionLost)
      } else {
        await server.onLast { $0.stopReading() }
      }
      await events.closed()
      #expect(await client.isClosed)
    }
  }

  @Test func `keeps a quiet peer that answers pings`() async throws {
    let server = try await ScriptedServer.start()
    defer { server.stop() }
    var quick = HTTP2ClientConfiguration()
    quick.pingAfterSilence = .milliseconds(5)
    quick.pingTimeout = patience
    try await withClient(of: server, configuration: quick) { client in
      await server.pingsReceived(4)
      #expect(await client.send(note, deadline: patience).response?.status == 200)
    }
  }

  @Test func `ends for want of use`() async throws {
    let server = try await ScriptedServer.start()
    defer { server.stop() }
    var brief = HTTP2ClientConfiguration()
    brief.idleTimeout = .milliseconds(20)
    let events = EventLog()
    try await withClient(of: server, configuration: brief, events: events) { _ in
      #expect(await events.closed().contains("idle"))
    }
  }

  @Test func `ends open requests before it closes`() async throws {
    let server = try await ScriptedServer.start { _, _, _ in }
    defer { server.stop() }
    try await withClient(of: server) { client in
      let open = Task { await client.send(note, deadline: patience) }
      await server.requestsReceived(1)
      let closing = Task { await client.close(grace: patience) }
      while await !client.isDraining { await Task.yield() }
      #expect(await client.send(note, deadline: patience).isNotSent(.draining))
      await server.onLast { $0.respond(stream: 1, status: 204) }
      #expect(await open.value.response?.status == 204)
      await closing.value
      #expect(await client.isClosed)
    }
  }

  @Test func `cuts off what outlives the grace`() async throws {
    let server = try await ScriptedServer.start { _, _, _ in }
    defer { server.stop() }
    try await withClient(of: server) { client in
      let open = Task { await client.send(note, deadline: patience) }
      await server.requestsReceived(1)
      await client.close(grace: .milliseconds(10))
      #expect(await open.value.isUnknown(.connectionLost))
    }
  }

  @Test func `drains when the stream IDs are used up`() async throws {
    let server = try await ScriptedServer.start()
    defer { server.stop() }
    var last = HTTP2ClientConfiguration()
    last.firstStreamID = .max - 8
    try await withClient(of: server, configuration: last) { client in
      let items = (0..<8).map { _ in BatchItem(values: [], body: []) }
      let outcomes = await client.sendAll(try RequestTemplate(note), items, deadline: patience)
      #expect(outcomes[..<5].allSatisfy { $0.response?.status == 200 })
      #expect(outcomes[5...].allSatisfy { $0.isNotSent(.draining) })
      #expect(await client.isDraining)
    }
  }

  @Test func `gives up on a peer that says nothing of HTTP/2`() async throws {
    let loop = try EventLoop(name: "client")
    defer { loop.stop() }
    let mute = try await StreamListener.bind(.tcp(host: "127.0.0.1", port: 0), on: loop) {
      $0.start(Mute())
    }
    var quick = HTTP2ClientConfiguration()
    quick.connect.deadline = .milliseconds(50)
    let error = await #expect(throws: HTTP2ConnectError.self) {
      try await HTTP2Client.connect(
        to: .tcp(host: "127.0.0.1", port: mute.port), tls: nil, configuration: quick, on: loop)
    }
    #expect("\(try #require(error))".contains("no HTTP/2 settings"))
    mute.close()
  }

  private func withClient(
    of server: ScriptedServer,
    configuration: HTTP2ClientConfiguration = HTTP2ClientConfiguration(),
    events: EventLog = EventLog(),
    _ body: (HTTP2Client) async throws -> Void
  ) async throws {
    let loop = try EventLoop(name: "client")
    defer { loop.stop() }
    let client = try await HTTP2Client.connect(
      to: server.endpoint, tls: nil, configuration: configuration, on: loop
    ) { events.note($0) }
    try await body(client)
    await client.close()
  }
}

private final class Mute: StreamHandler {
  func streamReceived(_ bytes: RawSpan) {}
  func streamWillFlush() {}
  func streamDrained() {}
  func streamClosed(_ closure: StreamClosure) {}
}
