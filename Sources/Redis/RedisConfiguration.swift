package import Transport

/// Where a Redis server is, and how to speak with it.
package struct RedisConfiguration: Sendable {
  package var endpoint: Endpoint
  /// Set for TLS; the server's certificate must then be one for ``serverName``.
  package var tls: TLSClientContext?
  package var serverName: String?
  package var user: String?
  package var password: String?
  package var database = 0
  /// Shown by `CLIENT LIST`; no spaces.
  package var clientName = "fieldcast"

  /// For connecting and introducing ourselves. Long enough for a lost packet or two, short enough
  /// that a request behind it still has time left.
  package var connectDeadline: Duration = .seconds(3)
  /// For a command's answer, unless the call says otherwise. A connection that misses one is
  /// closed: replies come in order, so those behind it would be late too.
  package var commandDeadline: Duration = .seconds(5)
  /// An idle connection is asked for a sign of life this often, and has as long to give it.
  package var keepAlive: Duration = .seconds(5)
  /// The kernel gives the connection up when sent bytes stay unacknowledged this long.
  package var userTimeout: Duration = .seconds(10)

  /// Commands under way on one connection; further calls wait for room.
  package var maxInFlight = 10_000
  /// Calls that wait for room or for a connection; further ones are refused at once, so that a
  /// server that is down costs memory for these only.
  package var maxWaiting = 20_000
  /// Bytes of commands that the kernel has not taken yet; further calls wait meanwhile.
  package var maxOutputBytes = 64 << 20
  /// Of one reply; beyond it the connection is closed.
  package var maxReplyBytes = 64 << 20

  /// The first pause before connecting again; doubled after each failure, up to the longest, and
  /// each shortened by chance by up to a half, so that many nodes do not come back as one.
  package var firstBackoff: Duration = .milliseconds(50)
  package var longestBackoff: Duration = .seconds(2)
  /// Whether a server that says it is a replica is refused. Only readers may switch it off.
  package var requiresPrimary = true

  /// Replicas that must have confirmed a command before its reply counts, so that a failover to one
  /// of them does not lose what was answered; 0 waits for none. A command that they did not confirm
  /// within ``replicaDeadline`` has an unknown outcome.
  package var replicas = 0
  package var replicaDeadline: Duration = .seconds(1)
  /// What messages call it whose server is found anew for each connection.
  package var label: String?

  package init(endpoint: Endpoint) { self.endpoint = endpoint }

  /// - Parameters:
  ///   - url: as ``RedisURL`` takes it.
  ///   - trust: makes what a `rediss://` server's certificate is checked against; not asked for
  ///     otherwise.
  package init(
    url text: String, trust: () throws -> TLSClientContext
  ) throws {
    let url = try RedisURL(parsing: text)
    switch url.place {
    case .tcp(let host, let port):
      endpoint = .tcp(host: host, port: port)
      if url.usesTLS {
        tls = try trust()
        serverName = host
      }
    case .unix(let path): endpoint = .unix(path: path)
    case .sentinel, .cluster:
      throw RedisError.invalidSetting(
        "The Redis URL names several servers, and one is needed here: redis://host:port.")
    }
    user = url.user
    password = url.password
    database = url.database
  }

  /// The server's address for messages, without user and password.
  package var address: String {
    if let label { return label }
    return switch endpoint {
    case .tcp(let host, let port): "\(RedisAddress(host: host, port: port))"
    case .unix(let path): path
    }
  }

  /// For asking what servers know of each other. Whichever answers will do, and one that takes longer
  /// than a second is passed by.
  var forInquiries: RedisConfiguration {
    var configuration = self
    configuration.requiresPrimary = false
    configuration.replicas = 0
    configuration.connectDeadline = min(connectDeadline, .seconds(1))
    return configuration
  }

  /// The server's host as it is connected to; empty for a socket.
  var host: String {
    if case .tcp(let host, _) = endpoint { host } else { "" }
  }
}
