import APNsSimulator
import Clocks
import FieldcastServer
import HTTP
import JSON
import Testing

/// APNs puts off what is sent to a card after its first two pushes, for five minutes.
@Suite struct `A card whose end APNs puts off` {
  private static func with(
    _ body: (World) async throws -> Void
  ) async throws {
    let slow: (inout SimulatorConfiguration) -> Void = {
      $0.devices.tokenBudget = BucketRate(capacity: 2, interval: .seconds(300))
    }
    try await World.with(configure: slow, body)
  }

  /// A phone whose card has had its two pushes.
  private static func make(
    _ world: World, _ caller: TestCaller
  ) async throws -> (trip: TestCaller.Trip, phone: TestPhone) {
    let trip = try await caller.createTrip()
    let phone = try await TestPhone.make(SystemVersion(17, 4), of: "anna", in: world)
    try await phone.join(trip.id, caller)
    _ = try await phone.startCard(of: trip, caller)
    let isSent = await world.simulator.wait(upTo: .seconds(30)) { apns, _ in
      apns.statistics.requests[.devicePush] == 1
    }
    #expect(isSent)
    try await caller.note("n1", on: trip.id)
    try await phone.waitUntilItShows(1)
    return (trip, phone)
  }

  private static func waitUntilPutOff(_ world: World) async {
    let isPutOff = await world.simulator.wait(upTo: .seconds(30)) { apns, _ in
      apns.statistics.answers[429] ?? 0 > 0
    }
    #expect(isPutOff)
  }

  @Test func `gets it later, from whoever owns the trip then`() async throws {
    try await Self.with { world in
      var phone: TestPhone?
      try await world.withService { caller in
        let made = try await Self.make(world, caller)
        phone = made.phone
        _ = try await caller.call("POST", "/v1/trips/\(made.trip.id)/end")
        await Self.waitUntilPutOff(world)
        try await world.waitUntil("the trip has ended") {
          try await caller.call("GET", "/v1/trips/\(made.trip.id)").body["phase"]?.string == "ended"
        }
      }
      try await world.withService { _ in try await phone?.waitForEnd() }
      let requests = await world.simulator.run { apns, _ in
        apns.statistics.requests[.devicePush] ?? 0
      }
      #expect(requests < 20, "with pauses that grow: \(requests) pushes")
    }
  }

  @Test func `gets it later when its member has left`() async throws {
    try await Self.with { world in
      try await world.withService { caller in
        let made = try await Self.make(world, caller)
        let left = try await caller.call("DELETE", "/v1/trips/\(made.trip.id)/members/anna")
        #expect(left.status == 204)
        await Self.waitUntilPutOff(world)
        try await made.phone.waitForEnd()
      }
    }
  }
}
