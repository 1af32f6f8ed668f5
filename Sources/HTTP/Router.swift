/// A request that found its route.
package struct RoutedRequest: Sendable {
  package var request: HTTPRequest
  package var context: RequestContext
  /// The template that matched, for metrics: `/v1/trips/{trip}`.
  package var route: String
  /// Parts of the path, decoded, by the names that the template gives them.
  package var parameters: [String: String]
  package var query: QueryItems

  /// A part of the path; the template has it, or asking is a mistake.
  package subscript(_ name: String) -> String {
    guard let value = parameters[name] else {
      preconditionFailure("the route \(route) has no parameter \(name)")
    }
    return value
  }
}

/// The items behind a path's `?`, decoded, in their order.
package struct QueryItems: Sendable, Hashable {
  package struct Item: Sendable, Hashable {
    package var name: String
    package var value: String

    package init(name: String, value: String) {
      self.name = name
      self.value = value
    }
  }

  package let list: [Item]

  package init(_ list: [Item] = []) { self.list = list }

  /// The first value of this name.
  package subscript(name: String) -> String? { list.first { $0.name == name }?.value }

  package func all(_ name: String) -> [String] { list.filter { $0.name == name }.map(\.value) }

  /// - Returns: nil when an item is not properly percent-encoded UTF-8.
  init?(encoded text: Substring) {
    var list: [Item] = []
    for part in text.split(separator: "&") {
      let sides = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      guard let name = PercentCoding.decode(sides[0], plusIsSpace: true),
        let value = PercentCoding.decode(sides.count > 1 ? sides[1] : "", plusIsSpace: true)
      else { return nil }
      list.append(Item(name: name, value: value))
    }
    self.list = list
  }
}

/// Percent-encoding of URLs (RFC 3986, section 2.1), strict.
package enum PercentCoding {
  /// - Returns: nil for a `%` without two hexadecimal digits, for NUL, and for what is not UTF-8.
  package static func decode(_ text: some StringProtocol, plusIsSpace: Bool = false) -> String? {
    var bytes: [UInt8] = []
    var rest = text.utf8.makeIterator()
    while let byte = rest.next() {
      switch byte {
      case UInt8(ascii: "%"):
        guard let first = rest.next(), let second = rest.next(),
          let high = HTTP1Syntax.hexadecimal(first), let low = HTTP1Syntax.hexadecimal(second),
          high + low > 0
        else { return nil }
        bytes.append(UInt8(high << 4 | low))
      case UInt8(ascii: "+") where plusIsSpace: bytes.append(0x20)
      default: bytes.append(byte)
      }
    }
    return String(validating: bytes, as: UTF8.self)
  }

  /// Encodes everything but letters, digits and `-._~`.
  package static func encode(_ text: String) -> String {
    let digits = Array("0123456789ABCDEF".utf8)
    var bytes: [UInt8] = []
    for byte in text.utf8 {
      let isPlain =
        HTTP1Syntax.token[Int(byte)] && !"!#$%&'*+^`|".utf8.contains(byte)
        || byte == UInt8(ascii: "~")
      if isPlain {
        bytes.append(byte)
      } else {
        bytes += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
      }
    }
    return String(decoding: bytes, as: UTF8.self)
  }
}

