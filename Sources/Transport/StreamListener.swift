internal import CLinux
internal import Clocks
internal import Glibc

/// A listening socket that hands over each connection once it is usable.
///
/// `@unchecked Sendable` is right because its state is touched on its loop only; ``close()`` may be
/// called anywhere and goes there.
package final class StreamListener: @unchecked Sendable {
  package let loop: EventLoop
  /// The TCP port it listens on, chosen by the system when 0 was asked for; 0 for a Unix socket.
  package let port: Int
  private let descriptor: Int32
  private let unixPath: String?
  private var tls: TLSServerContext?
  private let handshakeDeadline: Duration
  private let accept: (ByteStream) -> Void
  private var watch: Watch?
  private var isClosed = false
  /// Clients in the middle of their TLS handshake.
  private var handshakes = 0

  /// Begins to listen.
  ///
  /// - Parameters:
  ///   - handshakeDeadline: a client that has not finished its TLS handshake by then is cut off.
  ///   - accept: called on the loop for each connection, its TLS handshake done; it must call
  ///     ``ByteStream/start(_:)`` or ``ByteStream/abort()``.
  /// - Throws: ``SystemError``: the port is taken, the address is not this machine's, …
  package static func bind(
    _ endpoint: Endpoint, tls: TLSServerContext? = nil,
    handshakeDeadline: Duration = .seconds(10), on loop: EventLoop,
    accept: @escaping @Sendable (ByteStream) -> Void
  ) async throws(SystemError) -> StreamListener {
    let (descriptor, port) = try open(endpoint)
    let path: String? = if case .unix(let path) = endpoint { path } else { nil }
    let listener = StreamListener(
      loop: loop, port: port, descriptor: descriptor, unixPath: path, tls: tls,
      handshakeDeadline: handshakeDeadline, accept: accept)
    let result: Result<Void, SystemError> = await withUnsafeContinuation { continuation in
      loop.execute { continuation.resume(returning: listener.begin()) }
    }
    try result.get()
    return listener
  }

  private init(
    loop: EventLoop, port: Int, descriptor: Int32, unixPath: String?, tls: TLSServerContext?,
    handshakeDeadline: Duration, accept: @escaping (ByteStream) -> Void
  ) {
    self.loop = loop
    self.port = port
    self.descriptor = descriptor
    self.unixPath = unixPath
    self.tls = tls
    self.handshakeDeadline = handshakeDeadline
    self.accept = accept
  }

  /// Greets those who connect from now on with another certificate. Only for a listener that speaks
  /// TLS already.
  package func use(_ tls: TLSServerContext) {
    loop.execute { [self] in
      precondition(self.tls != nil, "a listener does not change from plain to TLS")
      self.tls = tls
    }
  }

  /// Stops listening; connections that were accepted live on.
  package func close() {
    loop.execute { [self] in
      guard !isClosed else { return }
      isClosed = true
      if let watch { loop.forget(watch) }
      watch = nil
      Glibc.close(descriptor)
      if let unixPath { unlink(unixPath) }
    }
  }

  private func begin() -> Result<Void, SystemError> {
    do {
      watch = try loop.watch(descriptor, events: EPOLLIN.rawValue) { [self] _ in acceptAll() }
      return .success(())
    } catch {
      Glibc.close(descriptor)
      return .failure(error)
    }
  }

  private func acceptAll() {
    // A bound on the batch leaves the loop to the connections that are already there.
    for _ in 0..<64 where !isClosed {
      var storage = sockaddr_storage()
      var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
      let accepted = withUnsafeMutablePointer(to: &storage) { storage in
        storage.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
          (clinux_accept(descriptor, address, &length), SocketAddress(address, length: length))
        }
      }
      if accepted.0 < 0 {
        // Out of descriptors: the queue waits in the kernel; look again before long.
        if errno == EMFILE || errno == ENFILE { pauseAccepting() }
        return
      }
      greet(accepted.0, accepted.1)
    }
  }

  /// Who holds this many handshakes open at once is not our client; each takes a descriptor for as
  /// long as its deadline, and the service needs some for itself.
  private static let mostHandshakes = 1_024

  private func greet(_ descriptor: Int32, _ address: SocketAddress) {
    SocketOptions.apply(to: descriptor, family: address.family, userTimeout: .seconds(30))
    let stream = ByteStream(descriptor: descriptor, peer: address.text, loop: loop)
    guard let tls else {
      accept(stream)
      return
    }
    guard handshakes < Self.mostHandshakes else { return stream.abort() }
    handshakes += 1
    let deadline = loop.now + handshakeDeadline
    stream.beginTLS(TLSSession(server: tls), deadline: deadline) { [self] result in
      handshakes -= 1
      if case .success = result { accept(stream) }
    }
  }

  private func pauseAccepting() {
    guard let watch else { return }
    loop.change(watch, events: 0)
    _ = loop.schedule(at: loop.now + .milliseconds(100)) { [self] in
      if let watch = self.watch { loop.change(watch, events: EPOLLIN.rawValue) }
    }
  }

  private static func open(_ endpoint: Endpoint) throws(SystemError) -> (Int32, Int) {
    switch endpoint {
    case .unix(let path):
      guard let address = SocketAddress(unixPath: path) else {
        throw SystemError(call: "bind to the socket \(path)", code: ENAMETOOLONG)
      }
      unlink(path)
      return (try listen(on: address, name: "\(endpoint)"), 0)
    case .tcp(let host, let port):
      var hints = addrinfo()
      hints.ai_flags = Int32(AI_PASSIVE | AI_NUMERICSERV)
      hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
      var list: UnsafeMutablePointer<addrinfo>?
      guard getaddrinfo(host, String(port), &hints, &list) == 0, let first = list?.pointee,
        let found = first.ai_addr
      else { throw SystemError(call: "bind to \(endpoint)", code: EADDRNOTAVAIL) }
      defer { freeaddrinfo(list) }
      let address = SocketAddress(found, length: first.ai_addrlen)
      let descriptor = try listen(on: address, name: "\(endpoint)")
      return (descriptor, boundPort(of: descriptor))
    }
  }

  /// A TCP port of 127.0.0.1 that was free a moment ago, for a program that takes a number only.
  package static func freePort(on loop: EventLoop) async throws(SystemError) -> Int {
    let listener = try await bind(.tcp(host: "127.0.0.1", port: 0), on: loop) { $0.abort() }
    defer { listener.close() }
    return listener.port
  }

  private static func listen(on address: SocketAddress, name: String) throws(SystemError) -> Int32 {
    let kind = Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
    let descriptor = try systemCall("socket") { socket(address.family, kind, 0) }
    SocketOptions.set(descriptor, SOL_SOCKET, SO_REUSEADDR, 1)
    do throws(SystemError) {
      try systemCall("bind to \(name)") { address.withPointer { Glibc.bind(descriptor, $0, $1) } }
      try systemCall("listen on \(name)") { Glibc.listen(descriptor, 1024) }
    } catch {
      Glibc.close(descriptor)
      throw error
    }
    return descriptor
  }

  private static func boundPort(of descriptor: Int32) -> Int {
    var storage = sockaddr_storage()
    var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
    return withUnsafeMutablePointer(to: &storage) { storage in
      storage.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        getsockname(descriptor, address, &length)
        return SocketAddress(address, length: length).port
      }
    }
  }
}
