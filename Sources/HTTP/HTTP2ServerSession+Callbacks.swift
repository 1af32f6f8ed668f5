import CNghttp2

/// The callbacks of a server's session: they write notes. The one thing that they tell nghttp2 is
/// which slot belongs to a new stream.
enum HTTP2ServerCallbacks {
  /// Made once and only read, by nghttp2, when a session is made.
  nonisolated(unsafe) static let table: OpaquePointer = {
    var made: OpaquePointer?
    nghttp2_session_callbacks_new(&made)
    guard let table = made else { fatalError("nghttp2 has no memory for its callbacks") }
    nghttp2_session_callbacks_set_on_begin_headers_callback(table, headBegins)
    nghttp2_session_callbacks_set_on_header_callback(table, fieldReceived)
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(table, bodyReceived)
    nghttp2_session_callbacks_set_on_frame_recv_callback(table, frameReceived)
    nghttp2_session_callbacks_set_on_stream_close_callback(table, streamClosed)
    nghttp2_session_callbacks_set_error_callback2(table, faultFound)
    return table
  }()

  /// Gives nghttp2 the next part of an answer's body.
  static let readBody: nghttp2_data_source_read_callback = {
    _, _, target, length, flags, source, notes in
    guard let notes, let source, let flags else {
      return Int(NGHTTP2_ERR_CALLBACK_FAILURE.rawValue)
    }
    let index = Int(bitPattern: source.pointee.ptr) - 1
    return withNotes(notes) { notes in
      let (count, isLast) = notes.bodyWanted(
        index, UnsafeMutableBufferPointer(start: target, count: length))
      guard isLast else { return count }
      guard notes.exchanges[index].withholdsEnd else {
        flags.pointee |= NGHTTP2_DATA_FLAG_EOF.rawValue
        return count
      }
      return count > 0 ? count : Int(NGHTTP2_ERR_DEFERRED.rawValue)
    }
  }
}

private let headBegins: nghttp2_on_begin_headers_callback = { session, frame, notes in
  guard let session, let frame, let notes else { return 0 }
  guard frame.pointee.headers.cat == NGHTTP2_HCAT_REQUEST else {
    withNotes(notes) { $0.current = nil }
    return 0
  }
  let index = withNotes(notes) { notes in
    let index = notes.allocate(frame.streamID)
    notes.current = index
    return index
  }
  nghttp2_session_set_stream_user_data(
    session, frame.streamID, UnsafeMutableRawPointer(bitPattern: index + 1))
  return 0
}

private let fieldReceived: nghttp2_on_header_callback = {
  _, _, name, nameLength, value, valueLength, _, notes in
  guard let notes else { return 0 }
  withNotes(notes) { notes in
    guard let index = notes.current else { return }
    notes.fieldReceived(
      index, name: UnsafeBufferPointer(start: name, count: nameLength),
      value: UnsafeBufferPointer(start: value, count: valueLength))
  }
  return 0
}

private let bodyReceived: nghttp2_on_data_chunk_recv_callback = {
  session, _, streamID, bytes, count, notes in
  guard let session, let notes, let index = exchange(session, streamID) else { return 0 }
  withNotes(notes) { $0.bodyReceived(index, UnsafeBufferPointer(start: bytes, count: count)) }
  return 0
}

private let frameReceived: nghttp2_on_frame_recv_callback = { session, frame, notes in
  guard let session, let frame, let notes else { return 0 }
  switch frame.kind {
  case NGHTTP2_HEADERS, NGHTTP2_DATA:
    guard frame.endsStream, let index = exchange(session, frame.streamID) else { return 0 }
    withNotes(notes) { $0.requestEnded(index) }
  case NGHTTP2_SETTINGS:
    let event: HTTP2ServerSession.Event =
      frame.isAcknowledgement ? .settingsAcknowledged : .settingsReceived
    withNotes(notes) { $0.events.append(event) }
  case NGHTTP2_GOAWAY:
    let announcement = goAway(frame)
    withNotes(notes) { $0.events.append(.goAwayReceived(announcement)) }
  case NGHTTP2_PING:
    let event: HTTP2ServerSession.Event =
      frame.isAcknowledgement ? .pingAcknowledged(pingPayload(frame)) : .pingReceived
    withNotes(notes) { $0.events.append(event) }
  case NGHTTP2_PRIORITY:
    withNotes(notes) { $0.events.append(.priorityReceived) }
  default: break
  }
  return 0
}

private let streamClosed: nghttp2_on_stream_close_callback = {
  session, streamID, errorCode, notes in
  guard let session, let notes, let index = exchange(session, streamID) else { return 0 }
  withNotes(notes) { $0.streamClosed(index, errorCode) }
  return 0
}

private let faultFound: nghttp2_error_callback2 = { _, _, text, length, notes in
  guard let notes, let text else { return 0 }
  let bytes = UnsafeRawBufferPointer(start: text, count: min(length, 300))
  withNotes(notes) { $0.fault = String(decoding: bytes, as: UTF8.self) }
  return 0
}

private func exchange(_ session: OpaquePointer, _ streamID: Int32) -> Int? {
  guard let data = nghttp2_session_get_stream_user_data(session, streamID) else { return nil }
  return Int(bitPattern: data) - 1
}

@inline(__always)
private func withNotes<Result>(
  _ pointer: UnsafeMutableRawPointer, _ body: (inout ServerNotes) -> Result
) -> Result {
  body(&pointer.assumingMemoryBound(to: ServerNotes.self).pointee)
}
