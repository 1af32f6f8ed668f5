package import Transport

/// Who is told what a client of an HTTP/2 server does. All calls come on the connection's loop.
package protocol HTTP2ServerDelegate: AnyObject {
  /// A whole request. Answer it now, later, or never.
  func connection(
    _ connection: HTTP2ServerConnection, received request: HTTPRequest, stream: Int32)
  /// The stream of a received request is closed: answered (code 0), or reset by either side.
  func connection(
    _ connection: HTTP2ServerConnection, closedStream: Int32, errorCode: UInt32)
  /// Something that is not about one request: settings, pings, the client's GOAWAY.
  func connection(
    _ connection: HTTP2ServerConnection, noticed event: HTTP2ServerSession.Event)
  /// Comes once, last.
  func connectionClosed(_ connection: HTTP2ServerConnection, reason: String)
}

extension HTTP2ServerDelegate {
  package func connection(
    _ connection: HTTP2ServerConnection, closedStream: Int32, errorCode: UInt32
  ) {}
  package func connection(
    _ connection: HTTP2ServerConnection, noticed event: HTTP2ServerSession.Event
  ) {}
}

package struct HTTP2ServerConfiguration: Sendable {
  /// Sent first. Without a limit here a client may open as many streams as it likes.
  package var settings: [HTTP2Setting] = [.maxConcurrentStreams(100)]
  package var limits = RequestLimits()
  package var connectionWindowBytes: Int32 = 1 << 20
  /// False never lets a client send more than the first windows hold.
  package var opensWindows = true

  package init() {}
}

/// One connection that a client made to an HTTP/2 server, at a level low enough to misbehave.
///
/// What comes in is held to the rules, as a strict server does; what goes out is up to the caller:
/// answers late or never, GOAWAY with any last stream, new settings at any time, bytes that are no
/// HTTP/2 at all.
///
/// `@unchecked Sendable` is right because every method checks, in debug builds, that it runs on
/// the loop's thread, and nothing else touches the state.
package final class HTTP2ServerConnection: @unchecked Sendable {
  package let loop: EventLoop
  package let peer: String
  private let stream: ByteStream
  private let session: HTTP2ServerSession
  private weak var delegate: (any HTTP2ServerDelegate)?
  private var closeReason = ""
  package private(set) var isClosed = false

  /// Takes a connection over and begins to read. To be called on the loop.
  ///
  /// - Parameter delegate: not retained; when it is gone requests are never answered.
  package init(
    _ stream: ByteStream, configuration: HTTP2ServerConfiguration = HTTP2ServerConfiguration(),
    delegate: any HTTP2ServerDelegate
  ) {
    self.stream = stream
    self.delegate = delegate
    loop = stream.loop
    peer = stream.peer
    session = HTTP2ServerSession(
      limits: configuration.limits, settings: configuration.settings,
      connectionWindowBytes: configuration.connectionWindowBytes,
      opensWindows: configuration.opensWindows)
    stream.start(self)
    stream.setNeedsFlush()
  }

  /// Streams that are open, answered or not.
  package var openStreams: Int { session.openStreams }

  /// The subject of the client's verified certificate.
  package var peerSubject: String? { stream.peerSubject }

  /// Answers a request. Nothing happens when its stream is closed or answered already.
  ///
  /// - Parameters:
  ///   - fields: in lower case, in the order in which they are sent.
  ///   - endsStream: false to keep the answer open behind `body`, as if more were to come.
  package func respond(
    stream streamID: Int32, status: Int, fields: HTTPFields = [:], body: [UInt8] = [],
    endsStream: Bool = true
  ) {
    loop.preconditionOnLoop()
    session.respond(
      streamID: streamID, status: status, fields: fields, body: body, endsStream: endsStream)
    stream.setNeedsFlush()
  }

  package func reset(stream streamID: Int32, errorCode: UInt32) {
    loop.preconditionOnLoop()
    session.reset(streamID: streamID, errorCode: errorCode)
    stream.setNeedsFlush()
  }

  /// Says GOAWAY; the connection stays until the streams at or below the last one are closed.
  ///
  /// - Parameter lastStreamID: nil for the last stream seen; `Int32.max` for the first step of a
  ///   graceful end. It cannot rise from one call to the next.
  package func goAway(
    lastStreamID: Int32? = nil, errorCode: UInt32 = HTTP2ErrorCode.noError, debugData: [UInt8] = []
  ) {
    loop.preconditionOnLoop()
    session.goAway(lastStreamID: lastStreamID, errorCode: errorCode, debugData: debugData)
    stream.setNeedsFlush()
  }

  package func submit(_ settings: [HTTP2Setting]) {
    loop.preconditionOnLoop()
    session.submit(settings)
    stream.setNeedsFlush()
  }

  package func submitSettings(maxConcurrentStreams: UInt32) {
    submit([.maxConcurrentStreams(maxConcurrentStreams)])
  }

  package func ping(_ payload: UInt64) {
    loop.preconditionOnLoop()
    session.ping(payload)
    stream.setNeedsFlush()
  }

  /// Writes bytes as they are between two frames, right or wrong.
  package func writeRaw(_ bytes: [UInt8]) {
    loop.preconditionOnLoop()
    flushOutput()
    stream.write(bytes)
  }

  /// Leaves what the client sends in the kernel's buffers, as a server that hangs does.
  package func stopReading() { stream.pauseReading() }
  package func resumeReading() { stream.resumeReading() }

  /// Ends the connection with what was written so far.
  package func close() {
    loop.preconditionOnLoop()
    flushOutput()
    stream.close()
  }

  /// Cuts the connection with a reset.
  package func abort() { stream.abort() }

  private func flushOutput() {
    do throws(HTTP2ProtocolError) {
      try session.takeOutput { bytes in
        stream.write(bytes)
        return stream.pendingOutputBytes < ByteStream.highMark
      }
    } catch {
      closeReason = "\(error)"
      stream.abort()
    }
    // A reset of ours closes its stream as it is written.
    tell()
  }

  private func tell() {
    session.takeEvents { event in
      guard let delegate else { return }
      switch event {
      case .requestReceived(let request, let streamID):
        delegate.connection(self, received: request, stream: streamID)
      case .streamClosed(let streamID, let errorCode):
        delegate.connection(self, closedStream: streamID, errorCode: errorCode)
      default: delegate.connection(self, noticed: event)
      }
    }
  }
}

extension HTTP2ServerConnection: StreamHandler {
  package func streamReceived(_ bytes: RawSpan) {
    do throws(HTTP2ProtocolError) {
      try session.receive(bytes)
    } catch {
      closeReason = "the client breaks the rules of HTTP/2: \(session.fault ?? "\(error)")"
      tell()
      return close()
    }
    tell()
    stream.setNeedsFlush()
    if session.isFinished { close() }
  }

  package func streamWillFlush() {
    flushOutput()
    if session.isFinished { close() }
  }

  package func streamDrained() { flushOutput() }

  package func streamClosed(_ closure: StreamClosure) {
    isClosed = true
    if closeReason.isEmpty { closeReason = session.fault ?? "\(closure)" }
    delegate?.connectionClosed(self, reason: closeReason)
  }
}
