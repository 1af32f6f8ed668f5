import CNghttp2

/// Why an HTTP/2 connection cannot go on, in nghttp2's words.
package struct HTTP2ProtocolError: Error, Sendable, CustomStringConvertible {
  /// One of nghttp2's library error codes (negative).
  package var code: Int32

  package init(code: Int32) { self.code = code }

  package var description: String { String(cString: nghttp2_strerror(code)) }
}

/// Error codes of HTTP/2 (RFC 9113, section 7) that this room speaks of.
package enum HTTP2ErrorCode {
  package static let noError: UInt32 = 0x0
  package static let protocolError: UInt32 = 0x1
  package static let internalError: UInt32 = 0x2
  package static let flowControlError: UInt32 = 0x3
  package static let refusedStream: UInt32 = 0x7
  package static let cancel: UInt32 = 0x8
  package static let enhanceYourCalm: UInt32 = 0xb

  /// The code's name as the RFC writes it, or its number.
  package static func name(_ code: UInt32) -> String {
    String(cString: nghttp2_http2_strerror(code)) + "(\(code))"
  }
}

/// One setting of a SETTINGS frame.
package struct HTTP2Setting: Sendable, Hashable {
  package var identifier: Int32
  package var value: UInt32

  static let headerTableSize: Int32 = 1

  package static func headerTableSize(_ value: UInt32) -> Self {
    .init(identifier: headerTableSize, value: value)
  }
  package static func enablePush(_ value: Bool) -> Self {
    .init(identifier: 2, value: value ? 1 : 0)
  }
  package static func maxConcurrentStreams(_ value: UInt32) -> Self {
    .init(identifier: 3, value: value)
  }
  package static func initialWindowSize(_ value: UInt32) -> Self {
    .init(identifier: 4, value: value)
  }
  package static func maxFrameSize(_ value: UInt32) -> Self { .init(identifier: 5, value: value) }
  package static func maxHeaderListSize(_ value: UInt32) -> Self {
    .init(identifier: 6, value: value)
  }
}

/// The C object of one HTTP/2 connection, and what both of its ends may ask of it. Does no I/O.
///
/// nghttp2 must not be re-entered: callbacks only write to the notes they are given as user data,
/// and the session that called into C reads the notes afterwards.
final class HTTP2Engine {
  enum Role { case client, server }

  let session: OpaquePointer
  /// Outlives the session: it is freed behind `deinit`'s body.
  private let pool = BlockPool()
  /// Where frames are gathered: a turn's requests are hundreds of small ones.
  private let outbox = UnsafeMutableRawBufferPointer.allocate(
    byteCount: HTTP2Engine.outboxSize, alignment: 16)
  /// Room for a portion and any single frame.
  private static let outboxSize = 65_536
  /// The bytes of one TLS record, which goes on its way while the next one is gathered.
  private static let portion = 16_384

  /// - Parameters:
  ///   - callbacks: made once by ``HTTP2Callbacks``; copied by nghttp2.
  ///   - notes: user data of every callback. The caller keeps it alive longer than this engine.
  ///   - consumesByItself: whether received bytes open the flow control window again at once.
  init(
    role: Role, callbacks: OpaquePointer, notes: UnsafeMutableRawPointer,
    consumesByItself: Bool = true
  ) {
    var options: OpaquePointer?
    nghttp2_option_new(&options)
    defer { nghttp2_option_del(options) }
    // Closed streams are kept for the priority tree only, which neither end uses.
    nghttp2_option_set_no_closed_streams(options, 1)
    if !consumesByItself { nghttp2_option_set_no_auto_window_update(options, 1) }
    var session: OpaquePointer?
    var memory = pool.callbacks
    let code =
      switch role {
      case .client: nghttp2_session_client_new3(&session, callbacks, notes, options, &memory)
      case .server: nghttp2_session_server_new3(&session, callbacks, notes, options, &memory)
      }
    guard code == 0, let session else { fatalError("nghttp2 has no memory for a session") }
    self.session = session
  }

  deinit {
    nghttp2_session_del(session)
    outbox.deallocate()
  }

  /// Whether the connection has still something to hear or to say. When both are false it is over.
  var wantsRead: Bool { nghttp2_session_want_read(session) != 0 }
  var wantsWrite: Bool { nghttp2_session_want_write(session) != 0 }

  /// Feeds bytes from the peer. What they meant is in the notes.
  func receive(_ bytes: RawSpan) throws(HTTP2ProtocolError) {
    let code = bytes.withUnsafeBytes { buffer -> Int in
      nghttp2_session_mem_recv(
        session, buffer.baseAddress?.assumingMemoryBound(to: UInt8.self), buffer.count)
    }
    guard code >= 0 else { throw HTTP2ProtocolError(code: Int32(code)) }
  }

