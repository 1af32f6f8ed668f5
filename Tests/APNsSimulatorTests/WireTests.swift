import APNsSimulator
import Clocks
import HTTP
import Testing
import Transport

@Suite struct `The simulator on the wire` {
  @Test func `carries a note from create to every phone`() async throws {
    try await LiveWorld.with { world in
      let management = try await world.connect(.management)
      let push = try await world.connect(.push)
      let channelID = try await world.createChannel(management)
      let bundleID = world.bundleID
      _ = try await world.simulator.run { apns, now throws(PhoneError) in
        try apns.addCrowd(
          100, bundleID: bundleID, channelID: channelID,
          contentState: Array(#"{"notesCaptured":0}"#.utf8), now: now)
      }
      let request = world.broadcast(
        channelID, timestamp: await world.simulator.now.wholeSeconds, notes: 1)
      let answer = try #require(await push.send(request, deadline: LiveWorld.patience).response)
      #expect(answer.status == 200)
      #expect(answer.body.isEmpty)
      let hasConverged = await world.simulator.wait(upTo: LiveWorld.patience) { apns, now in
        let summary = try? apns.convergence(bundleID, channelID, now: now)
        return summary?.newestTimestampSeconds != nil && summary?.hasConverged == true
      }
      #expect(hasConverged)
    }
  }

  @Test func `allows one stream, and a thousand once a token is accepted`() async throws {
    try await LiveWorld.with { world in
      let client = try await world.connect(.management)
      #expect(await client.streamLimit == 1)
      var refused = world.list
      refused.fields = [:]
      let outcome = await client.send(refused, deadline: LiveWorld.patience)
      #expect(outcome.response?.text == #"{"reason":"MissingProviderToken"}"#)
      #expect(await client.streamLimit == 1)
      #expect(await client.send(world.list, deadline: LiveWorld.patience).response?.status == 200)
      #expect(await client.send(world.list, deadline: LiveWorld.patience).response?.status == 200)
      #expect(await client.streamLimit == 1000)
      let record = try #require(await world.simulator.connectionRecords.first)
      #expect(record.settings.map(\.maxConcurrentStreams) == [1, 1000])
      #expect(record.requests == 3)
    }
  }

  @Test func `says why it goes away`() async throws {
    for reason in [Reason.shutdown, .badCertificateEnvironment] {
      try await LiveWorld.with { world in
        let client = try await world.connect(.push)
        await world.simulator.goAway(reason)
        #expect(await isDraining(client))
        let goAway = try #require(await client.goAway)
        #expect(goAway.reasonText == #"{"reason":"\#(reason.rawValue)"}"#)
        #expect(goAway.errorCode == 0)
      }
    }
  }

  @Test func `sends idle connections away`() async throws {
    try await LiveWorld.with(configured { $0.connections.idleTimeout = .seconds(1) }) {
      world in
      let client = try await world.connect(.push)
      #expect(await isDraining(client))
      #expect(await client.goAway?.reasonText == #"{"reason":"IdleTimeout"}"#)
    }
  }

  @Test func `sends a connection with too many refusals away`() async throws {
    try await LiveWorld.with(configured { $0.connections.disconnectAfterRefusals = 3 }) { world in
      let client = try await world.connect(.management)
      var request = world.request("GET", "/1/apps/\(world.bundleID)/channels")
      request.fields.append("apns-channel-id", "AAAA")
      for _ in 1...3 {
        let outcome = await client.send(request, deadline: LiveWorld.patience)
        #expect(outcome.response?.status == 400)
      }
      #expect(await isDraining(client))
      #expect(await client.goAway?.reasonText == #"{"reason":"ChannelNotRegistered"}"#)
    }
  }

  @Test func `speaks nothing but h2`() async throws {
    try await LiveWorld.with { world in
      let access = world.simulator.access
      for alpn in [["http/1.1"], []] {
        let tls = try TLSClientContext(trust: .pem(access.trustPEM), alpn: alpn)
        await #expect(throws: (any Error).self) {
          _ = try await HTTP2Client.connect(
            to: .tcp(host: "127.0.0.1", port: access.pushPort), tls: tls, on: world.loop)
        }
      }
    }
  }

  @Test func `answers curl, on both ports, as Apple would`() async throws {
    try await LiveWorld.with { world in
      let access = world.simulator.access
      let folder = Scratch.folder()
      let trust = "\(folder)/ca.pem"
      try Scratch.write(access.trustPEM, to: trust)
      let common = [
        "--http2", "--silent", "--cacert", trust, "--include", "--header",
        "authorization: \(world.bearer)",
      ]
      let created = try await curl(
        common + [
          "--data", #"{"message-storage-policy":0,"push-type":"LiveActivity"}"#,
          "https://localhost:\(access.managementPort)/1/apps/\(world.bundleID)/channels",
        ], folder, world.loop)
      #expect(created.hasPrefix("HTTP/2 201"))
      let line = try #require(
        created.split(whereSeparator: \.isNewline).first { $0.hasPrefix("apns-channel-id: ") })
      let channelID = String(line.dropFirst("apns-channel-id: ".count))
      let sent = try await curl(
        common + [
          "--header", "apns-channel-id: \(channelID)", "--header", "apns-push-type: liveactivity",
          "--header", "apns-priority: 5", "--header", "apns-expiration: 0", "--data",
          #"{"aps":{"timestamp":1,"event":"update","content-state":{"notesCaptured":1}}}"#,
          "https://localhost:\(access.pushPort)/4/broadcasts/apps/\(world.bundleID)",
        ], folder, world.loop)
      #expect(sent.hasPrefix("HTTP/2 200"))
      #expect(sent.contains("apns-unique-id: "))
      let refused = try await curl(
        common + ["https://localhost:\(access.pushPort)/3/device/abcd"], folder, world.loop)
      #expect(refused.hasPrefix("HTTP/2 405"))
      #expect(refused.hasSuffix(#"{"reason":"MethodNotAllowed"}"#))
    }
  }

