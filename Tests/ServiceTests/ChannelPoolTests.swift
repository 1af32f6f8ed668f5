import APNsSimulator
import Clocks
import FieldTrips
import FieldcastServer
import Foundation
import JSON
import Redis
import Synchronization
import Testing
import Transport
import TripStore

@Suite struct `Channels made ahead` {
  private func app(_ world: World) throws -> AppID {
    try AppID(bundleID: world.bundleID, environment: .development)
  }

  private func waitForWarm(_ count: Int, _ store: TripStore, _ world: World) async throws {
    let app = try app(world)
    try await world.waitUntil("\(count) channels of each policy are warm") {
      let usage = try await store.channelUsage(of: app)
      return usage.warm == [.mostRecent: count, .noStorage: count] && usage.intended == 0
    }
  }

  @Test func `give a new trip its channel without a word to APNs, and are replaced`() async throws {
    try await World.with { world in
      let store = TripStore(redis: world.redis)
      try await world.withService {
        $0.channels.warm = 2
      } _: { caller in
        try await waitForWarm(2, store, world)
        let ahead = Set(try await store.channels(of: try app(world)).map(\.id.text))
        #expect(ahead.count == 4)
        // APNs refuses everything: only what is there already can be had.
        var silent = SimulatorFaults()
        silent.refusedShare = 1
        try await world.simulator.setFaults(silent)
        for type in ["field-trip", "conversation-turn", "field-trip"] {
          let body =
            type == "field-trip"
            ? #"{"name":"Walk","notebook":"Birds"}"# : #"{"name":"Talk","type":"\#(type)"}"#
          let trip = try await caller.createTrip(body)
          #expect(ahead.contains(trip.channelID))
        }
        try await world.simulator.setFaults(SimulatorFaults())
        // The next look, within a minute, fills what could not be filled meanwhile.
        try await waitForWarm(2, store, world)
        let usage = try await caller.call("GET", "/v1/channels")
        #expect(usage.body["apps"]?[0]?["used"]?.int64 == 7)
        #expect(usage.body["apps"]?[0]?["level"]?.string == "ample")
      }
      #expect(await world.simulator.run { apns, _ in apns.channelCount } == 7)
      // Without them, what waits is given back.
      try await world.withService { _ in
        try await waitForWarm(0, store, world)
        let isMet = await world.simulator.wait(upTo: .seconds(30)) { apns, _ in
          apns.channelCount == 3
        }
        #expect(isMet, "warm channels are left over")
      }
    }
  }

  @Test func `are replaced at once when a trip took one`() async throws {
    // At this pace the regular look comes a minute later: it cannot be what fills the pool.
    try await World.with(speed: 1) { world in
      let store = TripStore(redis: world.redis)
      try await world.withService {
        $0.channels.warm = 1
      } _: { caller in
        try await waitForWarm(1, store, world)
        _ = try await caller.createTrip()
        try await waitForWarm(1, store, world)
        #expect(await world.simulator.run { apns, _ in apns.channelCount } == 3)
      }
    }
  }

  @Test func `are no more for two nodes than for one`() async throws {
    try await World.with { world in
      let store = TripStore(redis: world.redis)
      func first(_ configuration: inout ServiceConfiguration) { configuration.channels.warm = 5 }
      func second(_ configuration: inout ServiceConfiguration) {
        configuration.channels.warm = 5
        configuration.node = "other"
      }
      try await world.withService(first) { caller in
        try await world.withService(second) { other in
          try await waitForWarm(5, store, world)
          for number in 0..<6 {
            _ = try await (number.isMultiple(of: 2) ? caller : other).createTrip()
          }
          try await waitForWarm(5, store, world)
        }
      }
      #expect(await world.simulator.run { apns, _ in apns.channelCount } == 16)
      #expect(await world.simulator.run { apns, _ in apns.statistics.answers[201] } == 16)
    }
  }
}

@Suite struct `The quota of channels` {
  @Test func `is watched, and when it is used up trips are reached by token and say so`()
    async throws
  {
    try await World.with { world in
      let lines = Mutex<[String]>([])
      let log = ServiceLog(minimum: .warning) { _, message, facts in
        lines.withLock { $0.append("\(message): \(facts)") }
      }
      func logged(_ text: String) async throws {
        try await world.waitUntil("the log says \(text)") {
          lines.withLock { $0.contains { $0.contains(text) } }
        }
      }
      func small(_ configuration: inout ServiceConfiguration) {
        configuration.activityTypes = [.fieldTrip]
        configuration.channels.quota = ChannelQuota(limit: 5)
        configuration.channels.warm = 4
      }
      try await world.withService(small, log: log) { caller, _ in
        // Ahead of need only while there are plenty: three of five, then it would be scarce.
        try await world.waitUntil("the pools are as full as they may be") {
          let usage = try await caller.call("GET", "/v1/channels")
          return usage.body["apps"]?[0]?["warm"]?.int64 == 3
        }
        var reaches: [String] = []
        for number in 0..<7 {
          let answer = try await caller.call(
            "POST", "/v1/trips", #"{"name":"Walk \#(number)","notebook":"Birds"}"#)
          #expect(answer.status == 201)
          reaches.append(answer.body["reach"]?.string ?? "")
          if reaches.last == "token" {
            #expect(answer.text.contains("quota of 5 channels"), "\(answer.text)")
          }
        }
        #expect(
          reaches == ["channel", "channel", "channel", "channel", "channel", "token", "token"])
        try await logged("channels are used up")
        let metrics = try await caller.call("GET", "/metrics").text
        let app = "\(world.bundleID) (development)"
        #expect(metrics.contains("fieldcast_channels{app=\"\(app)\",use=\"trip\"} 5"))
        #expect(metrics.contains("fieldcast_channels_limit{app=\"\(app)\"} 5"))
      }
      func fourFifths(_ configuration: inout ServiceConfiguration) {
        configuration.channels.quota = ChannelQuota(limit: 6)
      }
      try await world.withService(fourFifths, log: log) { _, _ in
        try await logged("channels run short")
      }
    }
  }
}

