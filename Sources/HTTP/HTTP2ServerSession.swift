import CNghttp2

/// A server's end of one HTTP/2 connection. Does no I/O and knows no time.
///
/// It is strict in what it takes in, as nghttp2 is, and free in what it may be told to say: a
/// GOAWAY with any last stream, settings at any time, an answer that never ends.
package final class HTTP2ServerSession {
  package enum Event: Sendable, Hashable {
    /// A whole request: head, body and end. A request over the limits is refused without a word.
    case requestReceived(HTTPRequest, streamID: Int32)
    /// The stream of a received request is closed; code 0 when both sides had ended it.
    case streamClosed(Int32, errorCode: UInt32)
    case goAwayReceived(GoAway)
    case settingsReceived
    case settingsAcknowledged
    case pingReceived
    case pingAcknowledged(UInt64)
    case priorityReceived
  }

  private let notes: Pinned<ServerNotes>
  private let engine: HTTP2Engine
  private let scratch = HeadScratch()
  /// Streams to reset once their answers are out: nghttp2 drops an answer that waits behind a reset.
  private var resets: [Int32] = []

  /// - Parameters:
  ///   - settings: sent first.
  ///   - opensWindows: false to never let the client send more than the first windows: a server
  ///     that stopped reading bodies.
  package init(
    limits: RequestLimits = RequestLimits(), settings: [HTTP2Setting] = [],
    connectionWindowBytes: Int32 = 1 << 20, opensWindows: Bool = true
  ) {
    notes = Pinned(ServerNotes(limits: limits))
    engine = HTTP2Engine(
      role: .server, callbacks: HTTP2ServerCallbacks.table,
      notes: UnsafeMutableRawPointer(notes.address), consumesByItself: opensWindows)
    engine.submit([.maxHeaderListSize(UInt32(limits.fieldBytes))] + settings)
    if opensWindows { engine.setConnectionWindow(connectionWindowBytes) }
  }

  /// Takes bytes from the client in; then ask for ``takeEvents(_:)``.
  package func receive(_ bytes: RawSpan) throws(HTTP2ProtocolError) {
    defer { refuseWhatIsTooLarge() }
    try engine.receive(bytes)
  }

  /// Hands out what is to be written until `write` answers false.
  package func takeOutput(_ write: (RawSpan) -> Bool) throws(HTTP2ProtocolError) {
    guard try engine.takeOutput(write), !resets.isEmpty else { return }
    for streamID in resets { engine.reset(streamID, HTTP2ErrorCode.noError) }
    resets.removeAll()
    try engine.takeOutput(write)
  }

  package func takeEvents(_ body: (Event) -> Void) {
    guard !notes.value.events.isEmpty else { return }
    var events: [Event] = []
    swap(&events, &notes.value.events)
    for event in events { body(event) }
  }

  /// Answers a request; nothing happens when its stream is closed already.
  ///
  /// - Parameter endsStream: false to leave the answer open for ever behind `body`.
  package func respond(
    streamID: Int32, status: Int, fields: HTTPFields, body: [UInt8], endsStream: Bool = true
  ) {
    guard let index = slot(streamID), !notes.value.exchanges[index].isAnswered else { return }
    notes.value.exchanges[index].isAnswered = true
    notes.value.exchanges[index].body = body
    notes.value.exchanges[index].withholdsEnd = !endsStream
    var provider = nghttp2_data_provider(
      source: nghttp2_data_source(ptr: UnsafeMutableRawPointer(bitPattern: index + 1)),
      read_callback: HTTP2ServerCallbacks.readBody)
    let hasBody = !body.isEmpty || !endsStream
    scratch.withList(status: status, fields) { entries, count in
      withUnsafePointer(to: &provider) { provider in
        _ = nghttp2_submit_response(
          engine.session, streamID, entries, count, hasBody ? provider : nil)
      }
    }
  }

  package func reset(streamID: Int32, errorCode: UInt32) {
    engine.reset(streamID, errorCode)
  }

  /// - Parameter lastStreamID: 2³¹−1 for the first step of a graceful end, which carries no code
  ///   and no data; nil for the last stream that was seen. Streams above it are closed here too.
  package func goAway(lastStreamID: Int32?, errorCode: UInt32, debugData: [UInt8] = []) {
    if lastStreamID == .max {
      engine.announceShutdown()
    } else {
      engine.goAway(lastStreamID: lastStreamID, errorCode: errorCode, debugData: debugData)
    }
  }

  package func submit(_ settings: [HTTP2Setting]) { engine.submit(settings) }

  package func ping(_ payload: UInt64) { engine.ping(payload) }

  /// Whether the connection has nothing left to say or hear.
  package var isFinished: Bool { !engine.wantsRead && !engine.wantsWrite }

  /// What nghttp2 found wrong last.
  package var fault: String? { notes.value.fault }

  package var openStreams: Int { notes.value.openStreams }

  private func slot(_ streamID: Int32) -> Int? {
    guard let data = nghttp2_session_get_stream_user_data(engine.session, streamID) else {
      return nil
    }
    return Int(bitPattern: data) - 1
  }

  /// Answers at once and tells the client to stop sending, so that nobody pays for the rest.
  private func refuseWhatIsTooLarge() {
    for index in notes.value.refused {
      let streamID = notes.value.exchanges[index].streamID
      guard streamID > 0, let status = notes.value.exchanges[index].refusal else { continue }
      respond(streamID: streamID, status: status, fields: ["content-length": "0"], body: [])
      if nghttp2_session_get_stream_remote_close(engine.session, streamID) == 0 {
        resets.append(streamID)
      }
    }
    notes.value.refused.removeAll(keepingCapacity: true)
  }
}
