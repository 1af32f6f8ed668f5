internal import Clocks
internal import FieldTrips
internal import Glibc
internal import HTTP
internal import Transport

/// Where the backend's public keys are.
package enum MemberKeySource: Sendable {
  case file(String)
  /// An https URL; the trust file has authorities beside the machine's own.
  case url(String, trustFile: String?)
}

/// Members' tokens: which are good, and by which keys they are checked.
package struct MemberAccess: Sendable {
  package var rules: MemberTokenRules
  package var keys: MemberKeySource
  /// A stranger who invents names of keys makes us read them no more often than this.
  package var leastPause: Duration = .seconds(10)

  package init(rules: MemberTokenRules, keys: MemberKeySource) {
    self.rules = rules
    self.keys = keys
  }
}

/// The backend's public keys, read again when a token names one that is not known, and from time to
/// time, so that one that was withdrawn is good no longer.
actor MemberKeys {
  nonisolated var unownedExecutor: UnownedSerialExecutor {
    loop.serial.asUnownedSerialExecutor()
  }

  /// How long keys are used without asking again, unless the answer's max-age is shorter.
  static let freshness = Duration.seconds(600)
  /// Keys that cannot be read again are used for so long.
  static let longestUse = Duration.seconds(86_400)

  nonisolated let loop: EventLoop
  private let reader: KeyReader
  private let leastPause: Duration
  private let log: ServiceLog
  private var present: JWKSet?
  private var readAt: Moment?
  private var triedAt: Moment?
  private var freshUntil: Moment?
  private var isReading = false
  private var waiters: [UnsafeContinuation<Void, Never>] = []

  /// - Throws: ``StartFailure`` for a file or an address that can never be used.
  init(_ access: MemberAccess, log: ServiceLog, loop: EventLoop) throws(StartFailure) {
    reader = try KeyReader(access.keys)
    leastPause = access.leastPause
    self.log = log
    self.loop = loop
  }

  /// The keys that a token may have been signed with; nil where there are none at all, now.
  func keys(for token: MemberToken) async -> [JWKSet.Key]? {
    if freshUntil.map({ loop.now >= $0 }) ?? true { await readAgain() }
    var found = present?.keys(for: token.algorithm, id: token.keyID)
    if found?.isEmpty == true {
      await readAgain()
      found = present?.keys(for: token.algorithm, id: token.keyID)
    }
    guard let readAt, loop.now < readAt + Self.longestUse else { return nil }
    return found
  }

  /// One reads, and all others who want to wait for it.
  private func readAgain() async {
    if isReading { return await withUnsafeContinuation { waiters.append($0) } }
    if let triedAt, loop.now < triedAt + leastPause { return }
    isReading = true
    triedAt = loop.now
    do throws(KeyReader.Failure) {
      let (set, age) = try await reader.read(on: loop)
      present = set
      let now = loop.now
      readAt = now
      freshUntil = now + max(leastPause, min(age ?? Self.freshness, Self.freshness))
    } catch {
      freshUntil = loop.now + leastPause
      log.warning(
        "the members' keys cannot be read; those that are known stay good for a day",
        ["reason": error.reason])
    }
    isReading = false
    let waiting = waiters
    waiters = []
    for waiter in waiting { waiter.resume() }
  }
}

/// Reads a key set from where it is.
struct KeyReader: Sendable {
  struct Failure: Error, Sendable {
    let reason: String
  }

  private enum Place: Sendable {
    case file(String)
    case url(ContentURL, TLSClientContext)
  }

  private let place: Place

  /// - Throws: ``StartFailure`` for an address or trust file that can never be used, or a file
  ///   without keys.
  init(_ source: MemberKeySource) throws(StartFailure) {
    switch source {
    case .file(let path):
      place = .file(path)
      do throws(Failure) { _ = try Self.readFile(path) } catch {
        throw StartFailure(error.reason)
      }
    case .url(let text, let trustFile):
      let url: ContentURL
      do throws(IdentifierError) { url = try ContentURL(text) } catch {
        throw StartFailure("The URL of the members' keys cannot be used: \(error)")
      }
      do throws(TLSConfigurationError) {
        let tls = try TLSClientContext(
          trust: trustFile.map { .systemAnd(file: $0) } ?? .system, alpn: ["http/1.1"])
        place = .url(url, tls)
      } catch {
        throw StartFailure("The members' keys cannot be fetched: \(error)")
      }
    }
  }

  /// - Returns: also how long the answer says that it is good for.
  func read(on loop: EventLoop) async throws(Failure) -> (JWKSet, Duration?) {
    switch place {
    case .file(let path): return (try Self.readFile(path), .seconds(10))
    case .url(let url, let tls):
      let client = HTTP1Client(
        endpoint: .tcp(host: url.host, port: url.port), tls: tls,
        responseLimit: JWKSet.bytesLimit, loop: loop)
      var request = HTTPRequest(
        method: "GET", path: url.path,
        fields: ["accept": "application/json", "user-agent": "fieldcast"])
      request.authority = url.authority
      let outcome = await client.send(request, deadline: .seconds(5))
      await client.close()
      switch outcome {
      case .answered(let response) where response.status == 200:
        return (try Self.set(response.body, of: url.authority), Self.age(response))
      case .answered(let response):
        throw Failure(reason: "\(url.authority) answered \(response.status)")
      case .notSent(let failure), .unknown(let failure):
        throw Failure(reason: "\(url.authority): \(failure.message)")
      }
    }
  }

  private static func readFile(_ path: String) throws(Failure) -> JWKSet {
    guard let bytes = SmallFile.read(path, limit: JWKSet.bytesLimit + 1) else {
      throw Failure(
        reason: "The members' keys \(path) cannot be read: \(SystemError.text(of: errno)).")
    }
    return try set(bytes, of: path)
  }

  private static func set(_ bytes: [UInt8], of place: String) throws(Failure) -> JWKSet {
    do throws(JWKSetError) { return try JWKSet(bytes) } catch {
      throw Failure(reason: "The members' keys of \(place) cannot be used: \(error.reason).")
    }
  }

  private static func age(_ response: HTTPResponse) -> Duration? {
    let parts = response.fields["cache-control"]?.lowercased().split(separator: ",") ?? []
    for part in parts {
      let sides = part.split(separator: "=")
      let name = sides.first?.drop { $0 == " " }
      if name == "max-age", sides.count == 2, let seconds = Int64(sides[1]) {
        return .seconds(max(0, min(seconds, 86_400)))
      }
    }
    return nil
  }
}
