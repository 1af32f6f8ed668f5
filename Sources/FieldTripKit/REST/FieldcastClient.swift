public import Foundation

/// The service's REST interface, for an app.
///
/// Each call may be repeated without harm, and is, with growing pauses, while the service does not
/// answer or says that it cannot just then. A call ends early when its task is cancelled.
public struct FieldcastClient: Sendable {
  /// Waits between attempts; throws when the task is cancelled.
  typealias Waiting = @Sendable (Duration) async throws -> Void

  /// Where the service is, with or without a path in front of `/v1`.
  public let service: URL
  public let retries: RetryPolicy
  private let transport: any FieldcastTransport
  private let token: @Sendable () async throws -> String?
  private let wait: Waiting

  /// - Parameters:
  ///   - token: asked before each attempt for what goes behind `authorization: Bearer`, so that one
  ///     that expires can be renewed; nil sends none.
  public init(
    service: URL, transport: any FieldcastTransport = URLSessionTransport(),
    retries: RetryPolicy = RetryPolicy(),
    token: @escaping @Sendable () async throws -> String? = { nil }
  ) {
    self.init(
      service: service, transport: transport, retries: retries, token: token,
      wait: { try await Task.sleep(for: $0) })
  }

  init(
    service: URL, transport: any FieldcastTransport, retries: RetryPolicy,
    token: @escaping @Sendable () async throws -> String? = { nil }, wait: @escaping Waiting
  ) {
    self.service = service
    self.transport = transport
    self.retries = retries
    self.token = token
    self.wait = wait
  }

  /// One request of the interface.
  struct Call {
    var method: String
    /// The parts of its path behind `/v1`, as they are: they may hold anything.
    var path: [String]
    var query: [(name: String, value: String)] = []
    var body: Data?
    /// The same for all attempts.
    var idempotencyKey: String?
  }

  /// What a request sends.
  static func body(_ request: some Encodable) throws(FieldcastError) -> Data {
    do { return try FieldcastCoding.encode(request) } catch { throw .unsendable("\(error)") }
  }

  /// Carries out a call and reads its answer.
  func call<Reply: Decodable>(
    _ call: Call, reading reply: Reply.Type
  ) async throws(FieldcastError) -> Reply {
    let response = try await perform(call)
    do {
      return try FieldcastCoding.decode(reply, from: response.body)
    } catch {
      throw .unreadable(status: response.status, Self.reason(of: error))
    }
  }

  /// Carries out a call, again while that may help.
  @discardableResult
  func perform(_ call: Call) async throws(FieldcastError) -> FieldcastResponse {
    var attempt = 1
    while true {
      let error: FieldcastError
      do throws(FieldcastError) {
        return try await perform(once: call)
      } catch let failure {
        error = failure
      }
      let pause = retries.pause(
        after: error, attempt: attempt, random: Double.random(in: 0...1))
      guard let pause else { throw error }
      do { try await wait(pause) } catch { throw .cancelled }
      attempt += 1
    }
  }

  private func perform(once call: Call) async throws(FieldcastError) -> FieldcastResponse {
    let response: FieldcastResponse
    do {
      var fields = ["accept": "application/json, application/problem+json"]
      if call.body != nil { fields["content-type"] = "application/json" }
      if let key = call.idempotencyKey { fields["idempotency-key"] = key }
      if let token = try await token() { fields["authorization"] = "Bearer \(token)" }
      response = try await transport.send(
        FieldcastRequest(
          method: call.method, url: try url(of: call), fields: fields, body: call.body))
    } catch {
      if Task.isCancelled { throw .cancelled }
      throw error as? FieldcastError ?? .unreachable(Self.reason(of: error))
    }
    guard (200..<300).contains(response.status) else { throw Self.refusal(response) }
    return response
  }

  private func url(of call: Call) throws(FieldcastError) -> URL {
    var text = service.absoluteString
    while text.hasSuffix("/") { text.removeLast() }
    text += "/v1"
    for part in call.path { text += "/" + Self.escaped(part) }
    for (index, item) in call.query.enumerated() {
      text += (index == 0 ? "?" : "&") + Self.escaped(item.name) + "=" + Self.escaped(item.value)
    }
    guard let url = URL(string: text) else {
      throw .unsendable("\(service.absoluteString.debugDescription) is no address of a service.")
    }
    return url
  }

  /// Only what needs no escape anywhere in a URL stays as it is.
  private static func escaped(_ text: String) -> String {
    let plain = Set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~".utf8)
    let digits = Array("0123456789ABCDEF")
    return text.utf8.reduce(into: "") { result, byte in
      if plain.contains(byte) {
        result.unicodeScalars.append(Unicode.Scalar(byte))
      } else {
        result += "%\(digits[Int(byte >> 4)])\(digits[Int(byte & 15)])"
      }
    }
  }

  private static func refusal(_ response: FieldcastResponse) -> FieldcastError {
    guard
      let problem = try? FieldcastCoding.decode(ProblemReply.self, from: response.body)
    else {
      let text = String(decoding: response.body.prefix(200), as: UTF8.self)
      return .unreadable(status: response.status, text.isEmpty ? "It is empty." : text)
    }
    return .refused(problem, retryAfter: RetryAfter.read(response["retry-after"]))
  }

  /// What an error says; of one that does not decode, which part of the answer it was.
  private static func reason(of error: any Error) -> String {
    guard let error = error as? DecodingError else { return "\(error)" }
    let (context, wanted): (DecodingError.Context, String) =
      switch error {
      case .keyNotFound(let key, let context): (context, "there is no \"\(key.stringValue)\"")
      case .typeMismatch(_, let context), .valueNotFound(_, let context),
        .dataCorrupted(let context):
        (context, context.debugDescription)
      @unknown default: (.init(codingPath: [], debugDescription: ""), "\(error)")
      }
    let path = context.codingPath.map { "/" + $0.stringValue }.joined()
    return path.isEmpty ? wanted : "at \(path): \(wanted)"
  }
}

/// `Retry-After`: whole seconds, or a date.
enum RetryAfter {
  static func read(_ text: String?, now: Date = Date()) -> Duration? {
    guard let text else { return nil }
    if let seconds = Int(text), seconds >= 0 { return .seconds(min(seconds, 86_400)) }
    let format = DateFormatter()
    format.locale = Locale(identifier: "en_US_POSIX")
    format.timeZone = TimeZone(secondsFromGMT: 0)
    format.dateFormat = "EEE, dd MMM yyyy HH:mm:ss 'GMT'"
    guard let date = format.date(from: text) else { return nil }
    return .seconds(max(0, min(date.timeIntervalSince(now), 86_400)))
  }
}
