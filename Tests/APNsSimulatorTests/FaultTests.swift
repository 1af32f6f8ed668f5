import APNsSimulator
import Clocks
import HTTP
import Testing
import Transport

@Suite struct `The simulator's faults` {
  /// Sends broadcasts at once and counts what became of them.
  private func outcomes(
    _ count: Int, _ world: LiveWorld
  ) async throws -> (byName: [String: Int], accepted: Int) {
    let faults = await world.simulator.faults
    try await world.simulator.setFaults(SimulatorFaults())
    let management = try await world.connect(.management)
    let channelID = try await world.createChannel(management)
    let client = try await world.connect(.push)
    // The first request brings the streams.
    let first = await client.send(
      world.broadcast(channelID, timestamp: 1, notes: 0), deadline: LiveWorld.patience)
    #expect(first.response?.status == 200)
    try await world.simulator.setFaults(faults)
    var counts: [String: Int] = [:]
    await withTaskGroup(of: String.self) { group in
      for number in 1...count {
        let request = world.broadcast(channelID, timestamp: 1 + Int64(number), notes: number)
        group.addTask {
          switch await client.send(request, deadline: .seconds(2)) {
          case .answered(let response): "\(response.status)"
          case .notSent: "not sent"
          case .unknown(let failure): failure.kind == .deadline ? "silence" : "unknown"
          }
        }
      }
      for await name in group { counts[name, default: 0] += 1 }
    }
    let bundleID = world.bundleID
    let accepted = await world.simulator.run { apns, _ in
      apns.channel(bundleID, channelID)?.ledger.accepted ?? 0
    }
    return (counts, accepted - 1)
  }

  private func faulty(
    _ change: @Sendable (inout SimulatorFaults) -> Void
  ) -> SimulatorConfiguration {
    configured {
      change(&$0.faults)
      $0.channels.storingBudget = nil
    }
  }

  @Test func `refuse streams without touching them`() async throws {
    try await LiveWorld.with(faulty { $0.refusedShare = 0.5 }) { world in
      let (names, accepted) = try await outcomes(100, world)
      #expect(names["not sent", default: 0] > 20)
      #expect(names["200"] == accepted)
      #expect(names["200", default: 0] + names["not sent", default: 0] == 100)
    }
  }

  @Test func `leave streams that were processed without an answer`() async throws {
    try await LiveWorld.with(
      faulty {
        $0.silentShare = 0.2
        $0.halvedShare = 0.1
        $0.resetShare = 0.2
      }
    ) { world in
      let (names, accepted) = try await outcomes(100, world)
      #expect(accepted == 100)
      #expect(names["silence", default: 0] > 5)
      #expect(names["unknown", default: 0] > 5)
      #expect(names["200", default: 0] > 30)
    }
  }

  @Test func `answer 429, 500 and 503`() async throws {
    try await LiveWorld.with(
      faulty {
        $0.throttled.share = 0.3
        $0.unavailable.share = 0.2
        $0.internalError.share = 0.2
      }
    ) { world in
      let (names, accepted) = try await outcomes(100, world)
      #expect(names["429", default: 0] > 10)
      #expect(names["503", default: 0] > 5)
      #expect(names["500", default: 0] > 5)
      #expect(names["200"] == accepted)
    }
  }

  @Test func `go away below streams that are then truly not processed`() async throws {
    try await LiveWorld.with(
      faulty {
        $0.goAwayShare = 0.05
        $0.goAwayStreamsBack = 40
        $0.latencyLow = .milliseconds(1)
        $0.latencyHigh = .milliseconds(30)
      }
    ) { world in
      let (names, accepted) = try await outcomes(200, world)
      #expect(names["not sent", default: 0] > 0)
      #expect(names["200"] == accepted)
      #expect(names["200", default: 0] + names["not sent", default: 0] == 200)
    }
  }

  @Test func `deny for good what they denied`() async throws {
    try await LiveWorld.with(
      faulty {
        $0.gentleGoAwayShare = 0.2
        $0.goAwayShare = 0.1
        $0.goAwayStreamsBack = 40
        $0.latencyHigh = .milliseconds(60)
      }
    ) { world in
      let (names, accepted) = try await outcomes(200, world)
      #expect(names["not sent", default: 0] > 0)
      #expect(names["200"] == accepted)
    }
  }

  @Test func `reset the connection under everything`() async throws {
    try await LiveWorld.with(faulty { $0.droppedShare = 1 }) { world in
      let (names, accepted) = try await outcomes(20, world)
      #expect(accepted == 0)
      #expect(names["200"] == nil)
    }
  }

