import Clocks
import Transport

/// One client's connection to an ``HTTPServer``: reads requests, runs the handler, writes answers.
///
/// `@unchecked Sendable` is right because it is touched on its loop only.
final class HTTP1Connection: @unchecked Sendable {
  private enum Phase {
    /// Nothing of a next request is here.
    case idle
    case readingHead
    case readingBody(HTTP1RequestHead, begun: Moment)
    case handling(HTTP1RequestHead)
    /// An answer is unread by the client, who must read before it is served further.
    case blocked
    case streaming(ServerSentEvents)
    /// The last answer was written.
    case ending
  }

  private let server: HTTPServer
  private let stream: ByteStream
  private let loop: EventLoop
  private var parser: HTTP1RequestParser
  private var phase = Phase.idle
  private var timer: LoopTimer?
  /// Counts requests, so that an answer that comes after its deadline finds no taker.
  private var requestNumber = 0
  /// Bytes of events that were given to the stream.
  private var eventBytes = 0
  /// The client has sent its last request; it may wait for the answer.
  private var isInputEnded = false
  private var isClosed = false

  init(_ stream: ByteStream, server: HTTPServer) {
    self.stream = stream
    self.server = server
    loop = stream.loop
    parser = HTTP1RequestParser(
      limits: server.configuration.limits, scheme: server.isTLS ? "https" : "http")
  }

  var peerAddress: String { stream.peerAddress }

  private var configuration: HTTPServerConfiguration { server.configuration }

  func begin() {
    stream.allowsHalfClose = true
    stream.start(self)
    arm(after: configuration.idleTimeout) { $0.closeIdle() }
  }

  // MARK: What the server asks and tells

  /// Whether no request has begun.
  var isIdle: Bool { if case .idle = phase { !isClosed } else { isClosed } }

  func serverDrains() { endEvents(saying: .shutdown) }

  func closeIdle() {
    guard case .idle = phase, !isClosed else { return }
    // Who leaves an answer unread for so long does not get an orderly end.
    if stream.pendingOutputBytes > 0 { cutSlow() } else { finish() }
  }

  func cut() { stream.abort() }

  // MARK: Reading

  private func process() {
    do throws(HTTP1Error) {
      while try step() {}
    } catch {
      server.statistics.requestsRefused += 1
      refuse(error.status, error.message)
    }
  }

  /// - Returns: whether there may be more to read.
  private func step() throws(HTTP1Error) -> Bool {
    switch phase {
    case .handling, .blocked, .streaming, .ending:
      holdBackInput()
      return false
    case .idle, .readingHead, .readingBody: break
    }
    switch try parser.next() {
    case .head(let head): try headReceived(head)
    case .end(let body): requestReceived(body)
    case nil:
      waitForMore()
      return false
    }
    return true
  }

  private func headReceived(_ head: HTTP1RequestHead) throws(HTTP1Error) {
    try parser.beginBody(limit: configuration.bodyLimit(head.request))
    phase = .readingBody(head, begun: loop.now)
    if head.expectsContinue, parser.bufferedBytes == 0 { stream.write(HTTP1Writer.continueLine) }
    disarm()
  }

  private func requestReceived(_ body: [UInt8]) {
    guard case .readingBody(let head, _) = phase else {
      preconditionFailure("a request ends behind its head")
    }
    disarm()
    requestNumber += 1
    server.statistics.requestsReceived += 1
    phase = .handling(head)
    if server.isDraining {
      server.statistics.requestsRefused += 1
      return refuse(503, "This server is shutting down; ask another one, or again in a moment.")
    }
    run(head, body)
  }

  private func waitForMore() {
    // What is here of a further request will never be whole.
    if isInputEnded { return finish() }
    switch phase {
    case .idle where parser.isInMessage:
      phase = .readingHead
      arm(after: configuration.headDeadline) { $0.tooSlow("The head") }
    case .readingBody(_, let begun): watchBody(begun)
    default: break
    }
  }

