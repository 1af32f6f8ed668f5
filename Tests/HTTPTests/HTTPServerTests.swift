import Clocks
import Synchronization
import Testing
import Transport

@testable import HTTP

private let patience: Duration = .seconds(20)

@Suite(.timeLimit(.minutes(1))) struct `An HTTP/1.1 server` {
  @Test func `answers a client over TLS, again and again on one connection`() async throws {
    let tls = try TestTLS.make(serverALPN: ["http/1.1"], clientALPN: ["http/1.1"])
    try await TestSite.run(tls: tls.server) { site in
      let client = HTTP1Client(endpoint: site.endpoint, tls: tls.client, loop: site.loop)
      for number in 0..<3 {
        let outcome = await client.send(
          HTTPRequest(method: "POST", path: "/echo", body: [UInt8(number)]), deadline: patience)
        #expect(outcome.response?.body == [UInt8(number)])
        #expect(outcome.response?.fields["date"]?.hasSuffix("GMT") == true)
      }
      #expect(await site.server.counts().connectionsAccepted == 1)
      await client.close()
    }
  }

  @Test func `listens on a Unix socket`() async throws {
    let path = "/tmp/fieldcast-http-\(UInt32.random(in: 0 ... .max)).sock"
    try await TestSite.run(on: .unix(path: path)) { site in
      let client = HTTP1Client(endpoint: .unix(path: path), loop: site.loop)
      let outcome = await client.send(HTTPRequest(method: "GET", path: "/"), deadline: patience)
      #expect(outcome.response?.status == 200)
      await client.close()
    }
  }

  @Test func `answers requests that were sent in a row in their order`() async throws {
    try await TestSite.run { site in
      let peer = try await RawPeer.connect(to: site.endpoint, on: site.loop)
      peer.send(
        (0..<20).map { "GET /slow?\($0) HTTP/1.1\r\nHost: a\r\n\r\n" }.joined()
          + "GET /last HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
      let text = await peer.receivedAll()
      let paths = text.split(separator: "\r\n").filter { $0.hasPrefix("x-path") }
      #expect(paths == (0..<20).map { "x-path: /slow?\($0)" } + ["x-path: /last"])
    }
  }

  @Test func `answers a client that has ended its own side`() async throws {
    try await TestSite.run { site in
      for path in ["/echo", "/slow"] {
        let text = try HalfClosingClient.ask(
          site.endpoint, "POST \(path) HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello")
        #expect(text.hasPrefix("HTTP/1.1 200 OK\r\n"), "\(path): \(text)")
        #expect(text.hasSuffix(path == "/echo" ? "hello" : "ok"), "\(path): \(text)")
      }
      // Half a request is none.
      #expect(try HalfClosingClient.ask(site.endpoint, "GET / HTTP/1.1\r\nHo") == "")
    }
  }

  @Test func `sends HEAD no body and tells its length`() async throws {
    try await TestSite.run { site in
      let client = HTTP1Client(endpoint: site.endpoint, loop: site.loop)
      let response = await client.send(HTTPRequest(method: "HEAD", path: "/"), deadline: patience)
        .response
      #expect(response?.fields["content-length"] == "2")
      #expect(response?.body == [])
      #expect(
        await client.send(HTTPRequest(method: "GET", path: "/"), deadline: patience).response?.text
          == "ok")
      await client.close()
    }
  }

  @Test func `says Continue before a body, and 413 instead of it`() async throws {
    try await TestSite.run { site in
      let peer = try await RawPeer.connect(to: site.endpoint, on: site.loop)
      let head = "POST /echo HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: "
      peer.send(head + "5\r\n\r\n")
      #expect(await peer.received("\r\n\r\n") == "HTTP/1.1 100 Continue\r\n\r\n")
      peer.send("hello")
      #expect(await peer.received("hello").hasSuffix("\r\n\r\nhello"))
      peer.send(head + "500000\r\n\r\n")
      let text = await peer.receivedAll()
      #expect(text.contains("HTTP/1.1 413 Content Too Large\r\n"))
      #expect(text.count(of: "100 Continue") == 1)
    }
  }

  @Test func `answers what it cannot read with a problem, and closes`() async throws {
    try await TestSite.run { site in
      let peer = try await RawPeer.connect(to: site.endpoint, on: site.loop)
      peer.send("GET / HTTP/1.1\r\nHost : a\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n")
      let text = await peer.receivedAll()
      #expect(text.hasPrefix("HTTP/1.1 400 Bad Request\r\n"))
      #expect(text.contains("application/problem+json"))
      #expect(text.count(of: "HTTP/1.1") == 1)
      #expect(await site.server.counts().requestsRefused == 1)
    }
  }

  @Test func `cuts a head that drips in`() async throws {
    var quick = HTTPServerConfiguration()
    quick.headDeadline = .milliseconds(60)
    try await TestSite.run(configuration: quick) { site in
      let peer = try await RawPeer.connect(to: site.endpoint, on: site.loop)
      let drip = Task {
        for byte in "GET / HTTP/1.1\r\nx: " + String(repeating: "y", count: 2_000) {
          peer.send(String(byte))
          try await site.loop.sleep(for: .milliseconds(5))
        }
      }
      #expect(await peer.receivedAll().hasPrefix("HTTP/1.1 408 "))
      drip.cancel()
      #expect(await site.server.counts().slowClientsCut == 1)
    }
  }

  @Test func `cuts a body that drips in, and takes one that keeps the rate`() async throws {
    var quick = HTTPServerConfiguration()
    quick.bodyGrace = .milliseconds(200)
    quick.bodyLeastBytesPerSecond = 1_000
    try await TestSite.run(configuration: quick) { site in
      let head = "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 4000\r\n\r\n"
      let slow = try await RawPeer.connect(to: site.endpoint, on: site.loop)
      slow.send(head + "x")
      #expect(await slow.receivedAll().hasPrefix("HTTP/1.1 408 "))
      // Half of it at once earns 2 s; the rest comes when the grace alone would be over.
      let fair = try await RawPeer.connect(to: site.endpoint, on: site.loop)
      fair.send(head + String(repeating: "x", count: 2_000))
      try await site.loop.sleep(for: .milliseconds(300))
      fair.send(String(repeating: "x", count: 2_000))
      #expect(await fair.received("200 OK").hasPrefix("HTTP/1.1 200 OK"))
      fair.abort()
    }
  }

  @Test func `closes idle connections, and only those`() async throws {
    var quick = HTTPServerConfiguration()
    quick.idleTimeout = .seconds(1)
    try await TestSite.run(configuration: quick) { site in
      let silent = try await RawPeer.connect(to: site.endpoint, on: site.loop)
      #expect(await silent.receivedAll().isEmpty)
      let peer = try await RawPeer.connect(to: site.endpoint, on: site.loop)
      peer.send("GET /gate HTTP/1.1\r\nHost: a\r\n\r\n")
      try await site.loop.sleep(for: .milliseconds(1_300))
      site.gate.open()
      #expect(await peer.receivedAll().hasPrefix("HTTP/1.1 200 OK"))
      #expect(await site.server.counts().slowClientsCut == 0)
    }
  }

  @Test func `tells a client when the handler takes too long`() async throws {
    var quick = HTTPServerConfiguration()
    quick.handlerDeadline = .milliseconds(20)
    try await TestSite.run(configuration: quick) { site in
      let client = HTTP1Client(endpoint: site.endpoint, loop: site.loop)
      let outcome = await client.send(
        HTTPRequest(method: "GET", path: "/never"), deadline: patience)
      #expect(outcome.response?.status == 503)
      await client.close()
    }
  }

  @Test func `refuses connections beyond the limit`() async throws {
    var narrow = HTTPServerConfiguration()
    narrow.maxConnections = 1
    try await TestSite.run(configuration: narrow) { site in
      let first = HTTP1Client(endpoint: site.endpoint, loop: site.loop)
      let request = HTTPRequest(method: "GET", path: "/")
      #expect(await first.send(request, deadline: patience).response?.status == 200)
      let second = try await RawPeer.connect(to: site.endpoint, on: site.loop)
      #expect(await second.receivedAll().hasPrefix("HTTP/1.1 503 "))
      await first.close()
      #expect(await site.server.counts().connectionsRefused == 1)
    }
  }

  @Test func `does not send an answer that would split`() async throws {
    try await TestSite.run { site in
      let client = HTTP1Client(endpoint: site.endpoint, loop: site.loop)
      let outcome = await client.send(
        HTTPRequest(method: "GET", path: "/splitting"), deadline: patience)
      #expect(outcome.response?.status == 500)
      #expect(outcome.response?.fields["injected"] == nil)
      await client.close()
    }
  }

  @Test func `lets running requests end while it drains, and refuses new ones`() async throws {
    try await TestSite.run { site in
      let busy = try await RawPeer.connect(to: site.endpoint, on: site.loop)
      let idle = try await RawPeer.connect(to: site.endpoint, on: site.loop)
      idle.send("GET /first HTTP/1.1\r\nHost: a\r\n\r\n")
      _ = await idle.received("ok")
      busy.send("GET /gate HTTP/1.1\r\nHost: a\r\n\r\n")
      await site.gate.reached()
      let draining = Task { await site.server.drain(grace: patience) }
      while (try? await StreamConnector.connect(to: site.endpoint, on: site.loop)) != nil {}
      idle.send("GET /second HTTP/1.1\r\nHost: a\r\n\r\n")
      #expect(await idle.receivedAll().contains("HTTP/1.1 503 "))
      site.gate.open()
      let text = await busy.receivedAll()
      #expect(text.hasPrefix("HTTP/1.1 200 OK"))
      #expect(text.contains("connection: close"))
      await draining.value
      #expect(await site.server.openConnections() == 0)
    }
  }

  @Test func `cuts what outlives the grace`() async throws {
    try await TestSite.run { site in
      let busy = try await RawPeer.connect(to: site.endpoint, on: site.loop)
      busy.send("GET /never HTTP/1.1\r\nHost: a\r\n\r\n")
      while await site.server.counts().requestsReceived == 0 { await Task.yield() }
      await site.server.drain(grace: .milliseconds(20))
      #expect(await busy.receivedAll().isEmpty)
    }
  }

  @Test func `talks to curl`() async throws {
    try await TestSite.run { site in
      guard case .tcp(_, let port) = site.endpoint else { return }
      let output = "/tmp/fieldcast-curl-\(port).txt"
      let curl = try await Subprocess.start(
        "/usr/bin/curl",
        arguments: [
          "-sS", "-H", "Transfer-Encoding: chunked", "--data-binary", "a,b,c",
          "http://127.0.0.1:\(port)/echo", "-o", output, "--fail", "--next", "-sS", "--fail", "-I",
          "http://127.0.0.1:\(port)/",
        ], on: site.loop)
      #expect(await curl.waitForExit() == 0)
    }
  }
}

