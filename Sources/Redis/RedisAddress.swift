package import Transport

/// Where a server of a deployment listens, as an operator or another server names it.
package struct RedisAddress: Hashable, Sendable, CustomStringConvertible {
  package let host: String
  package let port: Int

  package init(host: String, port: Int) {
    self.host = host
    self.port = port
  }

  package var description: String {
    host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
  }

  package var endpoint: Endpoint { .tcp(host: host, port: port) }
}

extension RedisConfiguration {
  /// The same ways of speaking, with another server. With TLS its certificate must be one for the
  /// host that it is named by.
  package func at(_ address: RedisAddress) -> RedisConfiguration {
    var copy = self
    copy.endpoint = address.endpoint
    copy.label = nil
    if tls != nil { copy.serverName = address.host }
    return copy
  }
}
