package import Redis
package import Transport

/// A running service and what surrounds it.
package struct LoadTarget: Sendable {
  /// The service's REST.
  package var rest: Endpoint
  /// What REST asks callers for, if it does; with the scopes `trips` and `notes`.
  package var token: String?
  /// The service's Redis.
  package var redis: RedisConfiguration
  /// The introspection of the simulated APNs that the service publishes to.
  package var simulator: Endpoint
  /// The app at the simulator; nil for its first.
  package var bundleID: String?
  /// Process IDs on this machine, as far as they are known: their CPU time and memory are watched.
  package var processes: [Process: Int32]

  package enum Process: String, Sendable, CaseIterable {
    case service, redis, simulator, harness
  }

  package init(
    rest: Endpoint, token: String? = nil, redis: RedisConfiguration, simulator: Endpoint,
    bundleID: String? = nil, processes: [Process: Int32] = [:]
  ) {
    self.rest = rest
    self.token = token
    self.redis = redis
    self.simulator = simulator
    self.bundleID = bundleID
    self.processes = processes
  }
}

/// Why a load could not be run, or not to its end.
package struct LoadFailure: Error, Sendable, CustomStringConvertible {
  package let description: String

  package init(_ description: String) { self.description = description }
}
