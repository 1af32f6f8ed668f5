import HTTP
import Testing

/// A client's and a server's session that talk through memory, as far as the test lets them.
struct SessionPipe {
  let client: HTTP2ClientSession
  let server: HTTP2ServerSession
  var clientEvents: [HTTP2ClientSession.Event] = []
  var serverEvents: [HTTP2ServerSession.Event] = []
  var outcomes: [Int: ExchangeOutcome] = [:]

  init(
    client: HTTP2ClientSession = HTTP2ClientSession(),
    server: HTTP2ServerSession = HTTP2ServerSession()
  ) {
    self.client = client
    self.server = server
  }

  /// Carries bytes both ways until neither side has more to say.
  mutating func settle() throws {
    while true {
      let upward = try carryToServer()
      let downward = try carryToClient()
      if upward + downward == 0 { return }
    }
  }

  @discardableResult
  mutating func carryToServer() throws -> Int {
    let bytes = try takeFromClient()
    try deliverToServer(bytes)
    return bytes.count
  }

  /// What the client has to say, which is then on its way.
  mutating func takeFromClient() throws -> [UInt8] { try ClientTrial.output(of: client.takeOutput) }

  mutating func deliverToServer(_ bytes: [UInt8]) throws {
    try server.receive(bytes.span.bytes)
    server.takeEvents { serverEvents.append($0) }
  }

  @discardableResult
  mutating func carryToClient() throws -> Int {
    let bytes = try ClientTrial.output(of: server.takeOutput)
    try deliver(bytes)
    return bytes.count
  }

  mutating func deliver(_ bytes: [UInt8]) throws {
    try client.receive(bytes.span.bytes)
    collect()
  }

  mutating func collect() {
    client.takeEvents { clientEvents.append($0) }
    client.takeClosed { outcomes[$0] = $1 }
  }

  /// Sends a request and returns its slot.
  mutating func send(_ request: HTTPRequest) throws -> Int {
    let slot = client.prepare(try RequestTemplate(request), values: [], body: request.body)
    #expect(client.submit(slot))
    return slot
  }

  var requests: [(request: HTTPRequest, streamID: Int32)] {
    serverEvents.compactMap {
      if case .requestReceived(let request, let streamID) = $0 { (request, streamID) } else { nil }
    }
  }
}
