import Clocks
import Transport

/// Opens a stream to a host behind a proxy.
enum ProxyTunnel {
  /// - Returns: a stream whose other end is `host`, with TLS if `tls` is given; not started.
  static func open(
    to host: String, port: Int, through proxy: HTTPProxy, tls: TLSClientContext?,
    serverName: String, options: ConnectOptions, on loop: EventLoop
  ) async throws(HTTP2ConnectError) -> ByteStream {
    let deadline = MonotonicClock.now() + options.deadline
    let target = "\(Endpoint.tcp(host: host, port: port))"
    let stream: ByteStream
    do throws(StreamError) {
      stream = try await StreamConnector.connect(to: proxy.endpoint, options: options, on: loop)
    } catch {
      throw .proxy(.unreachable(proxy: "\(proxy)", error))
    }
    let request = TunnelRequest(stream, proxy: proxy, target: target)
    do throws(HTTPProxyError) {
      try await request.run(until: deadline, within: options.deadline)
    } catch {
      throw .proxy(error)
    }
    guard let tls else { return stream }
    do throws(StreamError) {
      try await stream.startTLS(client: tls, serverName: serverName, deadline: deadline)
      return stream
    } catch {
      let through = "\(target) through the proxy \(proxy)"
      switch error {
      case .tls(_, let failure): throw .stream(.tls(endpoint: through, failure))
      case .closedEarly: throw .stream(.closedEarly(endpoint: through))
      default: throw .stream(error)
      }
    }
  }
}

/// One `CONNECT`, from the request to the end of the answer's head.
///
/// `@unchecked Sendable` is right because after its initialiser it is touched on its loop only.
private final class TunnelRequest: StreamHandler, @unchecked Sendable {
  private let stream: ByteStream
  private let proxy: HTTPProxy
  private let target: String
  /// A refusal's page may be of any size, since it is not read.
  private var parser = HTTP1ResponseParser(bodyLimit: 1 << 40)
  private var waiting: UnsafeContinuation<Result<Void, HTTPProxyError>, Never>?
  private var timer: LoopTimer?

  init(_ stream: ByteStream, proxy: HTTPProxy, target: String) {
    self.stream = stream
    self.proxy = proxy
    self.target = target
  }

  func run(until deadline: Moment, within span: Duration) async throws(HTTPProxyError) {
    let loop = stream.loop
    let result = await withTaskCancellationHandler {
      await withUnsafeContinuation { continuation in
        loop.execute {
          self.waiting = continuation
          self.begin()
          let seconds = span.inSeconds
          self.timer = loop.schedule(at: deadline) {
            self.fail(.silent(proxy: "\(self.proxy)", target: self.target, seconds: seconds))
          }
        }
        if Task.isCancelled { loop.execute { self.cancel() } }
      }
    } onCancel: {
      loop.execute { self.cancel() }
    }
    try result.get()
  }

  private func cancel() { fail(.unreachable(proxy: "\(proxy)", .cancelled)) }

  private func begin() {
    var fields = HTTPFields()
    if let authorization = proxy.authorization {
      fields["proxy-authorization"] = authorization
    }
    let request = HTTPRequest(
      method: "CONNECT", authority: target, path: target, fields: fields)
    guard let bytes = HTTP1Writer.request(request) else {
      let problem = "\(target) cannot be asked for"
      return fail(.malformed(proxy: "\(proxy)", problem: problem))
    }
    parser.expectAnswer(to: "CONNECT")
    stream.start(self)
    stream.write(bytes)
  }

  private func fail(_ error: HTTPProxyError) {
    guard end(.failure(error)) else { return }
    stream.abort()
  }

  /// - Returns: false when it had ended already.
  private func end(_ result: Result<Void, HTTPProxyError>) -> Bool {
    guard let waiting else { return false }
    self.waiting = nil
    if let timer { stream.loop.cancel(timer) }
    if case .success = result { stream.handOver() }
    waiting.resume(returning: result)
    return true
  }

  private func judge(_ answer: HTTPResponse) {
    switch answer.status {
    case 200..<300: opened()
    case 407:
      let offer = answer.fields["proxy-authenticate"]?.split(separator: " ").first
      fail(
        .wantsCredentials(
          proxy: "\(proxy)", scheme: offer.map { String($0.prefix(20)) },
          hadCredentials: proxy.authorization != nil))
    default: fail(.refused(proxy: "\(proxy)", target: target, status: answer.status))
    }
  }

  /// The far side speaks second in TLS, so nothing of it can be here yet.
  private func opened() {
    do throws(HTTP1Error) {
      while try parser.next() != nil {}
    } catch {
      return fail(.malformed(proxy: "\(proxy)", problem: error.message))
    }
    if parser.hasStrayBytes {
      fail(.malformed(proxy: "\(proxy)", problem: "bytes follow its answer at once"))
    } else {
      _ = end(.success(()))
    }
  }

  // MARK: StreamHandler

  func streamReceived(_ bytes: RawSpan) {
    parser.feed(bytes)
    do throws(HTTP1Error) {
      if case .head(let answer) = try parser.next() { judge(answer) }
    } catch {
      fail(.malformed(proxy: "\(proxy)", problem: error.message))
    }
  }

  func streamWillFlush() {}
  func streamDrained() {}

  func streamClosed(_ closure: StreamClosure) {
    _ = end(.failure(.closedEarly(proxy: "\(proxy)", target: target)))
  }
}
