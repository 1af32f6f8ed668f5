internal import CLinux
internal import Clocks
internal import Glibc

/// Options of outgoing TCP connections.
package struct ConnectOptions: Sendable {
  /// Bound on name look-up, TCP and TLS together, in real time.
  package var deadline: Duration = .seconds(10)
  /// How long sent bytes may stay unacknowledged before the kernel gives the connection up. Without
  /// it a peer that vanished is noticed after a quarter of an hour.
  package var userTimeout: Duration = .seconds(15)
  /// The head start that each address has over the next one (RFC 8305 advises 250 ms).
  package var headStart: Duration = .milliseconds(250)
  /// How many addresses to put last that would have been tried first. Who raises it after an attempt
  /// that failed does not meet the same dead end again: an address may answer and then say nothing.
  package var skipped = 0
  /// Stands in for the name server: the addresses of a host, as numbers. Nil asks the system, anew
  /// for each connection, so that one that replaces another goes where the name points then.
  package var addresses: (@Sendable (_ host: String) -> [String])?
  /// Which of a name's addresses may be connected to. It is asked of the very addresses that a
  /// connection then uses, so a name that points elsewhere a moment later changes nothing. Nil lets
  /// all.
  package var admits: (@Sendable (IPAddress) -> Bool)?

  package init() {}
}

/// Opens connections, racing all addresses of a name, both families by turns (RFC 8305).
package enum StreamConnector {
  /// - Parameters:
  ///   - tls: speaks TLS with these settings; nil speaks plain.
  ///   - serverName: the name that the certificate must carry; the endpoint's host when nil.
  /// - Returns: a stream that is connected, its TLS handshake done; call
  ///   ``ByteStream/start(_:)`` on the loop.
  package static func connect(
    to endpoint: Endpoint, tls: TLSClientContext? = nil, serverName: String? = nil,
    options: ConnectOptions = ConnectOptions(), on loop: EventLoop
  ) async throws(StreamError) -> ByteStream {
    let race = ConnectRace(endpoint: endpoint, options: options, loop: loop)
    let stream = try await withTaskCancellationHandler {
      await withUnsafeContinuation { continuation in
        loop.execute { race.start { continuation.resume(returning: $0) } }
      }
    } onCancel: {
      loop.execute { race.finish(.failure(.cancelled)) }
    }.get()
    guard let tls else { return stream }
    try await stream.startTLS(
      client: tls, serverName: serverName ?? endpoint.host, deadline: race.deadline)
    return stream
  }
}

extension Endpoint {
  fileprivate var host: String {
    switch self {
    case .tcp(let host, _): host
    case .unix: "localhost"
    }
  }
}

/// One attempt to connect: addresses start one after another, the first that answers wins.
///
/// `@unchecked Sendable` is right because after its initialiser it is used on its loop only.
private final class ConnectRace: @unchecked Sendable {
  let deadline: Moment
  private let endpoint: Endpoint
  private let options: ConnectOptions
  private let loop: EventLoop
  private var completion: ((Result<ByteStream, StreamError>) -> Void)?
  private var isFinished = false
  private var waiting: [SocketAddress] = []
  private var running: [(descriptor: Int32, watch: Watch)] = []
  private var nextStart: LoopTimer?
  private var expiry: LoopTimer?
  private var lastReason = "no address"

  init(endpoint: Endpoint, options: ConnectOptions, loop: EventLoop) {
    self.endpoint = endpoint
    self.options = options
    self.loop = loop
    deadline = MonotonicClock.now() + options.deadline
  }

  func start(_ completion: @escaping (Result<ByteStream, StreamError>) -> Void) {
    if isFinished {
      completion(.failure(.cancelled))
      return
    }
    self.completion = completion
    let seconds = options.deadline.inSeconds
    expiry = loop.schedule(at: deadline) { [self] in
      finish(.failure(.timedOut(endpoint: "\(endpoint)", seconds: seconds)))
    }
    switch endpoint {
    case .unix(let path):
      guard let address = SocketAddress(unixPath: path) else {
        let reason = "the path of a Unix socket may have at most 107 bytes"
        return finish(.failure(.notConnected(endpoint: "\(endpoint)", reason: reason)))
      }
      waiting = [address]
      startNext()
    case .tcp(let host, let port):
      if let addresses = options.addresses {
        return resolved(.success(addresses(host).flatMap { Resolver.numeric($0, port: port) }))
      }
      Resolver.resolve(host: host, port: port) { [self] result in
        loop.execute { [self] in resolved(result) }
      }
    }
  }

  /// Ends the race; what comes later finds it ended.
  func finish(_ result: Result<ByteStream, StreamError>) {
    guard !isFinished else {
      if case .success(let stream) = result { stream.abort() }
      return
    }
    isFinished = true
    if let expiry { loop.cancel(expiry) }
    if let nextStart { loop.cancel(nextStart) }
    for attempt in running {
      loop.forget(attempt.watch)
      close(attempt.descriptor)
    }
    running = []
    let completion = self.completion
    self.completion = nil
    completion?(result)
  }

