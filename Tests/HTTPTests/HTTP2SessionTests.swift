import HTTP
import Testing

private let note = HTTPRequest(
  method: "POST", authority: "apns.example", path: "/4/broadcasts/apps/org.example.walk",
  fields: ["apns-push-type": "liveactivity", "apns-priority": "10"],
  body: Array(#"{"aps":{"event":"update"}}"#.utf8))

@Suite struct `A pair of HTTP/2 sessions` {
  @Test func `carries a request and its answer whole`() throws {
    var pipe = SessionPipe()
    let slot = try pipe.send(note)
    try pipe.settle()
    let (request, streamID) = try #require(pipe.requests.first)
    #expect(request == note)
    #expect(streamID == 1)
    pipe.server.respond(
      streamID: 1, status: 200, fields: ["apns-unique-id": "7", "apns-id": "8"],
      body: Array("{}".utf8))
    try pipe.settle()
    let response = try #require(pipe.outcomes[slot]?.response)
    #expect(response.status == 200)
    #expect(response.fields == ["apns-unique-id": "7", "apns-id": "8"])
    #expect(response.text == "{}")
    #expect(pipe.client.slotsInUse == 0)
    #expect(pipe.server.openStreams == 0)
  }

  @Test func `delivers fields in their order, also two of one name`() throws {
    var pipe = SessionPipe()
    var request = note
    request.fields.append("apns-id", "a")
    request.fields.append("x", "1")
    request.fields.append("apns-id", "b")
    _ = try pipe.send(request)
    try pipe.settle()
    #expect(pipe.requests.first?.request.fields == request.fields)
  }

  @Test func `fills a template with what differs`() throws {
    var pipe = SessionPipe()
    let template = try RequestTemplate(
      method: "POST", authority: "apns.example", path: nil,
      fields: ["apns-topic": "org.example.walk", "authorization": "bearer x"],
      volatile: ["apns-id"])
    #expect(template.volatileNames == [":path", "apns-id"])
    for number in 0..<3 {
      let slot = pipe.client.prepare(
        template, values: ["/3/device/\(number)", "id-\(number)"], body: [UInt8(number)])
      #expect(pipe.client.submit(slot))
    }
    try pipe.settle()
    #expect(pipe.requests.map(\.request.path) == ["/3/device/0", "/3/device/1", "/3/device/2"])
    #expect(pipe.requests.map(\.request.fields["apns-id"]) == ["id-0", "id-1", "id-2"])
    #expect(pipe.requests.map(\.request.body) == [[0], [1], [2]])
    #expect(pipe.requests.allSatisfy { $0.request.fields["apns-topic"] == "org.example.walk" })
  }

  @Test func `refuses heads that may not travel before they do`() throws {
    let bad: [HTTPFields] = [
      ["Apns-Topic": "x"], ["a b": "x"], ["x": "line\r\nbreak"], ["x": " blank"], ["": "x"],
      ["x": "nul\u{0}"],
    ]
    for fields in bad {
      #expect(throws: ExchangeFailure.self) {
        try RequestTemplate(method: "GET", authority: "a", path: "/", fields: fields)
      }
    }
    let template = try RequestTemplate(method: "GET", authority: "a", path: nil, fields: [:])
    #expect(template.accepts(["/ok"]))
    #expect(!template.accepts([]))
    #expect(!template.accepts([""]))
    #expect(!template.accepts(["/a b"]))
  }

  @Test func `sends bodies through a window of a few bytes`() throws {
    var pipe = SessionPipe(server: HTTP2ServerSession(settings: [.initialWindowSize(16)]))
    try pipe.settle()
    var request = note
    request.body = (0..<5_000).map { UInt8(truncatingIfNeeded: $0) }
    _ = try pipe.send(request)
    try pipe.settle()
    #expect(pipe.requests.first?.request.body == request.body)
  }

  @Test func `holds a body back while the server opens no window`() throws {
    var pipe = SessionPipe(
      server: HTTP2ServerSession(settings: [.initialWindowSize(16)], opensWindows: false))
    try pipe.settle()
    let slot = try pipe.send(note)
    try pipe.settle()
    #expect(pipe.requests.isEmpty)
    pipe.client.cancel(slot)
    try pipe.settle()
    #expect(pipe.client.slotsInUse == 0)
    #expect(pipe.server.openStreams == 0)
  }

  @Test func `takes an answer that comes before the body was sent`() throws {
    var pipe = SessionPipe(
      server: HTTP2ServerSession(
        limits: limits(body: 10), settings: [.initialWindowSize(20)], opensWindows: false))
    try pipe.settle()
    let slot = try pipe.send(note)
    try pipe.settle()
    #expect(pipe.outcomes[slot]?.response?.status == 413)
    #expect(pipe.client.slotsInUse == 0)
    #expect(pipe.server.openStreams == 0)
  }

  @Test func `refuses heads and bodies over the server's limits`() throws {
    var pipe = SessionPipe(server: HTTP2ServerSession(limits: limits(body: 26, fields: 3)))
    var longer = note
    longer.body.append(0)
    var wider = note
    wider.fields.append("a", "1")
    wider.fields.append("b", "1")
    let slots = [try pipe.send(note), try pipe.send(longer), try pipe.send(wider)]
    try pipe.settle()
    #expect(pipe.requests.map(\.streamID) == [1])
    #expect(pipe.outcomes[slots[0]] == nil)
    #expect(pipe.outcomes[slots[1]]?.response?.status == 413)
    #expect(pipe.outcomes[slots[2]]?.response?.status == 431)
  }

  @Test func `bounds the answers that a client takes`() throws {
    var small = ResponseLimits()
    small.bodyBytes = 100
    small.fields = 2
    var pipe = SessionPipe(client: HTTP2ClientSession(limits: small))
    let slots = try (0..<3).map { _ in try pipe.send(note) }
    try pipe.settle()
    pipe.server.respond(
      streamID: 1, status: 200, fields: [:], body: .init(repeating: 1, count: 101))
    pipe.server.respond(streamID: 3, status: 200, fields: ["a": "", "b": "", "c": ""], body: [])
    pipe.server.respond(
      streamID: 5, status: 200, fields: [:], body: .init(repeating: 1, count: 100))
    try pipe.settle()
    #expect(pipe.outcomes[slots[0]]?.isUnknown(.responseTooLarge) == true)
    #expect(pipe.outcomes[slots[1]]?.isUnknown(.responseTooLarge) == true)
    #expect(pipe.outcomes[slots[2]]?.response?.body.count == 100)
    #expect(pipe.client.slotsInUse == 0)
  }

  @Test func `tells refused, reset and unanswered streams apart`() throws {
    var pipe = SessionPipe()
    let slots = try (0..<3).map { _ in try pipe.send(note) }
    try pipe.settle()
    pipe.server.reset(streamID: 1, errorCode: HTTP2ErrorCode.refusedStream)
    pipe.server.reset(streamID: 3, errorCode: HTTP2ErrorCode.internalError)
    try pipe.settle()
    #expect(pipe.outcomes[slots[0]]?.isNotSent(.refusedStream) == true)
    #expect(pipe.outcomes[slots[1]]?.isUnknown(.reset(HTTP2ErrorCode.internalError)) == true)
    let lost = ExchangeFailure(.connectionLost, "gone")
    #expect(pipe.client.abandon(slots[2], lost).isUnknown(.connectionLost))
    let never = try pipe.send(note)
    #expect(pipe.client.abandon(never, lost).isNotSent(.connectionLost))
  }

  @Test func `calls what is above a GOAWAY's last stream not sent`() throws {
    var pipe = SessionPipe()
    let slots = try (0..<4).map { _ in try pipe.send(note) }
    try pipe.settle()
    pipe.server.goAway(
      lastStreamID: 3, errorCode: 0, debugData: Array(#"{"reason":"Shutdown"}"#.utf8))
    try pipe.settle()
    let expected = GoAway(
      lastStreamID: 3, errorCode: 0, debugData: Array(#"{"reason":"Shutdown"}"#.utf8))
    #expect(pipe.clientEvents.contains(.goAwayReceived(expected)))
    #expect(pipe.outcomes[slots[2]]?.isNotSent(.goAway(expected)) == true)
    #expect(pipe.outcomes[slots[3]]?.isNotSent(.goAway(expected)) == true)
    #expect(pipe.outcomes[slots[0]] == nil)
    #expect(!pipe.client.isFinished)
    pipe.server.respond(streamID: 1, status: 200, fields: [:], body: [])
    pipe.server.respond(streamID: 3, status: 200, fields: [:], body: [])
    try pipe.settle()
    #expect(pipe.outcomes[slots[0]]?.response?.status == 200)
    #expect(pipe.outcomes[slots[1]]?.response?.status == 200)
    #expect(pipe.client.isFinished)
  }

  @Test func `ends gracefully in two steps`() throws {
    var pipe = SessionPipe()
    let first = try pipe.send(note)
    try pipe.settle()
    pipe.server.goAway(lastStreamID: .max, errorCode: 0)
    try pipe.settle()
    #expect(pipe.outcomes.isEmpty)
    pipe.server.goAway(lastStreamID: nil, errorCode: 0)
    pipe.server.respond(streamID: 1, status: 200, fields: [:], body: [])
    try pipe.settle()
    #expect(pipe.outcomes[first]?.response?.status == 200)
    #expect(pipe.client.isFinished)
  }

  @Test func `waits between the two steps for requests that are on their way`() throws {
    var pipe = SessionPipe()
    try pipe.settle()
    let late = try pipe.send(note)
    let onTheirWay = try pipe.takeFromClient()
    pipe.server.goAway(lastStreamID: .max, errorCode: 0)
    try pipe.carryToClient()
    #expect(!pipe.server.isFinished)
    try pipe.deliverToServer(onTheirWay)
    try pipe.settle()
    pipe.server.respond(streamID: 1, status: 200, fields: [:], body: [])
    try pipe.settle()
    #expect(pipe.outcomes[late]?.response?.status == 200)
    #expect(!pipe.server.isFinished)
    pipe.server.goAway(lastStreamID: nil, errorCode: 0)
    try pipe.settle()
    #expect(pipe.server.isFinished)
  }

  @Test func `cuts the debug data of a GOAWAY at a kilobyte`() throws {
    var pipe = SessionPipe()
    try pipe.settle()
    pipe.server.goAway(
      lastStreamID: nil, errorCode: 2, debugData: .init(repeating: 65, count: 16_000))
    try pipe.settle()
    let announcement = pipe.clientEvents.compactMap {
      if case .goAwayReceived(let announcement) = $0 { announcement } else { nil }
    }
    #expect(announcement.first?.debugData.count == 1_024)
    #expect(announcement.first?.errorCode == 2)
  }

  @Test func `runs out of stream IDs in order`() throws {
    var pipe = SessionPipe(client: HTTP2ClientSession(firstStreamID: .max - 2))
    let last = try (0..<2).map { _ in try pipe.send(note) }
    let template = try RequestTemplate(note)
    let tooMany = pipe.client.prepare(template, values: [], body: [])
    #expect(!pipe.client.submit(tooMany))
    pipe.client.discard(tooMany)
    try pipe.settle()
    for (_, streamID) in pipe.requests {
      pipe.server.respond(streamID: streamID, status: 200, fields: [:], body: [])
    }
    try pipe.settle()
    #expect(last.allSatisfy { pipe.outcomes[$0]?.response?.status == 200 })
    #expect(pipe.requests.map(\.streamID) == [.max - 2, .max])
  }

  @Test func `learns a limit of streams that is lowered`() throws {
    var pipe = SessionPipe(server: HTTP2ServerSession(settings: [.maxConcurrentStreams(500)]))
    try pipe.settle()
    #expect(pipe.client.peerMaxConcurrentStreams == 500)
    pipe.server.submit([.maxConcurrentStreams(1)])
    try pipe.settle()
    #expect(pipe.client.peerMaxConcurrentStreams == 1)
    #expect(pipe.serverEvents.filter { $0 == .settingsAcknowledged }.count == 2)
  }

  @Test func `skips informational answers and trailers`() throws {
    var pipe = SessionPipe()
    let slot = try pipe.send(note)
    try pipe.settle()
    // HEADERS :status 103 with x: y, then HEADERS :status 200, DATA, and trailers z: 1.
    try pipe.deliver(
      headers(stream: 1, flags: 4, block: literal(":status", "103") + literal("x", "y")))
    try pipe.deliver(headers(stream: 1, flags: 4, block: [0x88]))
    try pipe.deliver([0, 0, 2, 0, 0, 0, 0, 0, 1] + Array("ok".utf8))
    try pipe.deliver(headers(stream: 1, flags: 5, block: literal("z", "1")))
    let response = try #require(pipe.outcomes[slot]?.response)
    #expect(response == HTTPResponse(status: 200, body: Array("ok".utf8)))
  }

  @Test(arguments: [
    literal(":status", "abc"), literal("no-status", "1"), [0x88] + literal("Upper", "x"),
    [0x88] + literal("connection", "close"),
  ])
  func `calls an answer that breaks the rules malformed`(_ block: [UInt8]) throws {
    var pipe = SessionPipe()
    let slot = try pipe.send(note)
    try pipe.settle()
    try pipe.deliver(headers(stream: 1, flags: 5, block: block))
    try pipe.settle()
    #expect(pipe.outcomes[slot]?.isUnknown(.malformedResponse) == true)
  }

  @Test func `answers pings`() throws {
    var pipe = SessionPipe()
    pipe.client.ping(42)
    try pipe.settle()
    #expect(pipe.clientEvents.contains(.pingAcknowledged(42)))
    #expect(pipe.serverEvents.contains(.pingReceived))
  }

  @Test func `does not go on after bytes that are no HTTP/2`() throws {
    var pipe = SessionPipe()
    try pipe.settle()
    try pipe.deliver(Array("HTTP/1.1 400 Bad Request\r\n\r\n".utf8))
    try pipe.settle()
    #expect(pipe.client.isFinished)
    let server = HTTP2ServerSession()
    #expect(throws: HTTP2ProtocolError.self) {
      try server.receive(Array("GET / HTTP/1.1\r\nHost: a\r\n\r\n".utf8).span.bytes)
    }
  }
}

private func limits(body: Int, fields: Int = 64) -> RequestLimits {
  var limits = RequestLimits()
  limits.bodyBytes = body
  limits.fields = fields
  return limits
}

/// A literal field without indexing and without Huffman coding, RFC 7541, section 6.2.2.
private func literal(_ name: String, _ value: String) -> [UInt8] {
  [0, UInt8(name.utf8.count)] + Array(name.utf8) + [UInt8(value.utf8.count)] + Array(value.utf8)
}

private func headers(stream: UInt8, flags: UInt8, block: [UInt8]) -> [UInt8] {
  [0, 0, UInt8(block.count), 1, flags, 0, 0, 0, stream] + block
}
