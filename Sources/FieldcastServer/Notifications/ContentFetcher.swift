internal import Clocks
internal import FieldTrips
internal import HTTP
internal import Transport

/// Fetches what content sources have to tell.
///
/// A source's address comes from callers, so it is not trusted: only hosts of the settings are
/// asked, over TLS, at public addresses only, whatever their names point to at the moment; no
/// redirect is followed; and an answer may be neither large nor slow.
actor ContentFetcher {
  nonisolated var unownedExecutor: UnownedSerialExecutor {
    loop.serial.asUnownedSerialExecutor()
  }

  struct Failure: Error, Sendable {
    /// For people; holds no token.
    let reason: String
  }

  struct Counts: Sendable {
    var fetched = 0
    var empty = 0
    var failed = 0
  }

  nonisolated let loop: EventLoop
  private let hosts: ContentHosts
  private let tls: TLSClientContext?
  private let options: ConnectOptions
  private let clock: ServiceClock
  private var pools: [ContentHosts.Host: CredentialPool] = [:]
  private(set) var counts = Counts()
  private var running: [Int: HTTP1Client] = [:]
  private var lastNumber = 0
  private var isStopped = false

  /// For one page and for all of them, in real time.
  static let pageDeadline = Duration.seconds(10)
  static let deadline = Duration.seconds(60)
  /// More wait for the next notification.
  static let mostPages = 20

  /// - Parameter lookUp: stands in for the name server.
  /// - Throws: ``StartFailure`` for settings that cannot be used.
  init(
    _ hosts: ContentHosts, lookUp: (@Sendable (String) -> [String])? = nil, clock: ServiceClock,
    loop: EventLoop
  ) throws(StartFailure) {
    self.hosts = hosts
    self.clock = clock
    self.loop = loop
    var exceptions: [IPRange] = []
    for text in hosts.addresses {
      guard let range = IPRange(text) else {
        throw StartFailure(
          "The content hosts' private address \(text) is none: expected 10.1.2.3 or 10.1.0.0/16.")
      }
      exceptions.append(range)
    }
    var options = ConnectOptions()
    options.deadline = .seconds(5)
    options.addresses = lookUp
    options.admits = { [exceptions] address in
      address.isPublic || exceptions.contains { $0.contains(address) }
    }
    self.options = options
    do throws(TLSConfigurationError) {
      tls =
        hosts.hosts.isEmpty
        ? nil
        : try TLSClientContext(
          trust: hosts.trustFile.map { .systemAnd(file: $0) } ?? .system, alpn: ["http/1.1"])
    } catch {
      throw StartFailure("Content cannot be fetched: \(error).")
    }
  }

  /// Why a source is never asked; nil when it may be.
  nonisolated func refusal(of url: ContentURL) -> String? {
    if hosts.host(of: url) != nil { return nil }
    return "Content is not fetched from \(url.authority): it is not among the hosts that the "
      + "service's settings allow."
  }

  /// Everything new at a source behind a cursor.
  ///
  /// - Parameter end: when the content is not waited for any longer.
  /// - Returns: nil when there is nothing.
  func fetch(
    _ source: ContentSource, after cursor: String?, until end: UnixTime
  ) async throws(Failure) -> FetchedContent? {
    do throws(Failure) {
      let left = clock.real(max(.zero, end - clock.wall))
      let content = try await pages(
        of: source, after: cursor, until: loop.now + min(Self.deadline, left))
      if content == nil { counts.empty += 1 } else { counts.fetched += 1 }
      return content
    } catch {
      counts.failed += 1
      throw error
    }
  }

  /// Ends what is under way, and fetches nothing more.
  func stop() async {
    isStopped = true
    for client in running.values { await client.close() }
  }

  private func pages(
    of source: ContentSource, after cursor: String?, until end: Moment
  ) async throws(Failure) -> FetchedContent? {
    guard !isStopped else { throw Failure(reason: "The service stops.") }
    guard let host = hosts.host(of: source.url), let tls else {
      throw Failure(reason: refusal(of: source.url) ?? "Content is not fetched.")
    }
    // A connection of its own: the name is looked up now, and nothing of another source is in it.
    let client = HTTP1Client(
      endpoint: .tcp(host: host.name, port: host.port), tls: tls,
      responseLimit: ContentPage.bytesLimit, connect: options, loop: loop)
    lastNumber += 1
    let number = lastNumber
    running[number] = client
    defer { running[number] = nil }
    var content: FetchedContent?
    var place = cursor
    var failure: Failure?
    do throws(Failure) {
      for _ in 0..<Self.mostPages {
        let page = try await page(of: source, at: host, after: place, by: client, until: end)
        if content == nil {
          content = FetchedContent(page, after: cursor)
        } else {
          content?.add(page)
        }
        guard page.hasMore else { break }
        guard let next = page.cursor, next != place else {
          throw Failure(reason: "The source says that there is more, and its cursor stands still.")
        }
        place = next
      }
    } catch {
      failure = error
    }
    await client.close()
    if let failure { throw failure }
    return content
  }

  private func page(
    of source: ContentSource, at host: ContentHosts.Host, after place: String?,
    by client: HTTP1Client, until end: Moment
  ) async throws(Failure) -> ContentPage {
    // Each token once at most.
    for _ in 0..<max(1, host.tokens.count) {
      var request = HTTPRequest(
        method: "GET", path: source.url.page(after: place, limit: ContentPage.itemsLimit),
        fields: ["accept": "application/json", "user-agent": "fieldcast"])
      request.authority = source.url.authority
      var used: Int?
      switch pools[host, default: CredentialPool(host.tokens)].pick(at: clock.wall) {
      case .none: break
      case .token(let token, let index):
        request.fields["authorization"] = "Bearer \(token)"
        used = index
      case .allResting:
        throw Failure(reason: "\(host.name) has refused all tokens that are there for it.")
      }
      let response = try await send(request, by: client, until: end)
      if let used,
        pools[host]?.answered(
          response.status, to: used, retryAfter: Self.retryAfter(response), at: clock.wall) == true
      {
        continue
      }
      return try Self.read(response)
    }
    throw Failure(reason: "\(host.name) refuses the tokens that are there for it.")
  }

  private func send(
    _ request: HTTPRequest, by client: HTTP1Client, until end: Moment
  ) async throws(Failure) -> HTTPResponse {
    let left = min(Self.pageDeadline, end - loop.now)
    guard left > .zero else { throw Failure(reason: "The pages took too long together.") }
    switch await client.send(request, deadline: left) {
    case .answered(let response): return response
    case .notSent(let failure), .unknown(let failure): throw Failure(reason: failure.message)
    }
  }

  private static func read(_ response: HTTPResponse) throws(Failure) -> ContentPage {
    switch response.status {
    case 200: break
    case 300..<400:
      throw Failure(reason: "It answered \(response.status): redirects are not followed.")
    default: throw Failure(reason: "It answered \(response.status).")
    }
    if let encoding = response.fields["content-encoding"], encoding.lowercased() != "identity" {
      throw Failure(reason: "The answer is compressed, which nobody asked for.")
    }
    do throws(Refusal) {
      return try ContentPage.read(response.body)
    } catch {
      throw Failure(reason: "The answer is not as it should be: \(error)")
    }
  }

  private static func retryAfter(_ response: HTTPResponse) -> Duration? {
    response.fields["retry-after"].flatMap { Int64($0) }.map { .seconds(max(0, min($0, 86_400))) }
  }
}
