import HTTP

/// A client's session with six requests under way, and what must hold whatever its peer sends: each
/// request ends once, no slot is left, and what is kept and said in return stays small.
struct ClientTrial {
  private let client = HTTP2ClientSession()
  private let slots: [Int]
  /// What the client said at first.
  private let requests: [UInt8]
  private var ends: [Int: Int] = [:]
  private var fedBytes = 0
  private var saidBytes = 0
  private(set) var faults: [String] = []

  static let count = 6

  init() throws {
    let request = HTTPRequest(
      method: "POST", authority: "a", path: "/", body: Array(repeating: 1, count: 300))
    let template = try RequestTemplate(request)
    let client = client
    slots = (0..<Self.count).map { _ in
      client.prepare(template, values: [], body: request.body)
    }
    for slot in slots where !client.submit(slot) { faults.append("slot \(slot) had no stream") }
    requests = try Self.output(of: client.takeOutput)
  }

  /// What a good server answers: five answers, a refused stream, and its GOAWAY.
  func answers() throws -> [UInt8] {
    let server = HTTP2ServerSession()
    try server.receive(requests.span.bytes)
    for stream in 0..<5 {
      server.respond(
        streamID: Int32(stream * 2 + 1), status: 200, fields: ["apns-id": "\(stream)"],
        body: Array(repeating: 7, count: stream * 30))
    }
    server.reset(streamID: 11, errorCode: HTTP2ErrorCode.refusedStream)
    let bytes = try Self.output(of: server.takeOutput)
    server.goAway(lastStreamID: nil, errorCode: 0, debugData: Array("{}".utf8))
    return bytes + (try Self.output(of: server.takeOutput))
  }

  /// Feeds bytes until the session ends.
  mutating func feed(_ pieces: [[UInt8]]) {
    for piece in pieces {
      let isGood = (try? client.receive(piece.span.bytes)) != nil
      fedBytes += piece.count
      client.takeEvents { _ in }
      noteClosed()
      let said = try? Self.output(of: client.takeOutput)
      saidBytes += said?.count ?? 0
      noteClosed()
      if !isGood || said == nil { break }
    }
    // The longest answers are those to PINGs and broken streams: a frame for a frame.
    if saidBytes > 4 * fedBytes + 1_024 { faults.append("\(saidBytes) bytes for \(fedBytes)") }
  }

  /// The connection is gone: what has no end yet has one now.
  mutating func end() {
    let lost = ExchangeFailure(.connectionLost, "the test is over")
    for slot in slots where ends[slot] == nil {
      _ = client.abandon(slot, lost)
      ends[slot] = 1
    }
    if ends.count != Self.count || ends.values.contains(where: { $0 != 1 }) {
      faults.append("ends: \(ends)")
    }
    if client.slotsInUse != 0 { faults.append("\(client.slotsInUse) slots are in use") }
  }

  private mutating func noteClosed() {
    var closed: [Int] = []
    client.takeClosed { index, outcome in
      closed.append(index)
      if let body = outcome.response?.body, body.count > ResponseLimits().bodyBytes {
        closed.append(-1)
      }
    }
    for index in closed { ends[index, default: 0] += 1 }
  }

  static func output(
    of take: ((RawSpan) -> Bool) throws(HTTP2ProtocolError) -> Void
  ) throws -> [UInt8] {
    var all: [UInt8] = []
    try take { bytes in
      bytes.withUnsafeBytes { all.append(contentsOf: $0) }
      return true
    }
    return all
  }
}