  /// Hands over what is to be written, many frames at a time, until `write` answers false or there
  /// is no more. The bytes are gone when `write` returns.
  ///
  /// - Parameter replace: is shown each frame, and may write another one in its place: the number
  ///   of that one's bytes, or nil to leave the first as it is.
  /// - Returns: whether there is no more.
  @discardableResult
  func takeOutput(
    replacing replace: (UnsafeRawBufferPointer, UnsafeMutableRawBufferPointer) -> Int? = { _, _ in
      nil
    }, _ write: (RawSpan) -> Bool
  ) throws(HTTP2ProtocolError) -> Bool {
    var filled = 0
    while true {
      var start: UnsafePointer<UInt8>?
      let count = nghttp2_session_mem_send(session, &start)
      guard count >= 0 else { throw HTTP2ProtocolError(code: Int32(count)) }
      guard count > 0, let start else {
        if filled > 0 { _ = write(UnsafeRawBufferPointer(rebasing: outbox[..<filled]).bytes) }
        return true
      }
      let frame = UnsafeRawBufferPointer(start: start, count: count)
      let room = UnsafeMutableRawBufferPointer(rebasing: outbox[filled...])
      let added = replace(frame, room) ?? copy(frame, to: room)
      guard filled + added > Self.portion, filled > 0 else {
        filled += added
        continue
      }
      let isWelcome = write(UnsafeRawBufferPointer(rebasing: outbox[..<filled]).bytes)
      // It begins the next portion.
      let next = UnsafeRawBufferPointer(rebasing: outbox[filled..<(filled + added)])
      if !isWelcome {
        // nghttp2 does not hand it out a second time, so it goes too.
        _ = write(next.bytes)
        return false
      }
      outbox.copyMemory(from: next)
      filled = added
    }
  }

  private func copy(_ frame: UnsafeRawBufferPointer, to room: UnsafeMutableRawBufferPointer) -> Int
  {
    room.copyMemory(from: frame)
    return frame.count
  }

  func submit(_ settings: [HTTP2Setting]) {
    let entries = settings.map {
      nghttp2_settings_entry(settings_id: $0.identifier, value: $0.value)
    }
    let code = nghttp2_submit_settings(
      session, UInt8(NGHTTP2_FLAG_NONE.rawValue), entries, entries.count)
    precondition(code == 0, "nghttp2 refuses the settings \(settings): error \(code)")
  }

  /// Widens the connection's window to `size` bytes. The streams' own windows are a setting.
  func setConnectionWindow(_ size: Int32) {
    nghttp2_session_set_local_window_size(session, 0, 0, size)
  }

  func ping(_ payload: UInt64) {
    withUnsafeBytes(of: payload) { bytes in
      let start = bytes.baseAddress?.assumingMemoryBound(to: UInt8.self)
      _ = nghttp2_submit_ping(session, UInt8(NGHTTP2_FLAG_NONE.rawValue), start)
    }
  }

  func reset(_ streamID: Int32, _ errorCode: UInt32) {
    nghttp2_submit_rst_stream(
      session, UInt8(NGHTTP2_FLAG_NONE.rawValue), streamID, errorCode)
  }

  /// - Parameter lastStreamID: nil for the last one that was processed.
  func goAway(lastStreamID: Int32?, errorCode: UInt32, debugData: [UInt8]) {
    let last = lastStreamID ?? nghttp2_session_get_last_proc_stream_id(session)
    nghttp2_submit_goaway(
      session, UInt8(NGHTTP2_FLAG_NONE.rawValue), last, errorCode, debugData, debugData.count)
  }

  /// Says the GOAWAY that denies no stream yet. nghttp2 takes new streams after no other one.
  func announceShutdown() { nghttp2_submit_shutdown_notice(session) }

  /// What the peer allows us to have open at once; very high until it has said so.
  var peerMaxConcurrentStreams: UInt32 {
    nghttp2_session_get_remote_settings(session, NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS)
  }
}

/// The nine bytes in front of each frame (RFC 9113, section 4.1).
enum FrameHead {
  static let size = 9

  /// Whether it is a HEADERS frame. The words that begin a connection are no frame, and look like
  /// one of another type.
  static func beginsHead(_ frame: UnsafeRawBufferPointer) -> Bool {
    frame.count >= size && frame[3] == UInt8(NGHTTP2_HEADERS.rawValue)
  }

  static func streamID(of frame: UnsafeRawBufferPointer) -> Int32 {
    Int32(bigEndian: frame.loadUnaligned(fromByteOffset: 5, as: Int32.self))
  }

  /// - Parameter payloadBytes: the new frame's.
  static func copy(
    from frame: UnsafeRawBufferPointer, to room: UnsafeMutableRawBufferPointer, payloadBytes: Int
  ) {
    room.copyMemory(from: UnsafeRawBufferPointer(rebasing: frame[..<size]))
    room[0] = UInt8(truncatingIfNeeded: payloadBytes >> 16)
    room[1] = UInt8(truncatingIfNeeded: payloadBytes >> 8)
    room[2] = UInt8(truncatingIfNeeded: payloadBytes)
  }
}

/// nghttp2's payload of a PING as a number. The bytes come back as they were sent.
func pingPayload(_ frame: UnsafePointer<nghttp2_frame>) -> UInt64 {
  var payload: UInt64 = 0
  withUnsafeMutableBytes(of: &payload) { target in
    withUnsafeBytes(of: frame.pointee.ping.opaque_data) { target.copyMemory(from: $0) }
  }
  return payload
}

/// A GOAWAY frame as a value; its debug data is cut.
func goAway(_ frame: UnsafePointer<nghttp2_frame>) -> GoAway {
  let goaway = frame.pointee.goaway
  let kept = min(goaway.opaque_data_len, GoAway.debugDataLimitBytes)
  return GoAway(
    lastStreamID: goaway.last_stream_id, errorCode: goaway.error_code,
    debugData: Array(UnsafeBufferPointer(start: goaway.opaque_data, count: kept)))
}

extension UnsafePointer<nghttp2_frame> {
  var kind: nghttp2_frame_type { nghttp2_frame_type(UInt32(pointee.hd.type)) }
  var streamID: Int32 { pointee.hd.stream_id }
  var endsStream: Bool { pointee.hd.flags & UInt8(NGHTTP2_FLAG_END_STREAM.rawValue) != 0 }
  var isAcknowledgement: Bool { pointee.hd.flags & UInt8(NGHTTP2_FLAG_ACK.rawValue) != 0 }
}