  /// A body may drip no slower than the least rate, once the grace is over.
  private func watchBody(_ begun: Moment) {
    guard timer == nil else { return }
    let earned = Double(parser.bodyBytes) / Double(configuration.bodyLeastBytesPerSecond)
    let deadline = begun + configuration.bodyGrace + .nanoseconds(Int64(earned * 1e9))
    arm(at: deadline) { connection in
      let earnedNow =
        Double(connection.parser.bodyBytes)
        / Double(connection.configuration.bodyLeastBytesPerSecond)
      if earnedNow > earned { connection.watchBody(begun) } else { connection.tooSlow("The body") }
    }
  }

  private func tooSlow(_ part: String) {
    server.statistics.requestsRefused += 1
    server.statistics.slowClientsCut += 1
    refuse(408, "\(part) of the request came too slowly.")
  }

  /// Bytes of later requests wait in the kernel while one is handled, beyond a bound.
  private func holdBackInput() {
    if parser.bufferedBytes > 65_536 { stream.pauseReading() }
  }

  // MARK: Answering

  private func run(_ head: HTTP1RequestHead, _ body: [UInt8]) {
    var request = head.request
    request.body = body
    let context = RequestContext(
      peer: stream.peer, peerAddress: stream.peerAddress, peerSubject: stream.peerSubject,
      isTLS: server.isTLS,
      receivedAt: loop.now, loop: loop)
    let number = requestNumber
    arm(after: configuration.handlerDeadline) { connection in
      connection.requestNumber += 1
      connection.refuse(503, "The answer took too long; whether it was done is not known.")
    }
    Task(executorPreference: loop.tasks) { [self, request] in
      let reply = await server.handler(request, context)
      if loop.isOnLoop {
        answer(number, reply)
      } else {
        loop.execute { self.answer(number, reply) }
      }
    }
  }

  private func answer(_ number: Int, _ reply: HTTPReply) {
    guard number == requestNumber, !isClosed, case .handling(let head) = phase else {
      if case .events(let events) = reply { events.ended() }
      return
    }
    disarm()
    switch reply {
    case .response(let response): write(response, to: head)
    case .events(let events): begin(events, for: head)
    }
  }

  private func write(_ response: HTTPResponse, to head: HTTP1RequestHead) {
    guard response.fields.allSatisfy(HTTP1Syntax.mayTravel) else {
      return refuse(500, "The answer has a field that may not travel.")
    }
    let closes = !head.keepsAlive || server.isDraining
    stream.write(
      HTTP1Writer.response(
        response, date: server.date(), withBody: head.request.method != "HEAD", closes: closes))
    if closes { return finish() }
    nextRequest()
  }

  private func nextRequest() {
    guard stream.pendingOutputBytes <= ByteStream.highMark else {
      phase = .blocked
      return arm(after: configuration.writeTimeout) { $0.cutSlow() }
    }
    phase = .idle
    if isInputEnded, parser.bufferedBytes == 0 { return finish() }
    arm(after: configuration.idleTimeout) { $0.closeIdle() }
    stream.resumeReading()
    server.connectionChanged()
    // What a client sent behind its last request is served in a later job, not deeper in the stack.
    if parser.bufferedBytes > 0 { loop.execute { self.process() } }
  }

  /// Answers with an error of the server's own, and ends: what else was sent cannot be trusted.
  private func refuse(_ status: Int, _ detail: String) {
    disarm()
    let isHead: Bool =
      switch phase {
      case .handling(let head), .readingBody(let head, _): head.request.method == "HEAD"
      default: false
      }
    stream.write(
      HTTP1Writer.response(
        configuration.refusal(status, detail), date: server.date(), withBody: !isHead,
        closes: true))
    finish()
  }

  /// - Parameter isKnownSlow: the client was counted as too slow before.
  private func finish(isKnownSlow: Bool = false) {
    phase = .ending
    stream.close()
    // An orderly end waits for the client to read, though not for ever.
    arm(after: configuration.writeTimeout) { isKnownSlow ? $0.cut() : $0.cutSlow() }
  }

  private func cutSlow() {
    server.statistics.slowClientsCut += 1
    stream.abort()
  }

  // MARK: Events

