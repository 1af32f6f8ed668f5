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

  @Test func `speaks nothing but HTTP/2`() async throws {
    try await LiveWorld.with { world in
      let access = world.simulator.access
      let tls = try TLSClientContext(trust: .pem(access.trustPEM), alpn: ["http/1.1"])
      await #expect(throws: (any Error).self) {
        _ = try await HTTP2Client.connect(
          to: .tcp(host: "127.0.0.1", port: access.pushPort), tls: tls, on: world.loop)
      }
    }
  }

  @Test func `takes HTTP/2 also from those who say nothing in ALPN`() async throws {
    try await LiveWorld.with { world in
      let access = world.simulator.access
      let tls = try TLSClientContext(trust: .pem(access.trustPEM), alpn: [])
      let stream = try await StreamConnector.connect(
        to: .tcp(host: "127.0.0.1", port: access.managementPort), tls: tls, on: world.loop)
      let greeting = await FirstFrame.answer(on: stream)
      // The length of the frame in three bytes, then its type: SETTINGS.
      #expect(greeting.count > 3)
      #expect(greeting.dropFirst(3).first == 4)
    }
  }

  /// Greets a server as HTTP/2 prescribes, and takes what comes first.
  ///
  /// `@unchecked Sendable` is right because its state is touched on its loop only.
  private final class FirstFrame: StreamHandler, @unchecked Sendable {
    private var waiter: UnsafeContinuation<[UInt8], Never>?

    static func answer(on stream: ByteStream) async -> [UInt8] {
      await withUnsafeContinuation { continuation in
        stream.loop.execute {
          let handler = FirstFrame()
          handler.waiter = continuation
          stream.start(handler)
          stream.write(
            Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8) + [0, 0, 0, 4, 0, 0, 0, 0, 0])
        }
      }
    }

    private func end(_ bytes: [UInt8]) {
      waiter?.resume(returning: bytes)
      waiter = nil
    }

    func streamReceived(_ bytes: RawSpan) { end(bytes.withUnsafeBytes { Array($0) }) }
    func streamWillFlush() {}
    func streamDrained() {}
    func streamClosed(_ closure: StreamClosure) { end([]) }
  }

  @Test func `answers curl, on both ports, as Apple would`() async throws {
    try await LiveWorld.with { world in
      let access = world.simulator.access
      let folder = try Scratch.folder()
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
