import CNghttp2

/// A client's end of one HTTP/2 connection: requests and bytes in, bytes and outcomes out.
///
/// It does no I/O and knows no time. Requests are named by the index of their slot; the caller has
/// a slot from ``prepare(_:values:body:)`` until ``takeClosed(_:)`` reports it, or until it gives
/// the slot back unsent.
package final class HTTP2ClientSession {
  package enum Event: Sendable, Hashable {
    /// The peer's limits may have changed.
    case settingsReceived
    case goAwayReceived(GoAway)
    case pingAcknowledged(UInt64)
  }

  private let notes: Pinned<ExchangeNotes>
  private let engine: HTTP2Engine
  private let heads = Pinned(HeadEncoder())

  /// - Parameters:
  ///   - settings: sent first; server push is always switched off.
  ///   - connectionWindowBytes: what the peer may send us on all streams together before we read.
  ///   - firstStreamID: odd; another than 1 only to test what happens when the IDs run out.
  package init(
    limits: ResponseLimits = ResponseLimits(), settings: [HTTP2Setting] = [],
    connectionWindowBytes: Int32 = 1 << 20, firstStreamID: Int32 = 1
  ) {
    notes = Pinned(ExchangeNotes(limits: limits))
    engine = HTTP2Engine(
      role: .client, callbacks: HTTP2ClientCallbacks.table,
      notes: UnsafeMutableRawPointer(notes.address))
    engine.submit(
      [.enablePush(false), .maxHeaderListSize(UInt32(limits.fieldBytes))] + settings)
    engine.setConnectionWindow(connectionWindowBytes)
    if firstStreamID != 1 { nghttp2_session_set_next_stream_id(engine.session, firstStreamID) }
  }

  /// Takes a slot for a request, which is not sent yet.
  package func prepare(
    _ template: RequestTemplate, values: FieldValues, body: [UInt8]
  ) -> Int {
    notes.value.allocate(template, values, body)
  }

  /// Gives back a slot that was never submitted.
  package func discard(_ index: Int) {
    precondition(
      notes.value.exchanges[index].streamID == 0, "a submitted exchange ends by its stream")
    notes.value.release(index)
  }

  /// Opens a stream for a prepared request. The caller sees to the peer's limit of open streams.
  ///
  /// - Returns: false when this connection can open no more streams: all IDs are used, or the peer
  ///   is going away. The slot is still the caller's.
  package func submit(_ index: Int) -> Bool {
    let exchange = notes.value.exchanges.address(index)
    guard let template = exchange.pointee.template else {
      preconditionFailure("slot \(index) holds no request")
    }
    let userData = UnsafeMutableRawPointer(bitPattern: index + 1)
    var provider = nghttp2_data_provider(
      source: nghttp2_data_source(ptr: userData), read_callback: HTTP2ClientCallbacks.readBody)
    let isEmpty = exchange.pointee.body.isEmpty
    // It counts streams and windows; the head that it makes of this is replaced.
    let streamID = withMethod(of: template) { method in
      withUnsafePointer(to: &provider) { provider in
        nghttp2_submit_request(
          engine.session, nil, method, 1, isEmpty ? nil : provider, userData)
      }
    }
    guard streamID > 0 else { return false }
    exchange.pointee.streamID = streamID
    return true
  }

  /// Whether a request's head was handed out to be written.
  package func isWritten(_ index: Int) -> Bool { notes.value.exchanges[index].isWritten }

  /// Resets a submitted request's stream; its slot is free once the stream is reported closed.
  package func cancel(_ index: Int) {
    let streamID = notes.value.exchanges[index].streamID
    precondition(streamID > 0, "an exchange without stream is discarded, not cancelled")
    engine.reset(streamID, HTTP2ErrorCode.cancel)
  }

  /// Takes bytes from the peer in; then ask for ``takeEvents(_:)`` and ``takeClosed(_:)``.
  package func receive(_ bytes: RawSpan) throws(HTTP2ProtocolError) {
    defer {
      resetWhatIsDone()
      for size in notes.value.peersTableSizes { heads.value.setPeersTableSize(size) }
      notes.value.peersTableSizes.removeAll(keepingCapacity: true)
    }
    try engine.receive(bytes)
  }

  /// Hands out what is to be written until `write` answers false.
  package func takeOutput(_ write: (RawSpan) -> Bool) throws(HTTP2ProtocolError) {
    try engine.takeOutput(replacing: { replace($0, $1) }, write)
  }

  package func takeEvents(_ body: (Event) -> Void) {
    guard !notes.value.events.isEmpty else { return }
    var events: [Event] = []
    swap(&events, &notes.value.events)
    for event in events { body(event) }
  }

  /// Reports every exchange that ended since, in order, and frees its slot right before.
  package func takeClosed(_ body: (_ index: Int, ExchangeOutcome) -> Void) {
    guard !notes.value.closed.isEmpty else { return }
    for position in notes.value.closed.indices {
      let (index, errorCode) = notes.value.closed[position]
      let outcome = outcome(index, errorCode)
      notes.value.release(index)
      body(index, outcome)
    }
    notes.value.closed.removeAll(keepingCapacity: true)
  }

  /// What to say of a submitted request when the connection is gone. Frees the slot.
  ///
  /// An answer that was whole by then counts, though its stream never closed in order.
  package func abandon(_ index: Int, _ failure: ExchangeFailure) -> ExchangeOutcome {
    defer { notes.value.release(index) }
    if notes.value.exchanges[index].isComplete {
      return .answered(notes.value.exchanges[index].takeResponse())
    }
    return notes.value.exchanges[index].isWritten ? .unknown(failure) : .notSent(failure)
  }

  package func ping(_ payload: UInt64) { engine.ping(payload) }

  /// Tells the peer that we open no more streams; those that are open go on.
  package func announceEnd() {
    engine.goAway(lastStreamID: nil, errorCode: HTTP2ErrorCode.noError, debugData: [])
  }

  /// What the peer allows to be open at once; 2³²−1 until it says so.
  package var peerMaxConcurrentStreams: Int { Int(engine.peerMaxConcurrentStreams) }

  /// Whether neither side has anything left to say, as after a GOAWAY when the last stream ended,
  /// or after a breach of the protocol.
  package var isFinished: Bool { !engine.wantsRead && !engine.wantsWrite }

  /// What nghttp2 found wrong last, for the log.
  package var fault: String? { notes.value.fault }

  /// Slots that are taken: for tests of leaks.
  package var slotsInUse: Int { notes.value.inUse }

  /// Writes our own head in place of the one that nghttp2 made; other frames stay as they are.
  private func replace(
    _ frame: UnsafeRawBufferPointer, _ room: UnsafeMutableRawBufferPointer
  ) -> Int? {
    guard FrameHead.beginsHead(frame) else { return nil }
    let streamID = FrameHead.streamID(of: frame)
    guard let data = nghttp2_session_get_stream_user_data(engine.session, streamID) else {
      preconditionFailure("the head of stream \(streamID) belongs to no request")
    }
    let exchange = notes.value.exchanges.address(Int(bitPattern: data) - 1)
    guard let template = exchange.pointee.template else {
      preconditionFailure("stream \(streamID) has no head")
    }
    exchange.pointee.isWritten = true
    let block = UnsafeMutableRawBufferPointer(rebasing: room[FrameHead.size...])
    let count = heads.value.encode(template, exchange.pointee.values, into: block)
    FrameHead.copy(from: frame, to: room, payloadBytes: count)
    return FrameHead.size + count
  }

  private func withMethod<Result>(
    of template: RequestTemplate, _ body: (UnsafePointer<nghttp2_nv>) -> Result
  ) -> Result {
    var name: (UInt8, UInt8, UInt8, UInt8, UInt8, UInt8, UInt8) = (
      0x3A, 0x6D, 0x65, 0x74, 0x68, 0x6F, 0x64
    )
    return withUnsafeMutableBytes(of: &name) { name in
      template.method.withUnsafeBufferPointer { value in
        var field = nghttp2_nv(
          name: name.baseAddress?.assumingMemoryBound(to: UInt8.self),
          value: UnsafeMutablePointer(mutating: value.baseAddress), namelen: name.count,
          valuelen: value.count, flags: 0)
        return body(&field)
      }
    }
  }

  private func resetWhatIsDone() {
    for index in notes.value.early {
      // The answer is complete, so what is left of the request need not be sent.
      engine.reset(notes.value.exchanges[index].streamID, HTTP2ErrorCode.noError)
    }
    for index in notes.value.oversized {
      engine.reset(notes.value.exchanges[index].streamID, HTTP2ErrorCode.cancel)
    }
    notes.value.early.removeAll(keepingCapacity: true)
    notes.value.oversized.removeAll(keepingCapacity: true)
  }

  private func outcome(_ index: Int, _ errorCode: UInt32) -> ExchangeOutcome {
    if notes.value.exchanges[index].isComplete {
      return .answered(notes.value.exchanges[index].takeResponse())
    }
    if notes.value.exchanges[index].isTooLarge {
      return .unknown(
        ExchangeFailure(
          .responseTooLarge,
          "The answer is larger than \(notes.value.limits.bodyBytes) bytes or \(notes.value.limits.fields) fields."
        ))
    }
    let streamID = notes.value.exchanges[index].streamID
    if let goAway = notes.value.goAway,
      streamID > goAway.lastStreamID || !notes.value.exchanges[index].isWritten
    {
      return .notSent(.goingAway(goAway))
    }
    if errorCode == HTTP2ErrorCode.refusedStream {
      return .notSent(
        ExchangeFailure(.refusedStream, "The peer refused stream \(streamID) unprocessed."))
    }
    if !notes.value.exchanges[index].isWritten {
      return .notSent(ExchangeFailure(.draining, "The connection takes no more requests."))
    }
    if notes.value.exchanges[index].wasResetByUs {
      let fault = notes.value.fault ?? HTTP2ErrorCode.name(errorCode)
      return .unknown(
        ExchangeFailure(.malformedResponse, "The answer breaks the rules of HTTP/2: \(fault)"))
    }
    return .unknown(
      ExchangeFailure(
        .reset(errorCode),
        "The peer reset stream \(streamID) with \(HTTP2ErrorCode.name(errorCode))."))
  }
}

extension ExchangeFailure {
  static func goingAway(_ announcement: GoAway) -> ExchangeFailure {
    let code = HTTP2ErrorCode.name(announcement.errorCode)
    let reason =
      announcement.debugData.isEmpty
      ? "" : ", saying \(String(decoding: announcement.debugData, as: UTF8.self))"
    return ExchangeFailure(
      .goAway(announcement), "The peer went away with \(code)\(reason).")
  }
}