  private func begin(_ events: ServerSentEvents, for head: HTTP1RequestHead) {
    var fields = events.fields
    fields["content-type"] = "text/event-stream"
    fields["cache-control"] = "no-store"
    stream.write(HTTP1Writer.endlessHead(200, fields, date: server.date()))
    let sink = ServerSentEvents.Sink(
      write: { bytes in self.loop.execute { self.writeEvent(bytes) } },
      close: { self.loop.execute { self.endEvents(saying: nil) } },
      unread: { self.stream.pendingOutputBytes })
    guard head.request.method != "HEAD", let waiting = events.attach(sink) else {
      events.ended()
      return finish()
    }
    phase = .streaming(events)
    for bytes in waiting { writeEvent(bytes) }
    if server.isDraining { return serverDrains() }
    armHeartbeat(events, stuck: nil)
  }

  private func writeEvent(_ bytes: [UInt8]) {
    guard case .streaming(let events) = phase else { return }
    events.written(bytes.count)
    guard stream.pendingOutputBytes <= events.maxPendingBytes else {
      return endEvents(saying: .tooSlow)
    }
    eventBytes += bytes.count
    stream.write(bytes)
  }

  /// - Parameter stuck: how much the client had taken in, and since when it has taken no more while
  ///   something was unread at each look, one a heartbeat.
  private func armHeartbeat(_ events: ServerSentEvents, stuck: (taken: Int, since: Moment)?) {
    guard case .streaming = phase else { return }
    arm(after: events.heartbeat) { connection in
      let (now, unread) = (connection.loop.now, connection.stream.pendingOutputBytes)
      guard unread > 0 else {
        let comment: [UInt8] = [0x3a, 0x0a, 0x0a]
        connection.eventBytes += comment.count
        connection.stream.write(comment)
        return connection.armHeartbeat(events, stuck: nil)
      }
      let taken = connection.eventBytes - unread
      // Who reads slowly reads: what is sent next is up to the one who sends it.
      let last = stuck.flatMap { taken > $0.taken ? nil : $0 } ?? (taken: taken, since: now)
      if now - last.since >= connection.configuration.writeTimeout {
        return connection.endEvents(saying: .tooSlow)
      }
      connection.armHeartbeat(events, stuck: last)
    }
  }

  /// Ends events in order: what was sent before is still to be read, for a while.
  private func endEvents(saying ending: ServerSentEvents.Ending?) {
    guard case .streaming(let events) = phase else { return }
    let isTooSlow = ending == .tooSlow
    if isTooSlow { server.statistics.slowClientsCut += 1 }
    if let event = ending.flatMap(events.farewell) { stream.write(event.bytes) }
    finish(isKnownSlow: isTooSlow)
    events.ended()
  }

  // MARK: The timer

  private func arm(after span: Duration, _ body: @escaping (HTTP1Connection) -> Void) {
    arm(at: loop.now + span, body)
  }

  private func arm(at moment: Moment, _ body: @escaping (HTTP1Connection) -> Void) {
    disarm()
    guard !isClosed else { return }
    timer = loop.schedule(at: moment) { [weak self] in
      guard let self else { return }
      timer = nil
      if !isClosed { body(self) }
    }
  }

  private func disarm() {
    if let timer { loop.cancel(timer) }
    timer = nil
  }
}

extension HTTP1Connection: StreamHandler {
  func streamReceived(_ bytes: RawSpan) {
    if case .streaming = phase { return }
    if case .ending = phase { return }
    parser.feed(bytes)
    process()
  }

  func streamWillFlush() {}

  func streamDrained() { if case .blocked = phase { nextRequest() } }

  func streamInputEnded() {
    isInputEnded = true
    switch phase {
    case .idle, .readingHead, .readingBody: finish()
    case .streaming: endEvents(saying: nil)
    case .handling, .blocked, .ending: break  // the answer is still to be read
    }
  }

  func streamClosed(_ closure: StreamClosure) {
    guard !isClosed else { return }
    isClosed = true
    disarm()
    if case .streaming(let events) = phase { events.ended() }
    server.connectionClosed(self)
  }
}