  @Test func `go away gracefully without losing a request`() async throws {
    let configuration = faulty {
      $0.gentleGoAwayEvery = 50
      $0.latencyHigh = .milliseconds(10)
    }
    try await LiveWorld.with(configuration) { world in
      let (names, accepted) = try await outcomes(200, world)
      #expect(names["200", default: 0] >= 49)
      #expect(names["200"] == accepted)
      #expect(names["200", default: 0] + names["not sent", default: 0] == 200)
    }
  }

  @Test func `close a connection after so many requests`() async throws {
    try await LiveWorld.with(faulty { $0.dropEvery = 30 }) { world in
      let (names, accepted) = try await outcomes(100, world)
      // The first of the thirty raised the streams; the thirtieth is not processed.
      #expect(accepted == 28)
      #expect(names["200", default: 0] <= 28)
    }
  }

  @Test func `come in bursts`() async throws {
    try await LiveWorld.with(
      faulty {
        $0.unavailable = .init(share: 0.4, length: 20)
      }
    ) { world in
      let (names, accepted) = try await outcomes(400, world)
      #expect(names["503", default: 0] >= 40)
      #expect(names["200"] == accepted)
    }
  }

  @Test func `garble bodies of accepted requests`() async throws {
    try await LiveWorld.with(faulty { $0.garbledShare = 1 }) { world in
      let client = try await world.connect(.management)
      let answer = await client.send(world.list, deadline: LiveWorld.patience).response
      #expect(answer?.status == 200)
      #expect(answer?.text == #"{"chann"#)
    }
  }

  @Test func `spoil one connection and leave the other`() async throws {
    try await LiveWorld.with { world in
      let spoilt = try await world.connect(.management)
      let sound = try await world.connect(.management)
      var faults = SimulatorFaults()
      faults.throttled.share = 1
      let first = try #require(await world.simulator.connectionRecords.first)
      try await world.simulator.setFaults(faults, connection: first.number)
      #expect(await spoilt.send(world.list, deadline: LiveWorld.patience).response?.status == 429)
      #expect(await sound.send(world.list, deadline: LiveWorld.patience).response?.status == 200)
    }
  }

  @Test func `stop reading, and allow no streams`() async throws {
    try await LiveWorld.with { world in
      let client = try await world.connect(.management)
      await world.simulator.setReading(false)
      let silence = await client.send(world.list, deadline: .milliseconds(100))
      #expect(silence.failure?.kind == .deadline)
      await world.simulator.setReading(true)
      #expect(await client.send(world.list, deadline: LiveWorld.patience).response?.status == 200)
      await world.simulator.announce(maxConcurrentStreams: 0)
      let refused = await client.send(world.list, deadline: .milliseconds(200))
      #expect(refused.response == nil)
    }
  }

  @Test func `stop a connection, which then goes on`() async throws {
    let configuration = faulty {
      $0.stalledShare = 0.05
      $0.stallLength = .milliseconds(300)
    }
    try await LiveWorld.with(configuration) { world in
      let (names, accepted) = try await outcomes(100, world)
      #expect(names["200"] == 100)
      #expect(accepted == 100)
      #expect(await world.simulator.faultCounts["stall", default: 0] > 0)
    }
  }

  @Test func `never open the windows of some connections`() async throws {
    try await LiveWorld.with(faulty { $0.shutWindowsShare = 1 }) { world in
      let client = try await world.connect(.push)
      let channelID = try await world.createChannel(try await world.connect(.management))
      // The first window of a connection has 64 KB.
      var statuses: [Int?] = []
      for number in 1...20 {
        var request = world.broadcast(channelID, timestamp: Int64(number), notes: number)
        request.body += Array(repeating: UInt8(ascii: " "), count: 4_000)
        let outcome = await client.send(request, deadline: .seconds(number < 15 ? 20 : 0.1))
        statuses.append(outcome.response?.status)
      }
      #expect(statuses.prefix(14).allSatisfy { $0 == 200 })
      #expect(statuses.last == .some(nil))
    }
  }

  @Test func `end the life of provider tokens early`() async throws {
    try await LiveWorld.with(faulty { $0.tokenExpiry = .zero }) { world in
      let client = try await world.connect(.management)
      let answer = await client.send(world.list, deadline: LiveWorld.patience).response
      #expect(answer?.text == #"{"reason":"ExpiredProviderToken"}"#)
      try await world.simulator.setFaults(try FaultText.parse("token-expiry=1h"))
      #expect(await client.send(world.list, deadline: LiveWorld.patience).response?.status == 200)
    }
  }
}
