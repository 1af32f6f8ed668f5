import CNghttp2

/// The callbacks of a client's session: they write notes, and never call back into nghttp2 for
/// anything that changes it.
enum HTTP2ClientCallbacks {
  /// Made once and only read, by nghttp2, when a session is made.
  nonisolated(unsafe) static let table: OpaquePointer = {
    var made: OpaquePointer?
    nghttp2_session_callbacks_new(&made)
    guard let table = made else { fatalError("nghttp2 has no memory for its callbacks") }
    nghttp2_session_callbacks_set_on_begin_headers_callback(table, headBegins)
    nghttp2_session_callbacks_set_on_header_callback(table, fieldReceived)
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(table, bodyReceived)
    nghttp2_session_callbacks_set_on_frame_recv_callback(table, frameReceived)
    nghttp2_session_callbacks_set_on_frame_send_callback(table, frameSent)
    nghttp2_session_callbacks_set_on_stream_close_callback(table, streamClosed)
    nghttp2_session_callbacks_set_error_callback2(table, faultFound)
    return table
  }()

  /// Gives nghttp2 the next part of a request's body.
  static let readBody: nghttp2_data_source_read_callback = {
    _, _, target, length, flags, source, notes in
    guard let notes, let source, let flags else {
      return Int(NGHTTP2_ERR_CALLBACK_FAILURE.rawValue)
    }
    let index = Int(bitPattern: source.pointee.ptr) - 1
    let (count, isLast) = withNotes(notes) {
      $0.bodyWanted(index, UnsafeMutableBufferPointer(start: target, count: length))
    }
    if isLast { flags.pointee |= NGHTTP2_DATA_FLAG_EOF.rawValue }
    return count
  }
}

private let headBegins: nghttp2_on_begin_headers_callback = { session, frame, notes in
  guard let session, let frame, let notes else { return 0 }
  let index = exchange(session, frame.streamID)
  withNotes(notes) { notes in
    notes.current = index
    notes.latest = (frame.streamID, index)
    // Trailers are not asked for by anything that we talk to, and are let go.
    guard let index, frame.pointee.headers.cat == NGHTTP2_HCAT_HEADERS else { return }
    if notes.exchanges[index].status >= 200 { notes.current = nil }
  }
  return 0
}

private let fieldReceived: nghttp2_on_header_callback = {
  _, _, name, nameLength, value, valueLength, _, notes in
  guard let notes else { return 0 }
  return withNotes(notes) { notes in
    guard let index = notes.current else { return 0 }
    let fits = notes.headReceived(
      index, name: UnsafeBufferPointer(start: name, count: nameLength),
      value: UnsafeBufferPointer(start: value, count: valueLength))
    return fits ? 0 : NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE.rawValue
  }
}

private let bodyReceived: nghttp2_on_data_chunk_recv_callback = {
  session, _, streamID, bytes, count, notes in
  guard let session, let notes, let index = exchange(session, streamID, notes) else { return 0 }
  withNotes(notes) { $0.bodyReceived(index, UnsafeBufferPointer(start: bytes, count: count)) }
  return 0
}

private let frameReceived: nghttp2_on_frame_recv_callback = { session, frame, notes in
  guard let session, let frame, let notes else { return 0 }
  switch frame.kind {
  case NGHTTP2_HEADERS, NGHTTP2_DATA:
    guard frame.endsStream, let index = exchange(session, frame.streamID, notes) else { return 0 }
    let isOpen = nghttp2_session_get_stream_local_close(session, frame.streamID) == 0
    withNotes(notes) {
      $0.exchanges[index].isComplete = !$0.exchanges[index].isTooLarge
      if isOpen { $0.early.append(index) }
    }
  case NGHTTP2_SETTINGS where !frame.isAcknowledgement:
    let settings = UnsafeBufferPointer(
      start: frame.pointee.settings.iv, count: frame.pointee.settings.niv)
    let tableSizes = settings.filter { $0.settings_id == HTTP2Setting.headerTableSize }
    withNotes(notes) {
      $0.peersTableSizes += tableSizes.map(\.value)
      $0.events.append(.settingsReceived)
    }
  case NGHTTP2_GOAWAY:
    let announcement = goAway(frame)
    withNotes(notes) {
      $0.goAway = announcement
      $0.events.append(.goAwayReceived(announcement))
    }
  case NGHTTP2_PING where frame.isAcknowledgement:
    let payload = pingPayload(frame)
    withNotes(notes) { $0.events.append(.pingAcknowledged(payload)) }
  default: break
  }
  return 0
}

private let frameSent: nghttp2_on_frame_send_callback = { session, frame, notes in
  guard let session, let frame, let notes else { return 0 }
  // Here and not where frames are written: by then the stream is closed.
  if frame.kind == NGHTTP2_RST_STREAM, let index = exchange(session, frame.streamID) {
    withNotes(notes) { $0.exchanges[index].wasResetByUs = true }
  }
  return 0
}

private let streamClosed: nghttp2_on_stream_close_callback = {
  session, streamID, errorCode, notes in
  guard let session, let notes, let index = exchange(session, streamID, notes) else { return 0 }
  withNotes(notes) { notes in
    notes.latest = (0, nil)
    notes.closed.append((index, errorCode))
  }
  return 0
}

private let faultFound: nghttp2_error_callback2 = { _, _, text, length, notes in
  guard let notes, let text else { return 0 }
  let bytes = UnsafeRawBufferPointer(start: text, count: min(length, 300))
  withNotes(notes) { $0.fault = String(decoding: bytes, as: UTF8.self) }
  return 0
}

/// The index of a stream's exchange; nil for the connection itself and for streams let go.
private func exchange(_ session: OpaquePointer, _ streamID: Int32) -> Int? {
  guard let data = nghttp2_session_get_stream_user_data(session, streamID) else { return nil }
  return Int(bitPattern: data) - 1
}

/// The same, without asking when it is the stream whose head came last: most answers are a head.
private func exchange(
  _ session: OpaquePointer, _ streamID: Int32, _ notes: UnsafeMutableRawPointer
) -> Int? {
  let latest = withNotes(notes) { $0.latest }
  return latest.streamID == streamID ? latest.index : exchange(session, streamID)
}

@inline(__always)
private func withNotes<Result>(
  _ pointer: UnsafeMutableRawPointer, _ body: (inout ExchangeNotes) -> Result
) -> Result {
  body(&pointer.assumingMemoryBound(to: ExchangeNotes.self).pointee)
}
