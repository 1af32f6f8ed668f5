internal import Clocks
internal import HTTP
internal import Transport

// From a request on a connection to what the connection gets to see.
extension RunningSimulator {
  func received(_ request: HTTPRequest, stream: Int32, on connection: ServedConnection) {
    connection.newestStream = max(connection.newestStream, stream)
    records[connection.number]?.requests += 1
    watchIdleness(of: connection)
    let faults = connection.faults ?? apns.configuration.faults
    let (fate, latency) = faultPlan.request(on: &connection.plan, faults)
    let asked = SimulatedRequest(
      method: request.method, path: request.path,
      fields: request.fields.map { SimulatedField($0.name, $0.value) }, body: request.body)
    guard latency > .zero else { return process(asked, stream, fate, connection) }
    _ = loop.schedule(at: loop.now + latency) { [weak self] in
      self?.assumeIsolated { $0.process(asked, stream, fate, connection) }
    }
  }

  /// Judges and answers. A delayed request is judged at its end, so that one which a GOAWAY
  /// overtakes has truly not been processed.
  private func process(
    _ request: SimulatedRequest, _ stream: Int32, _ fate: FaultPlan.Fate,
    _ connection: ServedConnection
  ) {
    guard let http = connection.http, !http.isClosed else { return }
    if connection.isStalled {
      return connection.held.append { self.process(request, stream, fate, connection) }
    }
    if let last = connection.lastStream, stream > last { return }
    switch fate {
    case .dropped: return http.abort()
    case .refused: return http.reset(stream: stream, errorCode: HTTP2ErrorCode.refusedStream)
    case .stalled(let span):
      stall(connection, for: span)
      return connection.held.append { self.process(request, stream, .none, connection) }
    case .goAway(let streamsBack):
      goAway(streamsBack: streamsBack, connection)
      if let last = connection.lastStream, stream > last { return }
    case .gentleGoAway: goAwayGently(connection)
    case .none, .answered, .silent, .halved, .garbled, .reset: break
    }
    connection.processedStream = max(connection.processedStream, stream)
    let answer: SimulatedAnswer
    if case .answered(let reason) = fate {
      answer = apns.answer(request, refusedFor: reason, on: connection.port)
    } else {
      answer = apns.answer(
        request, on: connection.port, connection: &connection.memory, now: clock.now)
    }
    switch fate {
    case .silent: break
    case .reset: http.reset(stream: stream, errorCode: HTTP2ErrorCode.internalError)
    case .halved: respond(Self.halved(answer), stream, http, endsStream: false)
    case .garbled: respond(Self.garbled(answer), stream, http)
    default: respond(answer, stream, http)
    }
    apply(answer.effects, connection)
    changed()
  }

  /// A host that hangs while TCP stays up: what the provider sends stays in the kernel's buffers,
  /// what has come waits, and then all of it goes on.
  private func stall(_ connection: ServedConnection, for span: Duration) {
    connection.isStalled = true
    connection.http?.stopReading()
    _ = loop.schedule(at: loop.now + span) { [weak self, weak connection] in
      guard let self, let connection else { return }
      assumeIsolated { _ in
        connection.isStalled = false
        let held = connection.held
        connection.held.removeAll()
        connection.http?.resumeReading()
        for body in held { body() }
      }
    }
  }

  private func respond(
    _ answer: SimulatedAnswer, _ stream: Int32, _ http: HTTP2ServerConnection,
    endsStream: Bool = true
  ) {
    var fields = HTTPFields()
    for field in answer.fields { fields.append(field.name, field.value) }
    http.respond(
      stream: stream, status: answer.status, fields: fields, body: answer.body,
      endsStream: endsStream)
  }

  private static func halved(_ answer: SimulatedAnswer) -> SimulatedAnswer {
    var halved = answer
    halved.body = Array(answer.body.prefix(answer.body.count / 2))
    return halved
  }

  /// Half of a body, or the beginning of one where there should be none.
  private static func garbled(_ answer: SimulatedAnswer) -> SimulatedAnswer {
    var garbled = answer
    garbled.body =
      answer.body.isEmpty ? Array("{".utf8) : Array(answer.body.prefix(answer.body.count / 2))
    return garbled
  }

  private func apply(_ effects: [ConnectionEffect], _ connection: ServedConnection) {
    for effect in effects {
      switch effect {
      case .setMaxConcurrentStreams(let streams):
        connection.http?.submitSettings(maxConcurrentStreams: UInt32(streams))
        records[connection.number]?.settings.append(
          .init(at: clock.now, maxConcurrentStreams: streams))
      case .goAway(let reason): sendGoAway(reason, connection, lastStream: nil)
      }
    }
  }

  /// Says GOAWAY below the newest streams, as far as they are not processed: to deny a stream that
  /// has had its effect would be a lie that no server may tell.
  private func goAway(streamsBack: Int, _ connection: ServedConnection) {
    guard connection.lastStream == nil else { return }
    let wanted = connection.newestStream - Int32(clamping: 2 * streamsBack)
    let last = max(wanted, connection.processedStream, 0)
    sendGoAway(.shutdown, connection, lastStream: last)
  }

  /// Announces the end, goes on for a moment, and then says which stream was the last.
  private func goAwayGently(_ connection: ServedConnection) {
    guard !connection.memory.isGoingAway else { return }
    connection.memory.isGoingAway = true
    connection.announceGoAway(Reason.shutdown.rawValue)
    _ = loop.schedule(at: loop.now + .milliseconds(20)) { [weak self, weak connection] in
      guard let connection else { return }
      self?.assumeIsolated { $0.sendGoAway(.shutdown, connection, lastStream: nil) }
    }
  }

  func sendGoAway(_ reason: Reason, _ connection: ServedConnection, lastStream: Int32?) {
    records[connection.number]?.goAways.append(reason)
    connection.memory.isGoingAway = true
    connection.goAway(reason.rawValue, lastStream: lastStream)
  }

  /// A connection that asks nothing for long is told `IdleTimeout`.
  func watchIdleness(of connection: ServedConnection) {
    if let timer = connection.idleTimer { loop.cancel(timer) }
    let wait = clock.base.real(apns.configuration.connections.idleTimeout)
    connection.idleTimer = loop.schedule(at: loop.now + wait) { [weak self, weak connection] in
      guard let connection else { return }
      self?.assumeIsolated { $0.sendGoAway(.idleTimeout, connection, lastStream: nil) }
    }
  }
}
