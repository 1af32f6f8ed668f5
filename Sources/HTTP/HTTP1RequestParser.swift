/// A request's head, and what it says about the connection.
package struct HTTP1RequestHead: Sendable, Hashable {
  /// Without its body.
  package var request: HTTPRequest
  /// Whether the connection may carry another request after this one.
  package var keepsAlive: Bool
  /// Whether the client waits for a word before it sends the body.
  package var expectsContinue: Bool
  /// Whether it is HTTP/1.0, which knows no chunks.
  package var isOld: Bool
  var framing: HTTP1Syntax.Framing
}

/// Reads HTTP/1.1 requests from bytes, strictly. Does no I/O and knows no time.
///
/// It is written here and not taken from a library since those at hand, libmicrohttpd and evhttp,
/// accept heads that two servers in a row may read differently (a blank before the colon, two
/// lengths, no `Host`), and leave a connection open for as long as a byte drips in now and then.
/// The cost of a request is in its system calls, whatever parser reads it.
///
/// After an error the connection is good for one answer and the end.
package struct HTTP1RequestParser {
  package enum Event: Sendable, Hashable {
    case head(HTTP1RequestHead)
    /// The body's last byte was read: here is the whole of it.
    case end(body: [UInt8])
  }

  private enum Phase {
    case startLine
    case fields
    /// The head was handed out; the caller says how large a body may be.
    case headRead(HTTP1Syntax.Framing)
    case body(HTTP1Body)
    case failed
  }

  private let limits: HTTP1Limits
  private let scheme: String
  private var input = HTTP1Input()
  private var phase = Phase.startLine
  private var headBytes = 0
  private var hadEmptyLine = false
  private var method = ""
  private var target = ""
  private var isOld = false
  private var fields = HTTPFields()
  private var body: [UInt8] = []

  /// - Parameter scheme: `https` over TLS, for requests that do not name one.
  package init(limits: HTTP1Limits = HTTP1Limits(), scheme: String = "http") {
    self.limits = limits
    self.scheme = scheme
  }

  /// Bytes that were fed and not yet read.
  package var bufferedBytes: Int { input.count }

  /// Whether a request has begun and is not complete.
  package var isInMessage: Bool {
    if case .startLine = phase { !input.isEmpty } else { true }
  }

  /// Bytes of the present body that have been read.
  package var bodyBytes: Int { if case .body(let body) = phase { body.received } else { 0 } }

  package mutating func feed(_ bytes: RawSpan) { input.append(bytes) }

  /// The next event; nil when more bytes are needed.
  ///
  /// After ``Event/head(_:)`` call ``beginBody(limit:)`` before asking again.
  package mutating func next() throws(HTTP1Error) -> Event? {
    do throws(HTTP1Error) {
      return try advance()
    } catch {
      phase = .failed
      throw error
    }
  }

  /// Reads on behind the head that was handed out last.
  ///
  /// - Parameter limit: bytes that the body may have.
  package mutating func beginBody(limit: Int) throws(HTTP1Error) {
    guard case .headRead(let framing) = phase else {
      preconditionFailure("a body is begun right after its head")
    }
    do throws(HTTP1Error) {
      phase = .body(try HTTP1Body(framing, limit: limit))
    } catch {
      phase = .failed
      throw error
    }
  }

  private mutating func advance() throws(HTTP1Error) -> Event? {
    while true {
      switch phase {
      case .startLine:
        guard let line = try takeHeadLine() else { return nil }
        // One empty line before a request is let pass, as RFC 9112 section 2.2 advises.
        if line.isEmpty, !hadEmptyLine {
          hadEmptyLine = true
          continue
        }
        try readStartLine(line)
        phase = .fields
      case .fields:
        guard let line = try takeHeadLine() else { return nil }
        if line.isEmpty { return .head(try finishHead()) }
        guard fields.count < limits.fields else {
          throw HTTP1Error(431, "The head has more than \(limits.fields) fields.")
        }
        let field = try HTTP1Syntax.field(line)
        fields.append(field.name, field.value)
      case .headRead, .failed: return nil
      case .body(var reader):
        phase = .failed
        try reader.read(&input, into: &body)
        guard reader.isDone else {
          phase = .body(reader)
          return nil
        }
        return finishMessage()
      }
    }
  }

  private mutating func takeHeadLine() throws(HTTP1Error) -> ArraySlice<UInt8>? {
    let line = try input.takeLine(
      limit: limits.headBytes - headBytes,
      tooLong: HTTP1Error(431, "The head has more than \(limits.headBytes) bytes."))
    if let line { headBytes += line.count + 2 }
    return line
  }

  private mutating func readStartLine(_ line: ArraySlice<UInt8>) throws(HTTP1Error) {
    let parts = line.split(separator: 0x20, omittingEmptySubsequences: false)
    guard parts.count == 3, HTTP1Syntax.isToken(parts[0]) else {
      throw HTTP1Error(400, "The first line is not a method, a path and a version.")
    }
    switch String(decoding: parts[2], as: UTF8.self) {
    case "HTTP/1.1": isOld = false
    case "HTTP/1.0": isOld = true
    case let version where version.hasPrefix("HTTP/"):
      throw HTTP1Error(505, "This server speaks HTTP/1.1.")
    default: throw HTTP1Error(400, "The first line does not end in a version of HTTP.")
    }
    guard !parts[1].isEmpty, parts[1].allSatisfy({ HTTP1Syntax.target[Int($0)] }) else {
      throw HTTP1Error(400, "The path has a byte that may not stand there.")
    }
    method = String(decoding: parts[0], as: UTF8.self)
    target = String(decoding: parts[1], as: UTF8.self)
  }

  private mutating func finishHead() throws(HTTP1Error) -> HTTP1RequestHead {
    let framing = try HTTP1Syntax.framing(fields)
    if isOld, framing == .chunked {
      throw HTTP1Error(400, "HTTP/1.0 knows no Transfer-Encoding.")
    }
    let authority = try host()
    let expectation = fields["expect"]?.lowercased()
    guard expectation == nil || expectation == "100-continue" else {
      throw HTTP1Error(417, "The only expectation that is understood is 100-continue.")
    }
    var request = HTTPRequest(
      method: method, scheme: scheme, authority: authority, path: target, fields: fields)
    try resolveTarget(&request)
    phase = .headRead(framing)
    return HTTP1RequestHead(
      request: request,
      keepsAlive: !isOld && !HTTP1Syntax.lists(fields, "connection", "close"),
      expectsContinue: expectation != nil && !isOld && framing != .none && framing != .length(0),
      isOld: isOld, framing: framing)
  }

  private func host() throws(HTTP1Error) -> String {
    let hosts = fields.all("host")
    if hosts.isEmpty, isOld { return "" }
    guard hosts.count == 1 else {
      throw HTTP1Error(400, "A request has exactly one Host, this one has \(hosts.count).")
    }
    guard HTTP1Syntax.isHost(hosts[0]) else {
      throw HTTP1Error(400, "The Host is no name or address with an optional port.")
    }
    return hosts[0]
  }

  /// A path, `*` for OPTIONS, or a whole URL, whose host then counts more than the field.
  private func resolveTarget(_ request: inout HTTPRequest) throws(HTTP1Error) {
    if target.utf8.first == UInt8(ascii: "/") { return }
    if target == "*", method == "OPTIONS" { return }
    for prefix in ["http://", "https://"] where target.lowercased().hasPrefix(prefix) {
      let rest = target.dropFirst(prefix.count)
      let slash = rest.firstIndex { $0 == "/" || $0 == "?" } ?? rest.endIndex
      let authority = String(rest[..<slash])
      guard HTTP1Syntax.isHost(authority) else { break }
      request.authority = authority
      let path = rest[slash...]
      request.path = path.first == "/" ? String(path) : "/" + path
      return
    }
    throw HTTP1Error(400, "The path does not begin with a slash.")
  }

  private mutating func finishMessage() -> Event {
    var whole: [UInt8] = []
    swap(&whole, &body)
    fields = HTTPFields()
    headBytes = 0
    hadEmptyLine = false
    phase = .startLine
    input.compact()
    return .end(body: whole)
  }
}