@Suite struct `Two services that share an app` {
  @Test func `see each other's channels, and leave them alone`() async throws {
    try await World.with { world in
      try await PrivateRedisServer.withTemporary(on: world.loop) { server in
        func own(_ configuration: inout ServiceConfiguration) {
          configuration.channels.warm = 2
          configuration.channels.reconcileEvery = .seconds(30)
        }
        func other(_ configuration: inout ServiceConfiguration) {
          own(&configuration)
          configuration.store = .url("unix://\(server.options.socketPath)", trustFile: nil)
        }
        let app = try AppID(bundleID: world.bundleID, environment: .development)
        let store = TripStore(redis: world.redis)
        try await world.withService(own) { caller in
          // A creation whose answer never came, while the other service makes channels.
          let lost = ChannelIntent(
            requestID: "lost", storage: .mostRecent, trip: nil,
            askedAt: world.clock.wall - .seconds(120))
          _ = try await store.intend(lost, of: app)
          try await world.withService(other) { others in
            let (mine, theirs) = (try await caller.createTrip(), try await others.createTrip())
            try await world.waitUntil("each knows of the other's channels") {
              for service in [caller, others] {
                let usage = try await service.call("GET", "/v1/channels")
                guard usage.body["apps"]?[0]?["used"]?.int64 == 10,
                  usage.body["apps"]?[0]?["foreign"]?.int64 == 5
                else { return false }
              }
              return true
            }
            let seen = try await caller.call("POST", "/v1/channels/reconcile").body["apps"]?[0]
            let orphans = seen?["orphans"]?.array?.compactMap(\.string) ?? []
            #expect(orphans.count == 5 && orphans.contains(theirs.channelID))
            #expect(!orphans.contains(mine.channelID))
            for (service, trip) in [(caller, mine), (others, theirs)] {
              _ = try await service.call("POST", "/v1/trips/\(trip.id)/notes", #"{"id":"a"}"#)
              try await world.waitForBroadcast(on: trip.channelID, notes: 1)
              _ = try await service.call(
                "POST", "/v1/trips/\(trip.id)/end", #"{"id":"end","dismissal":"atOnce"}"#)
            }
            // Each deletes its own, and its own only: the pools stay.
            let isMet = await world.simulator.wait(upTo: .seconds(30)) { apns, _ in
              apns.channelCount == 8
            }
            #expect(isMet)
          }
        }
        #expect(await world.simulator.run { apns, _ in apns.channelCount } == 8)
      }
    }
  }
}

@Suite struct `The commands about channels` {
  /// Runs the built program as a person does.
  private func fieldcast(
    _ words: [String], _ world: World, status: Int32 = 0
  ) async throws -> String {
    let answer = try await world.run(words)
    #expect(answer.status == status, "\(answer.output)")
    return answer.output
  }

  @Test func `count channels, name orphans, and delete those that are named`() async throws {
    try await World.with { world in
      var strangers: [String] = []
      // Another service's, which has gone for good.
      try await PrivateRedisServer.withTemporary(on: world.loop) { server in
        try await world.withService {
          $0.store = .url("unix://\(server.options.socketPath)", trustFile: nil)
        } _: { caller in
          for _ in 0..<2 { strangers.append(try await caller.createTrip().channelID) }
        }
      }
      try await world.withService { caller, service in
        let trip = try await caller.createTrip()
        let address = ["--service", "127.0.0.1:\(service.port)"]
        let seen = try await fieldcast(["channels", "reconcile"] + address, world)
        for stranger in strangers { #expect(seen.contains("    " + stranger), "\(seen)") }
        let listed = try await fieldcast(["channels", "list"] + address, world)
        #expect(listed.contains("\(world.bundleID) development  3 of 10000 channels, ample"))
        #expect(listed.contains("not known here    2"), "\(listed)")
        #expect(listed.contains("under 1 h old     1"), "\(listed)")
        let asked = try await fieldcast(
          [
            "channels", "reconcile", "--json", "--delete-orphans",
            "\(strangers[0]),\(trip.channelID)",
          ]
            + address, world)
        let answer = try JSONValue.parse(asked)["apps"]?[0]
        #expect(answer?["deleted"]?.array?.compactMap(\.string) == [strangers[0]])
        #expect(answer?["orphans"]?.array?.compactMap(\.string) == [strangers[1]])
        #expect(await world.ledger(of: trip.channelID) != nil)
        let json = try JSONValue.parse(
          try await fieldcast(["channels", "list", "--json"] + address, world))
        #expect(json["apps"]?[0]?["used"]?.int64 == 2)
        _ = try await fieldcast(
          ["channels", "reconcile", "--delete-orphans", "no channel"] + address, world, status: 65)
      }
    }
  }
}