@Suite(.timeLimit(.minutes(1))) struct `Server-sent events` {
  @Test func `reach a listener, also those from before it came`() async throws {
    try await TestSite.run { site in
      let client = HTTP1Client(endpoint: site.endpoint, loop: site.loop)
      let log = TextLog()
      let listening = Task {
        await client.receive(HTTPRequest(method: "GET", path: "/events"), deadline: patience) {
          log.append($0)
        }
      }
      await log.contains("data: early\n\n")
      site.lastEvents.send(ServerSentEvent(name: "note", id: "7", data: "a\r\nb\u{2028}c"))
      await log.contains("id: 7\nevent: note\ndata: a\ndata: b\u{2028}c\n\n")
      await log.contains(":\n\n")
      site.lastEvents.close()
      #expect(await listening.value.response?.fields["content-type"] == "text/event-stream")
      await site.listenersGone(1)
    }
  }

  @Test func `cut a listener off that does not keep up`() async throws {
    try await TestSite.run { site in
      let peer = try await RawPeer.connect(to: site.endpoint, on: site.loop)
      peer.send("GET /events HTTP/1.1\r\nHost: a\r\n\r\n")
      _ = await peer.received("early")
      peer.stopReading()
      let event = ServerSentEvent(data: String(repeating: "x", count: 60_000))
      let source = site.lastEvents
      while !source.isClosed {
        source.send(event)
        try await site.loop.sleep(for: .milliseconds(1))
      }
      #expect(await site.server.counts().slowClientsCut == 1)
      // It is told why, should it read on.
      peer.goOnReading()
      #expect(await peer.receivedAll().hasSuffix("retry: 2000\nevent: bye\ndata: tooSlow\n\n"))
      #expect(await site.server.counts().slowClientsCut == 1)
    }
  }

  @Test func `reach a listener that reads, however long they are`() async throws {
    try await TestSite.run { site in
      let peer = try await RawPeer.connect(to: site.endpoint, on: site.loop)
      peer.send("GET /events HTTP/1.1\r\nHost: a\r\n\r\n")
      _ = await peer.received("early")
      let source = site.lastEvents
      // Half as much again as may be unread.
      source.send(ServerSentEvent(data: String(repeating: "x", count: 300_000) + "whole"))
      _ = await peer.received("whole\n\n")
      source.send(ServerSentEvent(data: "another"))
      _ = await peer.received("another\n\n")
      #expect(!source.isClosed)
      source.close()
      #expect(await site.server.counts().slowClientsCut == 0)
    }
  }

  @Test func `wait for a connection, unless they are too many`() {
    let sink = ServerSentEvents.Sink(write: { _ in }, close: {}, unread: { 0 })
    func waiting(_ count: Int, of bytes: Int) -> Int? {
      let events = ServerSentEvents(maxPendingBytes: 1_000)
      for _ in 0..<count {
        events.send(ServerSentEvent(data: String(repeating: "x", count: bytes)))
      }
      return events.attach(sink)?.count
    }
    #expect(waiting(1, of: 5_000) == 1)
    #expect(waiting(2, of: 600) == 2)
    #expect(waiting(3, of: 600) == nil)
  }

  @Test func `leave a listener alone that reads slowly`() async throws {
    var quick = HTTPServerConfiguration()
    quick.writeTimeout = .milliseconds(150)
    try await TestSite.run(configuration: quick) { site in
      let peer = try await RawPeer.connect(to: site.endpoint, on: site.loop)
      peer.send("GET /events HTTP/1.1\r\nHost: a\r\n\r\n")
      _ = await peer.received("early")
      let source = site.lastEvents
      let event = ServerSentEvent(data: String(repeating: "x", count: 100_000))
      func unread() async -> Int {
        await withUnsafeContinuation { continuation in
          site.server.loop.execute { continuation.resume(returning: source.unreadBytes) }
        }
      }
      let end = MonotonicClock.now() + .milliseconds(900)
      while MonotonicClock.now() < end, !source.isClosed {
        // At each heartbeat something is unread; now and then it reads some of it.
        peer.stopReading()
        while await unread() < 100_000, !source.isClosed { source.send(event) }
        try await site.loop.sleep(for: .milliseconds(20))
        peer.goOnReading()
        try await site.loop.sleep(for: .milliseconds(1))
      }
      #expect(!source.isClosed)
      #expect(await site.server.counts().slowClientsCut == 0)
      source.close()
    }
  }

  @Test func `cut a listener off that reads nothing, however little waits for it`() async throws {
    var quick = HTTPServerConfiguration()
    quick.writeTimeout = .milliseconds(200)
    try await TestSite.run(configuration: quick) { site in
      let peer = try await RawPeer.connect(to: site.endpoint, on: site.loop)
      peer.send("GET /events HTTP/1.1\r\nHost: a\r\n\r\n")
      _ = await peer.received("early")
      peer.stopReading()
      let source = site.lastEvents
      // Until the system takes no more, and then nothing but what the server sends by itself.
      let event = ServerSentEvent(data: String(repeating: "x", count: 20_000))
      func unread() async -> Int {
        await withUnsafeContinuation { continuation in
          site.server.loop.execute { continuation.resume(returning: source.unreadBytes) }
        }
      }
      // More than stands between two flushes.
      while await unread() < 60_000 {
        source.send(event)
        try await site.loop.sleep(for: .milliseconds(1))
      }
      while !source.isClosed { try await site.loop.sleep(for: .milliseconds(5)) }
      #expect(await site.server.counts().slowClientsCut == 1)
      await site.listenersGone(1)
    }
  }

  @Test func `have each line of their data on a line of its own`() {
    let event = ServerSentEvent(name: "a\nb", data: "1\r\n2\r3\n\n4")
    #expect(
      String(decoding: event.bytes, as: UTF8.self)
        == "event: a b\ndata: 1\ndata: 2\ndata: 3\ndata: \ndata: 4\n\n")
    #expect(String(decoding: ServerSentEvent(data: "").bytes, as: UTF8.self) == "data: \n\n")
  }

  @Test func `end when the server drains or the listener goes`() async throws {
    try await TestSite.run { site in
      let gone = try await RawPeer.connect(to: site.endpoint, on: site.loop)
      gone.send("GET /events HTTP/1.1\r\nHost: a\r\n\r\n")
      _ = await gone.received("early")
      gone.abort()
      await site.listenersGone(1)
      let stays = try await RawPeer.connect(to: site.endpoint, on: site.loop)
      stays.send("GET /events HTTP/1.1\r\nHost: a\r\n\r\n")
      _ = await stays.received("early")
      await site.server.drain(grace: patience)
      #expect(site.lastEvents.isClosed)
      #expect(await stays.receivedAll().hasSuffix("event: bye\ndata: shutdown\n\n"))
    }
  }
}
