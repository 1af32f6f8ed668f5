import Clocks
package import Transport

/// A small HTTP/1.1 client: one connection that is kept, one request at a time.
///
/// For the command line, tests and the load harness, which make as many of these as they want
/// requests at once. Requests of several tasks are sent in the order in which they were asked for.
package actor HTTP1Client {
  package nonisolated let loop: EventLoop
  package nonisolated let endpoint: Endpoint
  package nonisolated var unownedExecutor: UnownedSerialExecutor {
    loop.serial.asUnownedSerialExecutor()
  }

  private let tls: TLSClientContext?
  private let serverName: String?
  private let responseLimit: Int
  private let connect: ConnectOptions
  private var connection: HTTP1ClientConnection?
  private var isBusy = false
  private var waiting: [UnsafeContinuation<Void, Never>] = []

  /// - Parameters:
  ///   - tls: should offer `http/1.1` by ALPN, or nothing. Nil speaks plain.
  ///   - serverName: the name that the certificate must carry; the endpoint's host when nil.
  ///   - responseLimit: bytes that an answer's body may have.
  ///   - connect: how connections are made.
  package init(
    endpoint: Endpoint, tls: TLSClientContext? = nil, serverName: String? = nil,
    responseLimit: Int = 16 << 20, connect: ConnectOptions = ConnectOptions(), loop: EventLoop
  ) {
    self.endpoint = endpoint
    self.tls = tls
    self.serverName = serverName
    self.responseLimit = responseLimit
    self.connect = connect
    self.loop = loop
  }

  /// Sends a request and waits for the whole answer.
  ///
  /// A request that may be repeated (GET, HEAD, PUT, DELETE, OPTIONS) is sent once more when a kept
  /// connection turns out to have been closed meanwhile.
  ///
  /// - Parameter deadline: bounds waiting, connecting and the answer together.
  package func send(_ request: HTTPRequest, deadline: Duration) async -> ExchangeOutcome {
    await exchange(request, until: loop.now + deadline, onPart: nil)
  }

  /// Sends a request and hands over the answer's body as it comes, as for server-sent events.
  ///
  /// - Parameters:
  ///   - deadline: bounds the whole answer; cancel the task to end an endless one.
  ///   - onPart: called on the loop with each part of the body of an answer below 300.
  /// - Returns: when the answer is over. Its body is empty unless it is 300 or above.
  package func receive(
    _ request: HTTPRequest, deadline: Duration, onPart: @escaping @Sendable ([UInt8]) -> Void
  ) async -> ExchangeOutcome {
    await exchange(request, until: loop.now + deadline, onPart: onPart)
  }

  /// Closes the connection; the next request opens another.
  package func close() {
    connection?.close()
    connection = nil
  }

  private func exchange(
    _ request: HTTPRequest, until deadline: Moment, onPart: (@Sendable ([UInt8]) -> Void)?
  ) async -> ExchangeOutcome {
    var request = request
    if request.authority.isEmpty { request.authority = endpoint.authority }
    guard let bytes = HTTP1Writer.request(request) else {
      return .notSent(
        ExchangeFailure(.malformedRequest, "The method, path, host or a field may not travel."))
    }
    await acquire()
    defer { release() }
    let isRepeatable = ["GET", "HEAD", "PUT", "DELETE", "OPTIONS"].contains(request.method)
    var mayRepeat = isRepeatable && connection?.isUsable == true
    while true {
      guard loop.now < deadline else {
        return .notSent(ExchangeFailure(.deadline, "The requests before this one took too long."))
      }
      let current: HTTP1ClientConnection
      do throws(StreamError) {
        current = try await connected(until: deadline)
      } catch {
        return .notSent(ExchangeFailure(.connectionLost, "\(error)"))
      }
      let outcome = await perform(
        bytes, method: request.method, on: current, until: deadline, onPart: onPart)
      guard mayRepeat, current.endedUnanswered else { return outcome }
      mayRepeat = false
    }
  }

  private func perform(
    _ bytes: [UInt8], method: String, on connection: HTTP1ClientConnection, until deadline: Moment,
    onPart: (@Sendable ([UInt8]) -> Void)?
  ) async -> ExchangeOutcome {
    await withTaskCancellationHandler {
      // A closure that did not use the actor would not run on it, but on the global pool.
      assertIsolated()
      return await withUnsafeContinuation { continuation in
        connection.begin(bytes, method: method, until: deadline, onPart: onPart, continuation)
      }
    } onCancel: {
      loop.execute { connection.end(.cancelled) }
    }
  }

  private func connected(until deadline: Moment) async throws(StreamError) -> HTTP1ClientConnection
  {
    if let connection, connection.isUsable { return connection }
    var options = connect
    options.deadline = min(options.deadline, deadline - loop.now)
    let stream = try await StreamConnector.connect(
      to: endpoint, tls: tls, serverName: serverName, options: options, on: loop)
    let made = HTTP1ClientConnection(stream, responseLimit: responseLimit)
    stream.start(made)
    connection = made
    return made
  }

  private func acquire() async {
    if !isBusy {
      isBusy = true
      return
    }
    // Handed over by `release`, so nobody can come in between.
    await withUnsafeContinuation { waiting.append($0) }
  }

  private func release() {
    if waiting.isEmpty { isBusy = false } else { waiting.removeFirst().resume() }
  }
}

