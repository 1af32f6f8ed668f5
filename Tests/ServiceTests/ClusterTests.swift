import Clocks
import FieldcastServer
import JSON
import Redis
import RedisStage
import Testing
import Transport

@Suite(.timeLimit(.minutes(5))) struct `A service on a Redis cluster` {
  @Test func `goes on with the trips of all masters that are left`() async throws {
    try await World.onCluster { world, cluster in
      try await world.withService({ $0.leaseLife = .seconds(2) }) { caller in
        // Nodes and channels are kept in places of their own, which stay.
        var busy: Set<String> = []
        for key in ["fc:nodes", "fc:{\(world.bundleID):development}:channels"] {
          busy.insert(try await cluster.master(of: ClusterSlot.of(key)).id)
        }
        let number = try #require(cluster.masters.firstIndex { !busy.contains($0.id) })
        let lost = cluster.masters[number]
        var here: [TestCaller.Trip] = []
        var gone: [TestCaller.Trip] = []
        while here.isEmpty || gone.isEmpty {
          let trip = try await world.createTrips(1, by: caller)[0]
          if try await cluster.master(of: try world.slot(of: trip)).id == lost.id {
            gone.append(trip)
          } else {
            here.append(trip)
          }
        }
        lost.server.process.signal(9)
        _ = await lost.server.process.waitForExit()
        // For longer than leases live without being renewed.
        try await world.expectConvergence(of: [here[0]], by: caller) { _ in
          try await world.loop.sleep(for: .seconds(3))
        }
        let answer = try await caller.call(
          "POST", "/v1/trips/\(gone[0].id)/notes", #"{"id":"x"}"#)
        #expect(answer.status == 503)
      }
    }
  }
}