  private func curl(
    _ arguments: [String], _ folder: String, _ loop: EventLoop
  ) async throws -> String {
    // Output is appended, so each call has a file of its own.
    let output = "\(folder)/output-\(Scratch.next())"
    let process = try await Subprocess.start(
      "/usr/bin/curl", arguments: arguments, outputPath: output, on: loop)
    #expect(await process.waitForExit() == 0)
    return try Scratch.read(output)
  }

  private func isDraining(_ client: HTTP2Client) async -> Bool {
    // A request tells: it waits for whatever the connection has still to say.
    for _ in 1...2000 where await !client.isDraining {
      try? await client.loop.sleep(for: .milliseconds(5))
    }
    return await client.isDraining
  }
}

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

  @Test func `stall and reset streams that were processed`() async throws {
    try await LiveWorld.with(
      faulty {
        $0.stalledShare = 0.2
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

  @Test func `answer bursts of 429, 500 and 503`() async throws {
    try await LiveWorld.with(
      faulty {
        $0.throttledShare = 0.3
        $0.unavailableShare = 0.2
        $0.internalErrorShare = 0.2
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

  @Test func `reset the connection under everything`() async throws {
    try await LiveWorld.with(faulty { $0.connectionResetShare = 1 }) { world in
      let (names, accepted) = try await outcomes(20, world)
      #expect(accepted == 0)
      #expect(names["200"] == nil)
    }
  }

  @Test func `go away gracefully without losing a request`() async throws {
    let configuration = faulty {
      $0.goAwayEvery = 50
      $0.isGoAwayGraceful = true
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
    try await LiveWorld.with(faulty { $0.closeEvery = 30 }) { world in
      let (names, accepted) = try await outcomes(100, world)
      // The first of the thirty raised the streams; the thirtieth is not processed.
      #expect(accepted == 28)
      #expect(names["200", default: 0] <= 28)
    }
  }

  @Test func `come in bursts`() async throws {
    try await LiveWorld.with(
      faulty {
        $0.unavailableShare = 0.02
        $0.burstLength = 20
      }
    ) { world in
      let (names, accepted) = try await outcomes(400, world)
      #expect(names["503", default: 0] >= 20)
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
      faults.throttledShare = 1
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

  @Test func `repeat themselves with their seed`() {
    var faults = SimulatorFaults()
    faults.stalledShare = 0.3
    faults.latencyHigh = .seconds(1)
    func draws(_ seed: UInt64) -> [String] {
      var random = SeededRandom(seed: seed)
      return (0..<50).map { _ in "\(faults.fate(&random)) \(faults.latency(&random))" }
    }
    #expect(draws(1) == draws(1))
    #expect(draws(1) != draws(2))
  }

  @Test func `are refused out of their range, by name`() {
    var faults = SimulatorFaults()
    faults.resetShare = 1.5
    let error = #expect(throws: InvalidSetting.self) { try faults.validate() }
    #expect(error?.description == "faults.resetShare=1.5: expected 0.0...1.0")
  }
}
