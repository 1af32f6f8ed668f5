import Transport

/// One event of a `text/event-stream` (WHATWG HTML, section 9.2), ready to be sent to many.
package struct ServerSentEvent: Sendable, Hashable {
  /// As it travels.
  package let bytes: [UInt8]

  /// - Parameters:
  ///   - name: the event's type; `message` to the browser when nil. Without line breaks.
  ///   - id: what a browser that reconnects sends as `Last-Event-ID`. Without line breaks.
  ///   - data: text; each of its lines becomes a line of the event.
  package init(name: String? = nil, id: String? = nil, data: String) {
    var text = ""
    if let id { text += "id: \(Self.oneLine(id))\n" }
    if let name { text += "event: \(Self.oneLine(name))\n" }
    // Not `isNewline`: U+2028 and others stand inside lines, and may stand inside JSON strings.
    let lines = data.split(omittingEmptySubsequences: false) { ["\n", "\r", "\r\n"].contains($0) }
    for line in lines {
      text += "data: \(line)\n"
    }
    bytes = Array((text + "\n").utf8)
  }

  private static func oneLine(_ text: String) -> String {
    String(text.map { $0.isNewline || $0 == "\0" ? " " : $0 })
  }
}

/// A reply that goes on: events for one listener, for as long as both sides like.
///
/// A listener that reads too slowly is cut off, since to wait for it would hold up memory, and to
/// leave events out would show it something that never was. It comes back with `Last-Event-ID`.
package final class ServerSentEvents: Sendable {
  struct Sink: Sendable {
    let write: @Sendable ([UInt8]) -> Void
    let close: @Sendable () -> Void
  }

  private struct State {
    var waiting: [[UInt8]] = []
    var waitingBytes = 0
    var sink: Sink?
    var isClosed = false
  }

  /// A comment is sent after so long without an event, so that nothing between us forgets the
  /// connection.
  package let heartbeat: Duration
  /// A listener with more than this unread is cut off.
  package let maxPendingBytes: Int
  package let fields: HTTPFields
  private let onClose: @Sendable () -> Void
  private let state = Lock(State())

  /// - Parameter onClose: called once when the listener is gone, or was cut off or closed.
  package init(
    heartbeat: Duration = .seconds(15), maxPendingBytes: Int = 262_144, fields: HTTPFields = [:],
    onClose: @escaping @Sendable () -> Void = {}
  ) {
    self.heartbeat = heartbeat
    self.maxPendingBytes = maxPendingBytes
    self.fields = fields
    self.onClose = onClose
  }

  package var isClosed: Bool { state.withLock { $0.isClosed } }

  /// Sends an event; from any thread. Nothing happens when the listener is gone.
  package func send(_ event: ServerSentEvent) {
    let sink: Sink? = state.withLock { state in
      guard !state.isClosed else { return nil }
      if let sink = state.sink { return sink }
      state.waitingBytes += event.bytes.count
      if state.waitingBytes <= maxPendingBytes { state.waiting.append(event.bytes) }
      return nil
    }
    sink?.write(event.bytes)
  }

  /// Ends the reply.
  package func close() {
    let sink: Sink? = state.withLock { $0.sink }
    if let sink { sink.close() } else { ended() }
  }

  /// The connection takes over; returns what was sent before.
  func attach(_ sink: Sink) -> [[UInt8]]? {
    state.withLock { state in
      guard !state.isClosed else { return nil }
      state.sink = sink
      defer { state.waiting = [] }
      return state.waiting
    }
  }

  /// The connection is over.
  func ended() {
    let isFirst: Bool = state.withLock { state in
      defer {
        state.isClosed = true
        state.sink = nil
        state.waiting = []
      }
      return !state.isClosed
    }
    if isFirst { onClose() }
  }
}
