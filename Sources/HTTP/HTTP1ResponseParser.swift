/// Reads HTTP/1.1 answers from bytes. Does no I/O and knows no time.
///
/// Informational answers (1xx) are skipped.
package struct HTTP1ResponseParser {
  package enum Event: Sendable, Hashable {
    /// Status and fields; the body is still to come.
    case head(HTTPResponse)
    /// Part of the body, for those who do not want to wait for the whole.
    case body([UInt8])
    /// The answer is complete. `keepsAlive`: whether the connection may carry another request.
    case end(keepsAlive: Bool)
  }

  private enum Phase {
    case idle
    case statusLine
    case fields
    case body(HTTP1Body)
    case ending
    case failed
  }

  private let limits: HTTP1Limits
  private let bodyLimit: Int
  private var input = HTTP1Input()
  private var phase = Phase.idle
  private var method = ""
  private var headBytes = 0
  private var response = HTTPResponse(status: 0)
  private var keepsAlive = true

  /// - Parameter bodyLimit: bytes that an answer's body may have.
  package init(limits: HTTP1Limits = HTTP1Limits(), bodyLimit: Int) {
    self.limits = limits
    self.bodyLimit = bodyLimit
  }

  /// A request was sent whose answer comes next.
  package mutating func expectAnswer(to method: String) {
    self.method = method
    phase = .statusLine
    keepsAlive = true
  }

  package mutating func feed(_ bytes: RawSpan) { input.append(bytes) }

  /// Bytes that no answer asked for: a peer that talks out of turn.
  package var hasStrayBytes: Bool { if case .idle = phase { !input.isEmpty } else { false } }

  package mutating func next() throws(HTTP1Error) -> Event? {
    do throws(HTTP1Error) {
      return try advance()
    } catch {
      phase = .failed
      throw error
    }
  }

  /// The connection ended: whether that completes the answer.
  package mutating func inputEnded() -> Event? {
    guard case .body(let body) = phase, body.phase == .untilClose else { return nil }
    phase = .idle
    return .end(keepsAlive: false)
  }

  private mutating func advance() throws(HTTP1Error) -> Event? {
    while true {
      switch phase {
      case .idle, .failed: return nil
      case .statusLine:
        guard let line = try takeHeadLine() else { return nil }
        try readStatusLine(line)
        phase = .fields
      case .fields:
        guard let line = try takeHeadLine() else { return nil }
        guard line.isEmpty else {
          guard response.fields.count < limits.fields else {
            throw HTTP1Error(431, "The answer has more than \(limits.fields) fields.")
          }
          let field = try HTTP1Syntax.field(line)
          response.fields.append(field.name, field.value)
          continue
        }
        headBytes = 0
        if response.status < 200 {
          phase = .statusLine
          continue
        }
        try beginBody()
        return .head(response)
      case .body(var reader):
        phase = .failed
        var part: [UInt8] = []
        try reader.read(&input, into: &part)
        input.compact()
        phase = reader.isDone ? .ending : .body(reader)
        if !part.isEmpty { return .body(part) }
        if !reader.isDone { return nil }
      case .ending:
        phase = .idle
        return .end(keepsAlive: keepsAlive)
      }
    }
  }

  private mutating func takeHeadLine() throws(HTTP1Error) -> ArraySlice<UInt8>? {
    let line = try input.takeLine(
      limit: limits.headBytes - headBytes,
      tooLong: HTTP1Error(431, "The answer's head has more than \(limits.headBytes) bytes."))
    if let line { headBytes += line.count + 2 }
    return line
  }

  private mutating func readStatusLine(_ line: ArraySlice<UInt8>) throws(HTTP1Error) {
    let text = String(decoding: line, as: UTF8.self)
    let parts = text.split(separator: " ", maxSplits: 2, omittingEmptySubsequences: false)
    guard parts.count >= 2, parts[0] == "HTTP/1.1" || parts[0] == "HTTP/1.0",
      parts[1].utf8.count == 3, let status = Int(parts[1]), (100...599).contains(status)
    else { throw HTTP1Error(400, "The answer does not begin with a version and a status.") }
    response = HTTPResponse(status: status)
    keepsAlive = parts[0] == "HTTP/1.1"
  }

  private mutating func beginBody() throws(HTTP1Error) {
    if HTTP1Syntax.lists(response.fields, "connection", "close") { keepsAlive = false }
    let framing = try HTTP1Syntax.framing(response.fields)
    // Behind a tunnel's 2xx comes whatever the far side says, whatever the fields claim.
    let opensTunnel = method == "CONNECT" && (200..<300).contains(response.status)
    if method == "HEAD" || opensTunnel || response.status == 204 || response.status == 304 {
      phase = .ending
    } else if framing == .none {
      keepsAlive = false
      phase = .body(HTTP1Body(untilClose: bodyLimit))
    } else {
      phase = .body(try HTTP1Body(framing, limit: bodyLimit))
    }
  }
}
