internal import Clocks
internal import HTTP
internal import JSON
internal import Transport

/// Hands spans to their collector, many at once, and never makes anybody wait for it: what it
/// cannot keep it leaves out, counts, and says so.
actor SpanExporter {
  nonisolated var unownedExecutor: UnownedSerialExecutor {
    loop.serial.asUnownedSerialExecutor()
  }

  struct Counts: Sendable {
    var exported = 0
    var dropped = 0
  }

  /// As many wait at most.
  static let mostWaiting = 8_192
  /// In one request: about 200 KB.
  static let mostInRequest = 512
  private static let gathering = Duration.seconds(1)

  private nonisolated let loop: EventLoop
  private let collector: TraceCollector
  private let node: String
  private let log: ServiceLog
  private let client: HTTP1Client
  private var waiting: [Span] = []
  private(set) var counts = Counts()
  private var newcomer: UnsafeContinuation<Void, Never>?

  init(collector: TraceCollector, node: String, log: ServiceLog, loop: EventLoop) {
    self.collector = collector
    self.node = node
    self.log = log
    self.loop = loop
    client = HTTP1Client(
      endpoint: collector.endpoint, tls: collector.tls, responseLimit: 65_536, loop: loop)
  }

  /// To be called on the loop.
  nonisolated func add(_ spans: [Span]) {
    assumeIsolated { $0.take(spans) }
  }

  private func take(_ spans: [Span]) {
    let room = Self.mostWaiting - waiting.count
    if spans.count > room { drop(spans.count - room, because: "the collector does not keep up") }
    waiting += spans.prefix(room)
    if !waiting.isEmpty { wake() }
  }

  /// Exports until cancelled.
  func run() async {
    await withTaskCancellationHandler {
      while !Task.isCancelled {
        if waiting.isEmpty { await newSpans() }
        guard (try? await loop.sleep(for: Self.gathering)) != nil else { break }
        await exportAll()
      }
    } onCancel: {
      loop.execute { self.assumeIsolated { $0.wake() } }
    }
  }

  private func exportAll() async {
    var retry = Retry(longest: .seconds(30))
    while !waiting.isEmpty, !Task.isCancelled {
      guard let reason = await exportSome(deadline: .seconds(10)) else {
        retry = Retry(longest: .seconds(30))
        continue
      }
      if retry.isFirst { log.warning("spans wait for their collector", ["reason": reason]) }
      guard (try? await retry.pause(on: loop)) != nil else { return }
    }
  }

  /// Exports what is left, if the collector takes it at once; nothing more will come.
  func flush() async {
    while !waiting.isEmpty, await exportSome(deadline: .seconds(1)) == nil {}
    if !waiting.isEmpty { drop(waiting.count, because: "the service ends") }
    waiting = []
    await client.close()
  }

  private func newSpans() async {
    await withUnsafeContinuation { continuation in
      if waiting.isEmpty, !Task.isCancelled {
        newcomer = continuation
      } else {
        continuation.resume()
      }
    }
  }

  private func wake() {
    newcomer?.resume()
    newcomer = nil
  }

  // MARK: One request

  /// - Returns: why it is to be tried again later; nil when it is not.
  private func exportSome(deadline: Duration) async -> String? {
    let spans = Array(waiting.prefix(Self.mostInRequest))
    waiting.removeFirst(spans.count)
    var request = HTTPRequest(
      method: "POST", path: collector.path,
      fields: ["content-type": "application/json", "user-agent": "fieldcast"],
      body: body(of: spans))
    request.authority = collector.authority
    let outcome = await client.send(request, deadline: deadline)
    guard outcome.isWorthRepeating else {
      if let response = outcome.response, response.status < 300 {
        counts.exported += spans.count
      } else {
        drop(spans.count, because: "\(collector.authority) refuses them: \(outcome.words)")
      }
      return nil
    }
    let room = Self.mostWaiting - waiting.count
    if spans.count > room { drop(spans.count - room, because: "the collector does not keep up") }
    waiting.insert(contentsOf: spans.suffix(room), at: 0)
    return outcome.words
  }

  private func body(of spans: [Span]) -> [UInt8] {
    var writer = JSONWriter(reservingCapacity: 512 * spans.count)
    writer.object { root in
      root.key("resourceSpans")
      root.array { resources in
        resources.object { resource in
          resource.key("resource")
          resource.object {
            $0.key("attributes")
            $0.array { list in
              list.object { Span.write("service.name", .text("fieldcast"), to: &$0) }
              list.object { Span.write("service.instance.id", .text(node), to: &$0) }
            }
          }
          resource.key("scopeSpans")
          resource.array { scopes in
            scopes.object { scope in
              scope.key("scope")
              scope.object { $0.member("name", "fieldcast") }
              scope.key("spans")
              scope.array { list in
                for span in spans { list.object { span.write(to: &$0) } }
              }
            }
          }
        }
      }
    }
    return writer.finish()
  }

  private func drop(_ count: Int, because reason: String) {
    if counts.dropped == 0 {
      log.warning(
        "spans are left out; more of it is only counted", ["count": "\(count)", "reason": reason])
    }
    counts.dropped += count
  }
}

extension ExchangeOutcome {
  /// Whether the same should be sent again later; OTLP names the statuses.
  fileprivate var isWorthRepeating: Bool {
    response.map { [429, 502, 503, 504].contains($0.status) } ?? true
  }

  fileprivate var words: String {
    switch self {
    case .answered(let response): "it answered \(response.status)"
    case .notSent(let failure), .unknown(let failure): failure.message
    }
  }
}
