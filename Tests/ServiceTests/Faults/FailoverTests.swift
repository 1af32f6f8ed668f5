import Clocks
import FieldcastServer
import Redis
import RedisStage
import Testing
import Transport

/// The servers of a cluster or behind Sentinels take each other's place. What is acknowledged is on
/// a replica by then, so a failover loses none of it.
extension `A service under faults` {
  private static func waitingForReplicas(_ configuration: inout ServiceConfiguration) {
    World.underFaults(&configuration)
    configuration.leaseLife = .seconds(5)
    configuration.redisReplicas = 1
  }

  @Test func `keeps every card right while slots move`() async throws {
    try await World.onCluster { world, cluster in
      try await world.withService(World.underFaults) { caller in
        let trips = try await world.createTrips(4, by: caller)
        // Also those of the stream, the nodes and the channels.
        let slots =
          try trips.map(world.slot(of:))
          + ["fieldcast:notes:in", "fc:nodes", "fc:{\(world.bundleID):development}:channels"]
          .map { ClusterSlot.of($0) }
        try await world.expectConvergence(
          of: trips, by: caller, through: "slots of a cluster move", times: slots.count
        ) { _ in
          for slot in slots {
            let from = try await cluster.master(of: slot)
            let to = try #require(cluster.masters.first { $0.id != from.id })
            try await cluster.move(slot, to: to) {
              try await world.loop.sleep(for: .milliseconds(40))
            }
          }
        }
      }
    }
  }

  @Test func `keeps every card right when a cluster loses a master`() async throws {
    try await World.onCluster(replicas: 2) { world, cluster in
      try await world.withService(Self.waitingForReplicas) { caller in
        let trips = try await world.createTrips(4, by: caller)
        // The master that has the first trip's partition.
        let lost = try await cluster.master(of: try world.slot(of: trips[0]))
        let number = try #require(cluster.masters.firstIndex { $0.id == lost.id })
        try await world.expectConvergence(
          of: trips, by: caller, through: "a master of a cluster is killed"
        ) { _ in try await cluster.failOver(number) }
      }
    }
  }

  @Test func `keeps every card right when the primary of Sentinels is lost`() async throws {
    try await World.onSentinels(replicas: 2) { world, stage in
      try await world.withService(Self.waitingForReplicas) { caller in
        let trips = try await world.createTrips(2, by: caller)
        try await world.expectConvergence(
          of: trips, by: caller, through: "the primary that Sentinels watch is killed"
        ) { _ in try await stage.failOver() }
      }
    }
  }
}
