package import Clocks
package import Transport

/// Limits and deadlines of an HTTP/1.1 server. All spans are real time.
package struct HTTPServerConfiguration: Sendable {
  package var limits = HTTP1Limits()
  /// Bytes that a request's body may have, by its head; a router knows it by route.
  package var bodyLimit: @Sendable (HTTPRequest) -> Int = { _ in 65_536 }
  /// From a head's first byte to its last, however they drip in.
  package var headDeadline: Duration = .seconds(10)
  /// A body may take this long, and longer by what the least rate allows for the bytes that came.
  package var bodyGrace: Duration = .seconds(10)
  package var bodyLeastBytesPerSecond = 1_024
  /// How long a connection may wait for its next request.
  package var idleTimeout: Duration = .seconds(60)
  /// How long a handler may think before the client is told 503.
  package var handlerDeadline: Duration = .seconds(60)
  /// How long a client may leave an answer unread.
  package var writeTimeout: Duration = .seconds(30)
  /// Connections beyond it are told 503 and closed.
  package var maxConnections = 4_096
  /// Of those with one address, likewise.
  package var maxConnectionsOfOnePeer = 4_096
  /// What a client reads when the server itself refuses: status, and a sentence.
  package var refusal: @Sendable (Int, String) -> HTTPResponse = { status, detail in
    HTTPProblem.response(status: status, detail: detail)
  }

  package init() {}
}

/// Who asked, and when.
package struct RequestContext: Sendable {
  /// The client's address with its port, for logs.
  package var peer: String
  /// Without the port: whom a limit counts as one.
  package var peerAddress: String
  /// The subject of the client's verified certificate.
  package var peerSubject: String?
  package var isTLS: Bool
  /// When the head was complete, on the machine's monotonic clock.
  package var receivedAt: Moment
  package var loop: EventLoop

  package init(
    peer: String, peerAddress: String = "", peerSubject: String? = nil, isTLS: Bool,
    receivedAt: Moment, loop: EventLoop
  ) {
    self.peer = peer
    self.peerAddress = peerAddress
    self.peerSubject = peerSubject
    self.isTLS = isTLS
    self.receivedAt = receivedAt
    self.loop = loop
  }
}

/// What a handler answers.
package enum HTTPReply: Sendable {
  case response(HTTPResponse)
  /// 200 and events for as long as the listener stays. A HEAD request gets the head alone.
  case events(ServerSentEvents)

  package var status: Int {
    switch self {
    case .response(let response): response.status
    case .events: 200
    }
  }
}
