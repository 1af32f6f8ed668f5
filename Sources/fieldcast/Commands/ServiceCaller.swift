internal import HTTP
internal import JSON
internal import Transport

/// Calls a running service for a command, and tells what went wrong in the command's words.
struct ServiceCaller: Sendable {
  struct Answer: Sendable {
    let text: String
    let value: JSONValue
  }

  static let service = Option<String>.text(
    "service", "HOST:PORT", default: "127.0.0.1:8080", environment: "FIELDCAST_SERVICE",
    help: "Where the service answers REST.")

  /// - Parameter scope: what the token must allow.
  static func token(for scope: String) -> Option<String?> {
    .text(
      "token", "TOKEN", environment: "FIELDCAST_TOKEN",
      help: "Where the service asks for one, with the scope \(scope); best in the environment.")
  }

  private let endpoint: Endpoint
  private let client: HTTP1Client
  private let token: String?
  private let scope: String

  private init(_ endpoint: Endpoint, token: String?, scope: String, loop: EventLoop) {
    self.endpoint = endpoint
    self.token = token
    self.scope = scope
    client = HTTP1Client(endpoint: endpoint, loop: loop)
  }

  /// Asks one thing and is gone.
  static func ask(
    _ arguments: ParsedArguments, token: String?, scope: String, _ method: String, _ path: String,
    body: [UInt8] = [], patience: Duration = .seconds(10)
  ) async throws -> Answer {
    try await with(arguments, token: token, scope: scope) { caller, _ in
      try await caller.call(method, path, body: body, patience: patience)
    }
  }

  /// Has a caller for as long as the work takes, and the loop that it is on.
  static func with<Result>(
    _ arguments: ParsedArguments, token: String?, scope: String,
    _ work: (ServiceCaller, EventLoop) async throws -> Result
  ) async throws -> Result {
    let endpoint = try ServiceOptions.endpoint(arguments[service], of: service.spec)
    let loop = try EventLoop(name: "asking")
    defer { loop.stop() }
    let caller = ServiceCaller(endpoint, token: token, scope: scope, loop: loop)
    do {
      let result = try await work(caller, loop)
      await caller.client.close()
      return result
    } catch {
      await caller.client.close()
      throw error
    }
  }

  /// - Parameter patience: for what asks APNs first, more than the usual.
  /// - Throws: ``CommandFailure`` for every answer that is none of success.
  func call(
    _ method: String, _ path: String, body: [UInt8] = [], fields: HTTPFields = [:],
    patience: Duration = .seconds(10)
  ) async throws(CommandFailure) -> Answer {
    var request = HTTPRequest(method: method, path: path, fields: fields, body: body)
    if let token { request.fields["authorization"] = "Bearer \(token)" }
    let response: HTTPResponse
    switch await client.send(request, deadline: patience) {
    case .answered(let answer): response = answer
    case .notSent(let failure), .unknown(let failure):
      throw CommandFailure(
        .unavailable, "The service at \(endpoint) does not answer: \(failure). Is it there?")
    }
    let value = (try? JSONValue.parse(response.body)) ?? .null
    switch response.status {
    case 200..<300: return Answer(text: response.text, value: value)
    case 401:
      throw CommandFailure(
        .configuration,
        "The service asks for a token with the scope \(scope). Set FIELDCAST_TOKEN to one that is "
          + "on its list.")
    default:
      let detail = value["detail"]?.string ?? "The service answered \(response.status)."
      throw CommandFailure(response.status < 500 ? .badInput : .unavailable, detail)
    }
  }
}
