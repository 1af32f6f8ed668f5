/// Why a connection did not come about.
package enum StreamError: Error, Sendable, Equatable, CustomStringConvertible {
  /// The name has no address, or the name server did not answer.
  case notResolved(host: String, reason: String)
  /// Every address refused or could not be reached; the reason is the last address's.
  case notConnected(endpoint: String, reason: String)
  case timedOut(endpoint: String, seconds: Double)
  case tls(endpoint: String, TLSFailure)
  /// The peer closed the connection before it was usable.
  case closedEarly(endpoint: String)
  case cancelled

  package var description: String {
    switch self {
    case .notResolved(let host, let reason): "the host name \(host) has no address: \(reason)"
    case .notConnected(let endpoint, let reason): "no connection to \(endpoint): \(reason)"
    case .timedOut(let endpoint, let seconds):
      "no connection to \(endpoint) within \(seconds) s"
    case .tls(let endpoint, let failure): "no connection to \(endpoint): \(failure)"
    case .closedEarly(let endpoint):
      "\(endpoint) closed the connection before it could be used"
    case .cancelled: "the connection attempt was cancelled"
    }
  }
}

/// How an open connection ended.
package enum StreamClosure: Error, Sendable, Equatable, CustomStringConvertible {
  /// We closed it.
  case byUs
  /// The peer ended its side in order.
  case byPeer
  /// Reset, unreachable, or silent for longer than the user timeout.
  case lost(reason: String)
  case tls(TLSFailure)

  package var description: String {
    switch self {
    case .byUs: "closed by us"
    case .byPeer: "closed by the peer"
    case .lost(let reason): "connection lost: \(reason)"
    case .tls(let failure): failure.description
    }
  }
}

/// Where something listens.
package enum Endpoint: Sendable, Hashable, CustomStringConvertible {
  /// - host: a name or an address, IPv6 without brackets. Port 0 lets a listener choose.
  case tcp(host: String, port: Int)
  case unix(path: String)

  /// Whether only this machine reaches it, as far as its text tells.
  package var isLoopback: Bool {
    switch self {
    case .tcp(let host, _): host == "localhost" || host == "::1" || host.hasPrefix("127.")
    case .unix: true
    }
  }

  package var description: String {
    switch self {
    case .tcp(let host, let port): host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
    case .unix(let path): "unix:\(path)"
    }
  }
}
