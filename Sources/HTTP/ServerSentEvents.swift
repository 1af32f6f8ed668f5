import Transport

/// One event of a `text/event-stream` (WHATWG HTML, section 9.2), ready to be sent to many.
package struct ServerSentEvent: Sendable, Hashable {
  /// As it travels.
  package let bytes: [UInt8]

  /// - Parameters:
  ///   - name: the event's type; `message` to the browser when nil. Without line breaks.
  ///   - id: what a browser that reconnects sends as `Last-Event-ID`. Without line breaks.
  ///   - retry: how long the listener is to wait from now on before it comes back.
  ///   - data: text; each of its lines becomes a line of the event.
  package init(name: String? = nil, id: String? = nil, retry: Duration? = nil, data: String) {
    self.init(name: name, id: id, retry: retry, bytes: Array(data.utf8))
  }

  /// The same, with data as the bytes of their UTF-8.
  package init(
    name: String? = nil, id: String? = nil, retry: Duration? = nil, bytes data: [UInt8]
  ) {
    var text = ""
    if let retry { text += "retry: \(Int64(retry / .milliseconds(1)))\n" }
    if let id { text += "id: \(Self.oneLine(id))\n" }
    if let name { text += "event: \(Self.oneLine(name))\n" }
    var bytes = Array(text.utf8)
    bytes.reserveCapacity(bytes.count + data.count + 16)
    let (prefix, lineFeed, carriageReturn) = (Array("data: ".utf8), UInt8(0x0a), UInt8(0x0d))
    bytes += prefix
    var previous: UInt8 = 0
    // U+2028 and others are no line ends here, and may stand inside JSON strings.
    for byte in data {
      if byte == lineFeed || byte == carriageReturn {
        if byte == carriageReturn || previous != carriageReturn {
          bytes.append(lineFeed)
          bytes += prefix
        }
      } else {
        bytes.append(byte)
      }
      previous = byte
    }
    self.bytes = bytes + [lineFeed, lineFeed]
  }

  private static func oneLine(_ text: String) -> String {
    String(text.map { $0.isNewline || $0 == "\0" ? " " : $0 })
  }
}

/// A reply that goes on: events for one listener, for as long as both sides like.
///
/// A listener that has left too much unread when another event comes is cut off, since to wait for it
/// would hold up memory, and to leave events out would show it something that never was. Whose events
/// replace each other may ask ``unreadBytes`` and send the newest alone. However long an event is, a
/// listener that keeps up gets it.
package final class ServerSentEvents: Sendable {
  /// Why the server ends a reply that could go on.
  package enum Ending: String, Sendable {
    case shutdown
    /// The listener left too much unread, or anything for too long.
    case tooSlow
  }

  struct Sink: Sendable {
    let write: @Sendable ([UInt8]) -> Void
    let close: @Sendable () -> Void
    let unread: @Sendable () -> Int
  }

  private struct State {
    /// From before there was a connection.
    var waiting: [[UInt8]] = []
    /// Sent and not yet written by the connection.
    var waitingBytes = 0
    /// More waited for the connection than may.
    var isOverfull = false
    var sink: Sink?
    var isClosed = false
  }

  /// A comment is sent each time so much time has passed, whatever events there were, so that nothing
  /// between us forgets the connection, and one who reads nothing is noticed.
  package let heartbeat: Duration
  /// A listener with more than this unread is cut off when another event comes.
  package let maxPendingBytes: Int
  package let fields: HTTPFields
  let farewell: @Sendable (Ending) -> ServerSentEvent?
  private let onClose: @Sendable () -> Void
  private let state = Lock(State())

  /// - Parameters:
  ///   - onClose: called once when the listener is gone, or was cut off or closed.
  ///   - farewell: the last event before the server ends the reply.
  package init(
    heartbeat: Duration = .seconds(15), maxPendingBytes: Int = 262_144, fields: HTTPFields = [:],
    onClose: @escaping @Sendable () -> Void = {},
    farewell: @escaping @Sendable (Ending) -> ServerSentEvent? = { _ in nil }
  ) {
    self.heartbeat = heartbeat
    self.maxPendingBytes = maxPendingBytes
    self.fields = fields
    self.farewell = farewell
    self.onClose = onClose
  }

  package var isClosed: Bool { state.withLock { $0.isClosed } }

  /// What was sent and not yet taken by the system; to be asked on the server's loop.
  package var unreadBytes: Int {
    let (sink, waiting) = state.withLock { ($0.sink, $0.waitingBytes) }
    return waiting + (sink?.unread() ?? 0)
  }

  /// Sends an event; from any thread. Nothing happens when the listener is gone.
  package func send(_ event: ServerSentEvent) {
    let sink: Sink? = state.withLock { state in
      guard !state.isClosed, !state.isOverfull else { return nil }
      if state.sink == nil {
        state.isOverfull = state.waitingBytes > maxPendingBytes
        state.waiting.append(event.bytes)
      }
      state.waitingBytes += event.bytes.count
      return state.sink
    }
    sink?.write(event.bytes)
  }

  /// Ends the reply.
  package func close() {
    let sink: Sink? = state.withLock { $0.sink }
    if let sink { sink.close() } else { ended() }
  }

  /// The connection takes over; returns what was sent before, and nil if that is too much, or nothing
  /// is wanted any more. It calls ``written(_:)`` for all that it writes.
  func attach(_ sink: Sink) -> [[UInt8]]? {
    state.withLock { state in
      guard !state.isClosed, !state.isOverfull else { return nil }
      state.sink = sink
      defer { state.waiting = [] }
      return state.waiting
    }
  }

  /// The connection has written so many bytes of events.
  func written(_ count: Int) { state.withLock { $0.waitingBytes -= count } }

  /// The connection is over.
  func ended() {
    let isFirst: Bool = state.withLock { state in
      defer {
        state.isClosed = true
        state.sink = nil
        state.waiting = []
        state.waitingBytes = 0
      }
      return !state.isClosed
    }
    if isFirst { onClose() }
  }
}