  private func resolved(_ result: Result<[SocketAddress], StreamError>) {
    guard !isFinished else { return }
    switch result {
    case .failure(let error): finish(.failure(error))
    case .success(let found):
      let addresses = found.filter { address in
        options.admits.map { admits in address.ip.map(admits) ?? false } ?? true
      }
      if addresses.isEmpty, let refused = found.first {
        lastReason = "no connection to \(refused.ip.map { "\($0)" } ?? "there") is allowed"
      }
      let order = Self.interleaved(addresses)
      let skipped = order.isEmpty ? 0 : options.skipped % order.count
      // The last come first, for `popLast`.
      waiting = Array(order[skipped...] + order[..<skipped]).reversed()
      startNext()
    }
  }

  /// Families by turns, the resolver's first choice first.
  private static func interleaved(_ addresses: [SocketAddress]) -> [SocketAddress] {
    guard let first = addresses.first else { return [] }
    var preferred = addresses.filter { $0.family == first.family }[...]
    var other = addresses.filter { $0.family != first.family }[...]
    var order: [SocketAddress] = []
    while !preferred.isEmpty || !other.isEmpty {
      if let address = preferred.popFirst() { order.append(address) }
      if let address = other.popFirst() { order.append(address) }
    }
    return order
  }

  private func startNext() {
    if let nextStart { loop.cancel(nextStart) }
    nextStart = nil
    while !isFinished, let address = waiting.popLast() {
      if begin(address) {
        if !waiting.isEmpty {
          let at = loop.now + options.headStart
          nextStart = loop.schedule(at: at) { [self] in startNext() }
        }
        return
      }
    }
    if !isFinished, running.isEmpty {
      finish(.failure(.notConnected(endpoint: "\(endpoint)", reason: lastReason)))
    }
  }

  /// - Returns: false when the address failed at once.
  private func begin(_ address: SocketAddress) -> Bool {
    let kind = Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
    let descriptor = socket(address.family, kind, 0)
    guard descriptor >= 0 else {
      lastReason = SystemError.text(of: errno)
      return false
    }
    SocketOptions.apply(to: descriptor, family: address.family, userTimeout: options.userTimeout)
    let result = address.withPointer { connect(descriptor, $0, $1) }
    if result == 0 {
      finish(.success(ByteStream(descriptor: descriptor, peer: address.text, loop: loop)))
      return true
    }
    guard errno == EINPROGRESS else {
      lastReason = SystemError.text(of: errno)
      close(descriptor)
      return false
    }
    return watchAttempt(descriptor, address)
  }

  private func watchAttempt(_ descriptor: Int32, _ address: SocketAddress) -> Bool {
    do {
      let watch = try loop.watch(descriptor, events: EPOLLOUT.rawValue) { [self] _ in
        answered(descriptor, address)
      }
      running.append((descriptor, watch))
      return true
    } catch {
      lastReason = "\(error)"
      close(descriptor)
      return false
    }
  }

  private func answered(_ descriptor: Int32, _ address: SocketAddress) {
    guard let index = running.firstIndex(where: { $0.descriptor == descriptor }) else { return }
    let attempt = running.remove(at: index)
    loop.forget(attempt.watch)
    var code: Int32 = 0
    var length = socklen_t(MemoryLayout<Int32>.size)
    getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &code, &length)
    if code == 0 {
      finish(.success(ByteStream(descriptor: descriptor, peer: address.text, loop: loop)))
    } else {
      lastReason = SystemError.text(of: code)
      close(descriptor)
      startNext()
    }
  }
}

enum SocketOptions {
  /// Sends small writes at once, and gives up on a silent peer in time.
  static func apply(to descriptor: Int32, family: Int32, userTimeout: Duration?) {
    guard family == AF_INET || family == AF_INET6 else { return }
    let tcp = Int32(IPPROTO_TCP)
    set(descriptor, tcp, TCP_NODELAY, 1)
    set(descriptor, SOL_SOCKET, SO_KEEPALIVE, 1)
    guard let userTimeout else { return }
    let seconds = max(1, Int32(clamping: userTimeout.components.seconds))
    set(descriptor, tcp, TCP_KEEPIDLE, seconds)
    set(descriptor, tcp, TCP_KEEPINTVL, max(1, seconds / 3))
    set(descriptor, tcp, TCP_KEEPCNT, 3)
    set(
      descriptor, tcp, TCP_USER_TIMEOUT, Int32(clamping: userTimeout.wholeNanoseconds / 1_000_000))
  }

  static func set(_ descriptor: Int32, _ level: Int32, _ name: Int32, _ value: Int32) {
    var value = value
    setsockopt(descriptor, level, name, &value, socklen_t(MemoryLayout<Int32>.size))
  }
}