/// Finds the handler of a request by method and path.
///
/// HEAD is answered by GET's handler where it has none of its own, and OPTIONS with the methods
/// that a path knows.
package struct Router: Sendable {
  package typealias Handler = @Sendable (RoutedRequest) async -> HTTPReply

  package struct Route: Sendable {
    package let method: String
    package let template: String
    package let bodyLimit: Int
    let parts: [Part]
    let handler: Handler
  }

  enum Part: Sendable, Hashable {
    case literal(String)
    case parameter(String)
  }

  private enum Match {
    case found(Route, [String: String])
    case noPath
    case noMethod(allowed: [String])
    case badPath
  }

  /// In the order in which they were added.
  package private(set) var routes: [Route] = []
  /// What a client reads when no route takes its request: status, a sentence, and fields to add.
  package var refusal: @Sendable (Int, String, HTTPFields) -> HTTPResponse = {
    HTTPProblem.response(status: $0, detail: $1, fields: $2)
  }

  package init() {}

  /// Adds a route.
  ///
  /// - Parameters:
  ///   - template: such as `/v1/trips/{trip}/notes`. Literal parts win over parameters.
  ///   - bodyLimit: bytes that a request's body may have.
  package mutating func on(
    _ method: String, _ template: String, bodyLimit: Int = 65_536, _ handler: @escaping Handler
  ) {
    precondition(template.hasPrefix("/"), "a route begins with a slash: \(template)")
    let parts = Self.split(template).map { part -> Part in
      part.hasPrefix("{") && part.hasSuffix("}")
        ? .parameter(String(part.dropFirst().dropLast())) : .literal(String(part))
    }
    precondition(
      !routes.contains { $0.method == method && $0.parts == parts },
      "the route \(method) \(template) is there twice")
    routes.append(
      Route(
        method: method, template: template, bodyLimit: bodyLimit, parts: parts, handler: handler))
  }

  /// Bytes that a request's body may have, by its head; for ``HTTPServerConfiguration/bodyLimit``.
  package func bodyLimit(for request: HTTPRequest) -> Int {
    if case .found(let route, _) = match(request) { route.bodyLimit } else { 65_536 }
  }

  package func handle(_ request: HTTPRequest, _ context: RequestContext) async -> HTTPReply {
    switch match(request) {
    case .found(let route, let parameters):
      guard let query = QueryItems(encoded: Self.query(of: request.path)) else {
        return refuse(400, "The query is not properly percent-encoded.")
      }
      return await route.handler(
        RoutedRequest(
          request: request, context: context, route: route.template, parameters: parameters,
          query: query))
    case .noPath:
      return refuse(404, "There is nothing at this path.")
    case .badPath:
      return refuse(400, "The path is not properly percent-encoded.")
    case .noMethod(let allowed):
      let list: HTTPFields = ["allow": allowed.joined(separator: ", ")]
      if request.method == "OPTIONS" {
        return .response(HTTPResponse(status: 204, fields: list))
      }
      return refuse(405, "This path knows \(allowed.joined(separator: ", ")).", list)
    }
  }

  private func refuse(_ status: Int, _ detail: String, _ fields: HTTPFields = [:]) -> HTTPReply {
    .response(refusal(status, detail, fields))
  }

  private func match(_ request: HTTPRequest) -> Match {
    if request.path == "*" { return .noMethod(allowed: allMethods) }
    var decoded: [String] = []
    for part in Self.split(Self.path(of: request.path)) {
      guard let text = PercentCoding.decode(part) else { return .badPath }
      decoded.append(text)
    }
    let candidates = routes.filter { Self.fits($0.parts, decoded) }
    guard !candidates.isEmpty else { return .noPath }
    let wanted =
      candidates.filter { $0.method == request.method }
      + (request.method == "HEAD" ? candidates.filter { $0.method == "GET" } : [])
    guard let best = wanted.max(by: { Self.literals($0) < Self.literals($1) }) else {
      return .noMethod(allowed: Self.allowed(candidates))
    }
    var parameters: [String: String] = [:]
    for (part, text) in zip(best.parts, decoded) {
      if case .parameter(let name) = part { parameters[name] = text }
    }
    return .found(best, parameters)
  }

  private var allMethods: [String] { Self.allowed(routes) }

  private static func allowed(_ routes: [Route]) -> [String] {
    var methods = Set(routes.map(\.method))
    if methods.contains("GET") { methods.insert("HEAD") }
    methods.insert("OPTIONS")
    return methods.sorted()
  }

  private static func fits(_ parts: [Part], _ path: [String]) -> Bool {
    guard parts.count == path.count else { return false }
    return zip(parts, path).allSatisfy { part, text in
      switch part {
      case .literal(let literal): literal == text
      case .parameter: !text.isEmpty
      }
    }
  }

  private static func literals(_ route: Route) -> Int {
    route.parts.count { if case .literal = $0 { true } else { false } }
  }

  private static func path(of target: String) -> Substring {
    target.prefix { $0 != "?" }
  }

  private static func query(of target: String) -> Substring {
    target.firstIndex(of: "?").map { target[target.index(after: $0)...] } ?? ""
  }

  private static func split(_ path: some StringProtocol) -> [Substring] {
    Substring(path.dropFirst()).split(separator: "/", omittingEmptySubsequences: false)
  }
}
