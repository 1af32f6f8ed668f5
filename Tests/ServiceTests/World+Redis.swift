import APNsSimulator
import Clocks
import FieldTrips
import JSON
import Redis
import RedisStage
import Testing
import Transport
import TripStore

/// Worlds whose Redis is more than one server, or is to be done something to.
extension World {
  /// So fast that an hour's budget comes in two minutes, and no faster: stale dates and tokens
  /// must survive a slow machine.
  static let faultSpeed = 30.0

  /// - Parameter replicas: of each of its three masters.
  static func onCluster(
    replicas: Int = 0,
    _ body: (World, PrivateRedisCluster) async throws -> Void
  ) async throws {
    try await withAPNs(speed: faultSpeed) { loop, make in
      try await PrivateRedisCluster.withTemporary(
        masters: 3, replicas: replicas, on: loop
      ) { cluster in
        var configuration = RedisConfiguration(endpoint: cluster.seeds[0].endpoint)
        // What a test adds to a stream must survive what it does to the servers.
        configuration.replicas = min(replicas, 1)
        let redis = RedisCluster(
          configuration: configuration, seeds: cluster.seeds, loop: loop)
        try await body(make(cluster.url, redis), cluster)
        await redis.close(atOnce: true)
      }
    }
  }

  static func onSentinels(
    replicas: Int = 1, _ body: (World, PrivateSentinels) async throws -> Void
  ) async throws {
    try await withAPNs(speed: faultSpeed) { loop, make in
      try await PrivateSentinels.withTemporary(replicas: replicas, on: loop) { stage in
        var deployment = try RedisDeployment(url: stage.url) { throw StageError("no TLS here") }
        deployment.server.replicas = replicas > 1 ? 1 : 0
        let backend = RedisBackend(deployment, loop: loop)
        try await body(make(stage.url, backend.caller), stage)
        await backend.close(atOnce: true)
      }
    }
  }

  /// - Parameter change: of the server's options.
  static func onServer(
    _ change: (inout PrivateRedisServer.Options) -> Void = { _ in },
    _ body: (World, RestartingRedis) async throws -> Void
  ) async throws {
    try await withAPNs(speed: faultSpeed) { loop, make in
      try await RestartingRedis.withTemporary(on: loop, change) { server in
        let redis = RedisClient(configuration: await server.configuration, loop: loop)
        try await body(make("unix://\(server.options.socketPath)", redis), server)
        await redis.close(atOnce: true)
      }
    }
  }

  /// The slot of a trip's partition.
  func slot(of trip: TestCaller.Trip) throws -> Int {
    let partition = TripStore(redis: redis).partition(of: try TripID(trip.id))
    return ClusterSlot.of("fc:{\(partition)}:log")
  }
}
