package import Transport

/// A Redis as it is set up: one server, the primary that Sentinels name, or a cluster; and how to
/// speak with each of its servers.
package struct RedisDeployment: Sendable {
  package enum Layout: Sendable, Equatable {
    case server
    case sentinel([RedisAddress], name: String)
    case cluster([RedisAddress])
  }

  package let layout: Layout
  /// Of every server; its endpoint matters only for one.
  package var server: RedisConfiguration
  /// Of every Sentinel.
  package var sentinel: RedisConfiguration

  /// One server.
  package init(_ server: RedisConfiguration) {
    layout = .server
    self.server = server
    sentinel = server
  }

  /// - Parameters:
  ///   - url: as ``RedisURL`` takes it.
  ///   - trust: makes what servers' certificates are checked against, those of servers included
  ///     that are found later; asked for with `rediss` only.
  package init(url text: String, trust: () throws -> TLSClientContext) throws {
    let url = try RedisURL(parsing: text)
    switch url.place {
    case .tcp, .unix:
      layout = .server
      server = try RedisConfiguration(url: text, trust: trust)
      sentinel = server
      return
    case .sentinel(let addresses, let name):
      layout = .sentinel(addresses, name: name)
      server = RedisConfiguration(endpoint: addresses[0].endpoint)
      server.label = "\"\(name)\" of the Sentinels at \(Self.list(addresses))"
    case .cluster(let addresses):
      layout = .cluster(addresses)
      server = RedisConfiguration(endpoint: addresses[0].endpoint)
      server.label = "the cluster of \(Self.list(addresses))"
    }
    if url.usesTLS { server.tls = try trust() }
    sentinel = server
    (server.user, server.password) = (url.user, url.password)
    server.database = url.database
    (sentinel.user, sentinel.password) = (url.sentinelUser, url.sentinelPassword)
  }

  /// For messages, without users and passwords.
  package var address: String { server.address }

  /// Whether servers may take each other's place, and so lose what they had not passed on.
  package var mayFailOver: Bool { layout != .server }

  private static func list(_ addresses: [RedisAddress]) -> String {
    addresses.map(\.description).joined(separator: ", ")
  }
}