extension Endpoint {
  /// What goes into `Host` when the caller names none.
  fileprivate var authority: String {
    switch self {
    case .tcp: "\(self)"
    case .unix: "localhost"
    }
  }
}

/// One connection of an ``HTTP1Client``.
///
/// `@unchecked Sendable` is right because it is touched on its loop only.
final class HTTP1ClientConnection: @unchecked Sendable {
  private let stream: ByteStream
  private let loop: EventLoop
  private var parser: HTTP1ResponseParser
  private var waiting: UnsafeContinuation<ExchangeOutcome, Never>?
  private var onPart: (@Sendable ([UInt8]) -> Void)?
  private var response = HTTPResponse(status: 0)
  private var timer: LoopTimer?
  private var isClosed = false
  /// Whether the last exchange ended with the connection before a byte of its answer came.
  private(set) var endedUnanswered = false
  private var hasBytes = false

  init(_ stream: ByteStream, responseLimit: Int) {
    self.stream = stream
    loop = stream.loop
    parser = HTTP1ResponseParser(bodyLimit: responseLimit)
  }

  var isUsable: Bool { !isClosed && stream.isOpen && !parser.hasStrayBytes }

  func close() { stream.close() }

  /// Sends a request's bytes; `continuation` gets what becomes of it.
  func begin(
    _ bytes: [UInt8], method: String, until deadline: Moment,
    onPart: (@Sendable ([UInt8]) -> Void)?,
    _ continuation: UnsafeContinuation<ExchangeOutcome, Never>
  ) {
    loop.preconditionOnLoop()
    endedUnanswered = false
    // A cancellation that came before this closure ran has found nobody to end.
    guard !Task.isCancelled else { return continuation.resume(returning: .notSent(.cancelled)) }
    guard isUsable else {
      endedUnanswered = true
      let failure = ExchangeFailure(.connectionLost, "The connection was closed meanwhile.")
      return continuation.resume(returning: .notSent(failure))
    }
    waiting = continuation
    self.onPart = onPart
    hasBytes = false
    response = HTTPResponse(status: 0)
    parser.expectAnswer(to: method)
    stream.write(bytes)
    timer = loop.schedule(at: deadline) {
      self.end(ExchangeFailure(.deadline, "No whole answer came by the request's deadline."))
    }
  }

  /// Without an answer the connection is of no more use: what comes would be taken for the next's.
  func end(_ failure: ExchangeFailure) {
    guard waiting != nil else { return }
    finish(.unknown(failure))
    stream.abort()
  }

  private func finish(_ outcome: ExchangeOutcome) {
    if let timer { loop.cancel(timer) }
    timer = nil
    onPart = nil
    let continuation = waiting
    waiting = nil
    continuation?.resume(returning: outcome)
  }

  private func handle(_ event: HTTP1ResponseParser.Event) {
    switch event {
    case .head(let head): response = head
    case .body(let part):
      if let onPart, response.status < 300 { onPart(part) } else { response.body += part }
    case .end(let keepsAlive):
      if !keepsAlive { stream.close() }
      finish(.answered(response))
    }
  }
}

extension HTTP1ClientConnection: StreamHandler {
  func streamReceived(_ bytes: RawSpan) {
    hasBytes = true
    parser.feed(bytes)
    do throws(HTTP1Error) {
      while let event = try parser.next() { handle(event) }
    } catch {
      end(ExchangeFailure(.malformedResponse, error.message))
    }
    // Bytes that nobody asked for: the connection cannot be trusted with another request.
    if parser.hasStrayBytes { stream.abort() }
  }

  func streamWillFlush() {}

  func streamDrained() {}

  func streamClosed(_ closure: StreamClosure) {
    isClosed = true
    guard waiting != nil else { return }
    if parser.inputEnded() != nil, closure == .byPeer { return finish(.answered(response)) }
    endedUnanswered = !hasBytes
    finish(.unknown(ExchangeFailure(.connectionLost, "The connection ended: \(closure).")))
  }
}
