import APNsSimulator
import Clocks
import FieldTrips
import Foundation
import HTTP
import JSON
import Randomness
import Redis
import Testing
import Transport

/// Kills the service at random moments of a replay and starts it again.
///
/// `FIELDCAST_CRASH_SEED` repeats one run; `FIELDCAST_CRASH_KILLS` sets how often it is killed.
@Suite struct `A service that is killed again and again` {
  private static var seed: UInt64 {
    ProcessInfo.processInfo.environment["FIELDCAST_CRASH_SEED"].flatMap { UInt64($0) } ?? 20_260_501
  }

  private static var kills: Int {
    ProcessInfo.processInfo.environment["FIELDCAST_CRASH_KILLS"].flatMap { Int($0) } ?? 12
  }

  @Test(.timeLimit(.minutes(10)))
  func `loses no note, counts none twice, and never turns a timestamp back`() async throws {
    let seed = Self.seed
    print("crash test: seed \(seed), \(Self.kills) kills")
    try await World.with(speed: 60) { world in
      var random = SplitMix64(seed: seed)
      let program = KilledService(world: world)
      try await program.start()
      let trip = try await program.caller.createTrip()
      try await world.addPhones(10, to: trip.channelID, showing: trip.contentState)
      var sent = 0
      for _ in 0..<Self.kills {
        // Some notes come before the kill, some around it, some while nobody is there.
        sent = try await feed(
          Int.random(in: 1...8, using: &random), after: sent, trip, world, &random)
        let moment = Duration.milliseconds(Int.random(in: 0...400, using: &random))
        try await world.loop.sleep(for: moment)
        try await program.kill()
        sent = try await feed(
          Int.random(in: 0...3, using: &random), after: sent, trip, world, &random)
        try await program.start()
      }
      let notes = Int64(sent)
      try await world.waitForPhones(on: trip.channelID) { $0["notesCaptured"]?.int64 == notes }
      let read = try await program.caller.call("GET", "/v1/trips/\(trip.id)")
      #expect(read.body["contentState"]?["notesCaptured"]?.int64 == notes)

      _ = try await program.caller.call("POST", "/v1/trips/\(trip.id)/end")
      await world.waitUntilNoChannelIsLeft()
      let ledger = try #require(await world.ledger(of: trip.channelID))
      expectOrder(in: ledger)
      #expect(ledger.acceptedAfterEnd == 0)
      #expect(ledger.complaints == 0)
      try await program.stop()
    }
  }

  /// Adds notes to the stream, each of them once or twice.
  private func feed(
    _ count: Int, after sent: Int, _ trip: TestCaller.Trip, _ world: World,
    _ random: inout SplitMix64
  ) async throws -> Int {
    for number in sent..<(sent + count) {
      let note = #"{"id":"note-\#(number)","trip":"\#(trip.id)","place":"Place \#(number)"}"#
      for _ in 0..<Int.random(in: 1...2, using: &random) {
        _ = try await world.redis.call(
          RedisCommand("XADD", "fieldcast:notes:in", "*", "json", note))
      }
    }
    return sent + count
  }
}

/// The built program as a process of its own, which dies and comes back.
final class KilledService {
  private let world: World
  private let node: String
  private let options: [String]
  private var process: Subprocess?
  private(set) var caller: TestCaller
  private let port: Int

  init(world: World, node: String = "service", options: [String] = []) {
    self.world = world
    self.node = node
    self.options = options
    // The same port each time, as a real service would have; free since nobody else knows it.
    port = Int.random(in: 20_000..<30_000)
    caller = TestCaller(port: port, redis: world.redis, loop: world.loop)
  }

  func start() async throws {
    process = try await world.serve(
      [
        "--listen", "127.0.0.1:\(port)",
        "--redis", world.storeURL, "--node", node,
        "--channel-grace", "60", "--warm-channels", "0", "--clock", world.clockSetting,
        "--log-level", "warning",
      ] + options, log: "\(node).log")
    caller = TestCaller(port: port, redis: world.redis, loop: world.loop)
    for _ in 0..<1_500 {
      if let answer = try? await caller.call("GET", "/readyz"), answer.status == 200 { return }
      try await world.loop.sleep(for: .milliseconds(20))
    }
    let log = try? String(
      contentsOf: world.folder.appendingPathComponent("\(node).log"), encoding: .utf8)
    Issue.record("the service does not get ready: \(log ?? "")")
  }

  /// To stop it where it is, and to let it go on.
  func signal(_ number: Int32) { process?.signal(number) }

  func kill() async throws {
    process?.signal(9)
    let status = await process?.waitForExit()
    #expect(status == Int32(128 + 9))
    await caller.close()
  }

  func stop() async throws {
    process?.terminate()
    let status = await process?.waitForExit()
    #expect(status == Int32(0), "a service that is asked to stop ends well")
    await caller.close()
  }
}
