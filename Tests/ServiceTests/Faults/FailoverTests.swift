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

  @Test func `keeps every card right when a cluster loses a master, and others' go on`()
    async throws
  {
    try await World.onCluster(replicas: 2) { world, cluster in
      try await world.withService(Self.waitingForReplicas) { caller in
        // One that does not have the stream, by which the others' notes come too.
        let stream = try await cluster.master(of: ClusterSlot.of("fieldcast:notes:in"))
        let number = try #require(cluster.masters.firstIndex { $0.id != stream.id })
        var (here, gone): ([TestCaller.Trip], [TestCaller.Trip]) = ([], [])
        while here.isEmpty || gone.isEmpty {
          let trip = try await world.createTrips(1, by: caller)[0]
          let master = try await cluster.master(of: try world.slot(of: trip))
          if master.id == cluster.masters[number].id {
            gone.append(trip)
          } else {
            here.append(trip)
          }
        }
        try await world.expectConvergence(
          of: here + gone, by: caller, through: "a master of a cluster is killed"
        ) { flow in
          let before = flow.acknowledged
          try await cluster.failOver(number)
          let meanwhile = flow.acknowledged
          for trip in here {
            #expect(meanwhile[trip.id, default: 0] > before[trip.id, default: 0] + 1)
          }
        }
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
