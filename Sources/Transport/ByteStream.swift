internal import CLinux
internal import Clocks
internal import Glibc

/// What a stream tells its owner; all calls come on the loop's thread.
package protocol StreamHandler: AnyObject, Sendable {
  /// Bytes from the peer, valid during the call only.
  func streamReceived(_ bytes: RawSpan)
  /// The turn ends and ``ByteStream/setNeedsFlush()`` was called: the last chance to write what
  /// shall leave with this turn.
  func streamWillFlush()
  /// Everything that had piled up above ``ByteStream/highMark`` has been handed to the system.
  func streamDrained()
  /// The peer has sent its last byte and may still read. Called only if
  /// ``ByteStream/allowsHalfClose`` is set; without that the stream is over then.
  func streamInputEnded()
  /// The stream is over. Called exactly once, also after ``ByteStream/close()``.
  func streamClosed(_ closure: StreamClosure)
}

extension StreamHandler {
  package func streamInputEnded() {}
}

/// A connected socket, TCP or Unix, plain or with TLS on top.
///
/// Writes are gathered: all that is written in one turn of the loop leaves with one system call at
/// its end. Nothing is read before ``start(_:)``.
///
/// `@unchecked Sendable` is right because every method checks, in debug builds, that it runs on the
/// loop's thread, and nothing else touches the state.
package final class ByteStream: @unchecked Sendable {
  private enum Phase: Equatable {
    case idle
    case open
    /// ``close()`` was called; what is buffered still leaves.
    case closing
    /// Our side is shut; what the peer still sends is read and thrown away, so that the kernel does
    /// not answer it with a reset that would destroy our last bytes.
    case lingering
    case closed
  }

  /// Buffered output above which a writer should wait for ``StreamHandler/streamDrained()``.
  package static let highMark = 262_144

  /// Encrypted output that does not wait for the end of the turn's work: a TLS record's worth.
  private static let earlyMark = 16_000

  package let loop: EventLoop
  /// The other side's address, for logs.
  package let peer: String

  /// ``peer`` without its port: an IPv4 address, or the network that one subscriber to IPv6 has.
  package var peerAddress: String {
    guard peer.hasPrefix("["), let end = peer.firstIndex(of: "]") else {
      return String(peer.prefix { $0 != ":" })
    }
    let text = String(peer[peer.index(after: peer.startIndex)..<end])
    guard let address = IPAddress(text) else { return text }
    guard address.bytes.count == 16 else {
      return address.bytes.map { String($0) }.joined(separator: ".")
    }
    return address.bytes.prefix(8).map { String($0, radix: 16) }.joined(separator: ":")
  }
  let descriptor: Int32
  private var watch: Watch?
  private var watchedEvents: UInt32 = 0
  private var phase = Phase.idle
  private var handler: (any StreamHandler)?
  private var tls: TLSSession?
  private var output: [UInt8] = []
  private var outputStart = 0
  private var isBlocked = false
  private var isFlushMarked = false
  /// Whether ``StreamHandler/streamWillFlush()`` is being called.
  private var isFlushing = false
  private var wasOverHighMark = false
  private var isReadingPaused = false
  private var isInputEnded = false
  private var lingerTimer: LoopTimer?
  private var handshake: Handshake?

  /// Whether a peer that has ended its side may still get an answer. It may also be gone for good:
  /// then writing fails.
  package var allowsHalfClose = false

  private struct Handshake {
    let deadline: LoopTimer
    let finished: (Result<Void, StreamError>) -> Void
  }

  /// Takes over a connected, non-blocking descriptor.
  init(descriptor: Int32, peer: String, loop: EventLoop) {
    self.descriptor = descriptor
    self.peer = peer
    self.loop = loop
  }

  deinit {
    // Reached without `close` only when a stream is dropped before it was ever used.
    if phase != .closed { Glibc.close(descriptor) }
  }

  /// The protocol agreed on by ALPN, such as `h2`; nil without TLS or agreement.
  package var alpn: String? { tls?.alpn }

  /// The subject of the peer's verified certificate.
  package var peerSubject: String? { tls?.peerSubject }

  package var isOpen: Bool { phase == .idle || phase == .open }

  /// Bytes written and not yet taken by the system.
  package var pendingOutputBytes: Int { output.count - outputStart + (tls?.output.count ?? 0) }

  /// Memory that is held for bytes not yet taken, in bytes.
  package var outputCapacity: Int { output.capacity }

  // MARK: Use

  /// Names the one who gets the bytes, and begins to read.
  package func start(_ handler: any StreamHandler) {
    loop.preconditionOnLoop()
    guard phase == .idle else { return }
    self.handler = handler
    phase = .open
    guard updateWatch() else { return }
    // Plain bytes may have come in the same records as the end of the handshake.
    if tls != nil { loop.execute { self.deliverDecrypted() } }
  }

  /// Takes the stream back from its handler, which hears nothing of it any more, so that another
  /// protocol can follow: ``startTLS(client:serverName:deadline:finished:)``, then ``start(_:)``.
  ///
  /// Nothing is read in between, except by the handshake.
  package func handOver() {
    loop.preconditionOnLoop()
    guard phase == .open else { return }
    phase = .idle
    handler = nil
    _ = updateWatch()
  }

  package func write(_ bytes: RawSpan) {
    bytes.withUnsafeBytes { raw in
      guard isOpen else { return }
      if isFlushing, writeThrough(raw) { return }
      output.append(contentsOf: raw)
      noteWritten()
    }
  }

  package func write(_ bytes: [UInt8]) {
    guard isOpen else { return }
    output.append(contentsOf: bytes)
    noteWritten()
  }

  /// Asks for ``StreamHandler/streamWillFlush()`` at the end of this turn.
  package func setNeedsFlush() {
    loop.preconditionOnLoop()
    if isFlushMarked { return }
    isFlushMarked = true
    loop.atEndOfTurn { self.flushAtEndOfTurn() }
  }

  package func pauseReading() {
    isReadingPaused = true
    _ = updateWatch()
  }

  package func resumeReading() {
    guard isReadingPaused else { return }
    isReadingPaused = false
    guard updateWatch() else { return }
    if tls != nil { loop.execute { self.deliverDecrypted() } }
  }

  /// Ends the stream in order, after what was written has left.
  package func close() {
    loop.preconditionOnLoop()
    guard isOpen else { return }
    phase = .closing
    setNeedsFlush()
  }

  /// Ends the stream at once, with a reset where the protocol knows one.
  package func abort() {
    loop.preconditionOnLoop()
    guard phase != .closed else { return }
    var option = linger(l_onoff: 1, l_linger: 0)
    setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
    finish(.byUs)
  }

  // MARK: TLS

  func beginTLS(
    _ session: TLSSession, deadline: Moment,
    finished: @escaping (Result<Void, StreamError>) -> Void
  ) {
    loop.preconditionOnLoop()
    // The peer may have gone between the answer of a tunnel and this.
    guard phase != .closed else { return finished(.failure(.closedEarly(endpoint: peer))) }
    tls = session
    let seconds = (deadline - MonotonicClock.now()).inSeconds
    let timer = loop.schedule(at: deadline) { [self] in
      endHandshake(.failure(.timedOut(endpoint: peer, seconds: max(0, seconds))))
    }
    handshake = Handshake(deadline: timer, finished: finished)
    advanceHandshake()
  }

  /// Ends the stream if its handshake is not done.
  func cancelHandshake() { endHandshake(.failure(.cancelled)) }

  private func advanceHandshake() {
    guard let tls else { return }
    let progress = tls.handshake()
    send()
    guard phase != .closed, handshake != nil else { return }
    switch progress {
    case .wantsMore: _ = updateWatch()
    case .done: endHandshake(.success(()))
    case .failed(let failure): endHandshake(.failure(.tls(endpoint: peer, failure)))
    }
  }

  private func endHandshake(_ result: Result<Void, StreamError>) {
    guard let handshake else { return }
    self.handshake = nil
    loop.cancel(handshake.deadline)
    // Until somebody takes the bytes they stay where they are: the end of the stream, read too
    // early, would hide what the peer said before it.
    if case .failure = result { finish(.byUs) } else { _ = updateWatch() }
    handshake.finished(result)
  }

  // MARK: Events

  /// - Returns: false when the stream is over.
  private func updateWatch() -> Bool {
    guard phase != .closed else { return false }
    var events: UInt32 = 0
    let reads = handshake != nil || isReading || phase == .lingering
    if reads { events |= EPOLLIN.rawValue }
    if isBlocked { events |= EPOLLOUT.rawValue }
    if let watch {
      if events != watchedEvents { loop.change(watch, events: events) }
    } else {
      do {
        watch = try loop.watch(descriptor, events: events) { self.ready($0) }
      } catch {
        finish(.lost(reason: "\(error)"))
        return false
      }
    }
    watchedEvents = events
    return true
  }

  private var isReading: Bool { phase == .open && !isReadingPaused && !isInputEnded }

  private func ready(_ events: UInt32) {
    if events & EPOLLOUT.rawValue != 0, isBlocked {
      isBlocked = false
      flush()
    }
    if phase == .closed { return }
    let readable = events & (EPOLLIN.rawValue | EPOLLHUP.rawValue | EPOLLERR.rawValue)
    if readable != 0 { receive() }
  }

  private func receive() {
    let buffers = loop.receiveBuffers
    let target = tls == nil ? buffers.plain : buffers.encrypted
    let socket = descriptor
    switch transfer({ recv(socket, target.baseAddress, target.count, 0) }) {
    case .wouldBlock: return
    case .failed(let code): end(.lost(reason: SystemError.text(of: code)))
    case .done(0): inputEnded()
    case .done(let count):
      if phase == .lingering { return }
      let bytes = UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(target)[..<count])
      guard let tls else {
        deliver(bytes)
        return
      }
      tls.feed(bytes)
      if handshake != nil { advanceHandshake() } else { deliverDecrypted() }
    }
  }

  private func deliverDecrypted() {
    guard let tls else { return }
    let plain = loop.receiveBuffers.plain
    while isReading {
      switch tls.read(into: plain) {
      case .read(0):
        // Reading may have answered the peer, as with a key update.
        if tls.hasOutput { setNeedsFlush() }
        return
      case .read(let count):
        deliver(UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(plain)[..<count]))
      case .peerClosed: inputEnded()
      case .failed(let failure): end(.tls(failure))
      }
    }
  }

  private func deliver(_ bytes: UnsafeRawBufferPointer) {
    guard phase == .open else { return }
    handler?.streamReceived(bytes.bytes)
  }

  private func inputEnded() {
    guard allowsHalfClose, phase == .open, handshake == nil, !isInputEnded else {
      return end(.byPeer)
    }
    isInputEnded = true
    if updateWatch() { handler?.streamInputEnded() }
  }

  private func end(_ closure: StreamClosure) {
    if handshake != nil {
      let error: StreamError =
        if case .lost(let reason) = closure {
          .notConnected(endpoint: peer, reason: reason)
        } else {
          .closedEarly(endpoint: peer)
        }
      endHandshake(.failure(error))
    } else {
      finish(closure)
    }
  }

  // MARK: Output

  private func noteWritten() {
    if pendingOutputBytes > Self.highMark { wasOverHighMark = true }
    setNeedsFlush()
  }

  private func flushAtEndOfTurn() {
    isFlushMarked = false
    if phase == .open {
      isFlushing = true
      handler?.streamWillFlush()
      isFlushing = false
    }
    // What the handler wrote just now leaves with this flush.
    if phase != .closed { flush() }
  }

  /// Encrypts what comes at the end of a turn from where it stands, and lets whole records leave at
  /// once: the peer begins with them while the next are made.
  ///
  /// - Returns: false when something stands before it, or TLS does: then it is written as ever. An
  ///   error is left to the flush that follows, since the handler is in the middle of its work.
  private func writeThrough(_ bytes: UnsafeRawBufferPointer) -> Bool {
    guard let tls, tls.isEstablished, !isBlocked, output.isEmpty, tls.write(bytes) == nil else {
      return false
    }
    if pendingOutputBytes > Self.highMark { wasOverHighMark = true }
    let waiting = tls.output
    guard waiting.count >= Self.earlyMark else { return true }
    let count = Glibc.send(descriptor, waiting.baseAddress, waiting.count, Int32(MSG_NOSIGNAL))
    if count > 0 { tls.sent(count, discardingInto: loop.receiveBuffers.encrypted) }
    return true
  }

  private func flush() {
    if isBlocked { return }
    send()
    guard phase != .closed, !isBlocked else { return }
    if wasOverHighMark {
      wasOverHighMark = false
      if phase == .open { handler?.streamDrained() }
    }
    if phase == .closing, pendingOutputBytes == 0 { shutDown() }
  }

  private func send() {
    if let tls {
      if tls.isEstablished, outputStart < output.count {
        let failure = output.withUnsafeBytes { all in
          tls.write(UnsafeRawBufferPointer(rebasing: all[outputStart...]))
        }
        clearOutput()
        if let failure {
          end(.tls(failure))
          return
        }
      }
      sendEncrypted(tls)
    } else {
      sendPlain()
    }
    if phase != .closed { _ = updateWatch() }
  }

  private func sendEncrypted(_ tls: TLSSession) {
    while tls.hasOutput {
      let bytes = tls.output
      guard let count = sendOnce(bytes) else { return }
      tls.sent(count, discardingInto: loop.receiveBuffers.encrypted)
    }
  }

  private func sendPlain() {
    while outputStart < output.count {
      let count = output.withUnsafeBytes { all in
        sendOnce(UnsafeRawBufferPointer(rebasing: all[outputStart...]))
      }
      guard let count else { return dropSent() }
      outputStart += count
    }
    clearOutput()
  }

  /// Makes room of what was sent: a peer that reads slowly but steadily never sees all of it sent.
  /// No byte is moved more than once on average.
  private func dropSent() {
    guard outputStart >= Self.highMark, outputStart >= output.count / 2 else { return }
    output.removeFirst(outputStart)
    outputStart = 0
  }

  /// - Returns: nil when the socket is full or the stream is over.
  private func sendOnce(_ bytes: UnsafeRawBufferPointer) -> Int? {
    let socket = descriptor
    let flags = Int32(MSG_NOSIGNAL)
    switch transfer({ Glibc.send(socket, bytes.baseAddress, bytes.count, flags) }) {
    case .done(let count): return count
    case .wouldBlock:
      isBlocked = true
      return nil
    case .failed(let code):
      end(.lost(reason: SystemError.text(of: code)))
      return nil
    }
  }

  private func clearOutput() {
    outputStart = 0
    // A burst must not hold its memory for the rest of the connection's life.
    output.removeAll(keepingCapacity: output.capacity <= Self.highMark)
  }

  // MARK: The end

  private func shutDown() {
    if let tls {
      tls.sayGoodbye()
      sendEncrypted(tls)
      if phase == .closed { return }
    }
    shutdown(descriptor, Int32(SHUT_WR))
    phase = .lingering
    let handler = self.handler
    self.handler = nil
    guard updateWatch() else { return }
    lingerTimer = loop.schedule(at: loop.now + .seconds(1)) { self.finish(.byUs) }
    handler?.streamClosed(.byUs)
  }

  private func finish(_ closure: StreamClosure) {
    guard phase != .closed else { return }
    phase = .closed
    if let lingerTimer { loop.cancel(lingerTimer) }
    if let watch { loop.forget(watch) }
    watch = nil
    Glibc.close(descriptor)
    output = []
    outputStart = 0
    tls = nil
    let handler = self.handler
    self.handler = nil
    handler?.streamClosed(closure)
  }
}
