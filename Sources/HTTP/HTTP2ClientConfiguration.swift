package import Transport

/// How one HTTP/2 client connection behaves. All spans are real time.
package struct HTTP2ClientConfiguration: Sendable {
  /// Bounds the name look-up, TCP, TLS and the wait for the peer's first settings.
  package var connect = ConnectOptions()
  /// Connects through this proxy, which then looks the name up too; nil connects directly.
  package var proxy: HTTPProxy?
  /// How many streams to have open at once where the peer allows more, 1 or more.
  package var maxInFlight = 1_000
  /// How many requests may wait for a stream before more are refused, 0 or more. Each holds a few
  /// hundred bytes and its body.
  package var maxQueued = 10_000
  package var limits = ResponseLimits()
  /// After so much silence of the peer it is sent a PING, whether requests are open or not: a
  /// connection that a router forgot looks just like an idle one.
  package var pingAfterSilence: Duration = .seconds(10)
  /// The same while an answer is due. With the next setting it says how soon requests on a dead
  /// connection learn of it; a peer that is merely slow answers the PING and is left alone.
  package var pingWhenWaiting: Duration = .seconds(2)
  /// A peer that lets a PING go unanswered for so long is given up.
  package var pingTimeout: Duration = .seconds(4)
  /// Closes a connection that had no request for so long; nil keeps it.
  package var idleTimeout: Duration?
  /// Bytes that the peer may send before we read them, on a stream and in all.
  package var streamWindowBytes: Int32 = 262_144
  package var connectionWindowBytes: Int32 = 1 << 20
  /// Another than 1 only to see what happens when the stream IDs run out.
  package var firstStreamID: Int32 = 1

  package init() {}
}

/// What a client tells its owner about the connection, on the loop's thread.
package enum HTTP2ClientEvent: Sendable {
  /// The number of streams that may be open at once is now this.
  case streamLimitChanged(Int)
  /// It takes no more requests; those that are open go on. `nil` when the end is not the peer's
  /// wish: ours, or no stream ID is left.
  case draining(GoAway?)
  /// Over. Comes once, last.
  case closed(reason: String)
}

/// Why there is no HTTP/2 connection.
package enum HTTP2ConnectError: Error, Sendable, CustomStringConvertible {
  case stream(StreamError)
  /// The proxy cannot be reached, or opens no tunnel.
  case proxy(HTTPProxyError)
  /// TLS came about, and then the peer did not agree on `h2`.
  case noHTTP2(endpoint: String, agreed: String?)
  /// Connected, and gone before the peer said its first word of HTTP/2.
  case closedEarly(endpoint: String, reason: String, GoAway?)
  /// Connected, and no settings came in time.
  case silent(endpoint: String, seconds: Double)

  package var description: String {
    switch self {
    case .stream(let error): "\(error)"
    case .proxy(let error): "\(error)"
    case .noHTTP2(let endpoint, let agreed):
      "\(endpoint) does not speak HTTP/2: ALPN agreed on \(agreed ?? "nothing"). "
        + "Is something between us that opens TLS?"
    case .closedEarly(let endpoint, let reason, _):
      "\(endpoint) ended the connection at once: \(reason)"
    case .silent(let endpoint, let seconds):
      "\(endpoint) sent no HTTP/2 settings within \(seconds) s"
    }
  }
}
