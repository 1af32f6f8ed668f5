import Clocks
import HTTP
import Testing
import Transport

@testable import APNs

@Suite(.timeLimit(.minutes(1))) struct `The client of APNs` {
  @Test func `sends a broadcast with all that Apple requires`() async throws {
    try await withBench(try await .start()) { bench in
      let keepUntil = UnixTime(seconds: 1_790_000_360.7)
      let result = try await bench.broadcast(7, keepUntil: keepUntil)
      guard case .accepted(let uniqueID, let requestID) = result else {
        Issue.record("\(result)")
        return
      }
      #expect(uniqueID == "u-1")
      let request = try #require(await bench.server.requests().first?.request)
      #expect(request.method == "POST")
      #expect(request.path == "/4/broadcasts/apps/com.example.trains")
      #expect(request.authority == "localhost")
      #expect(request.fields["apns-channel-id"] == ClientBench.channel)
      #expect(request.fields["apns-push-type"] == "liveactivity")
      #expect(request.fields["apns-priority"] == "5")
      #expect(request.fields["apns-expiration"] == "1790000360")
      #expect(request.fields["apns-request-id"] == requestID)
      #expect(request.fields["authorization"]?.hasPrefix("bearer ey") == true)
      #expect(request.fields["apns-topic"] == nil)
      #expect(String(decoding: request.body, as: UTF8.self) == #"{"n":7}"#)
    }
  }

  @Test func `does not send a broadcast that APNs would refuse for its form`() async throws {
    try await withBench(try await .start()) { bench in
      let channel = try #require(ChannelID(ClientBench.channel))
      func send(_ bytes: Int, requestID: String? = nil) async -> BroadcastResult {
        await bench.client.broadcast(
          Broadcast(
            to: channel, storage: .none, priority: .immediate,
            payload: [UInt8](repeating: 32, count: bytes), requestID: requestID))
      }
      for (result, word) in [
        (await send(5_121), "1 over APNs' limit of 5120"), (await send(0), "PayloadEmpty"),
        (await send(5, requestID: "7"), "UUID in lower case"),
      ] {
        #expect("\(try #require(result.notSent))".contains(word))
      }
      #expect(await send(5_120).isAccepted)
      #expect(await bench.server.requests().count == 1)
    }
  }

  @Test func `says zero for a channel that keeps nothing`() throws {
    let channel = try #require(ChannelID(ClientBench.channel))
    let until = UnixTime(wholeSeconds: 1_790_000_000)
    let kept = Broadcast(
      to: channel, storage: .mostRecent, priority: .idle, keepUntil: until, payload: [])
    let lost = Broadcast(
      to: channel, storage: .none, priority: .idle, keepUntil: until, payload: [])
    #expect(kept.expiration == "1790000000")
    #expect(lost.expiration == "0")
  }

  @Test func `has one stream until a token is accepted, then what is allowed`() async throws {
    let server = try await ScriptedAPNs.start(raisesLimitTo: 8)
    var configuration = APNsClientConfiguration()
    configuration.broadcasts.maxConnections = 1
    try await withBench(server, configuration: configuration) { bench in
      let results = try await withThrowingTaskGroup(of: BroadcastResult.self) { group in
        for number in 0..<40 { group.addTask { try await bench.broadcast(number) } }
        return try await group.reduce(into: []) { $0.append($1) }
      }
      #expect(results.areAllAccepted)
      #expect(await server.connectionCount() == 1)
      #expect(await server.mostOpenStreams() <= 8)
      #expect(await server.requests().count == 40)
      #expect(bench.credentials.signedCount == 1)
    }
  }

  @Test func `opens another connection when one has no room`() async throws {
    let server = try await ScriptedAPNs.start(raisesLimitTo: 2) { _, count in
      count == 1 ? .accept : .silence
    }
    var configuration = APNsClientConfiguration()
    configuration.broadcasts.maxConnections = 3
    try await withBench(server, configuration: configuration) { bench in
      _ = try await bench.broadcast()
      let tasks = (0..<4).map { number in
        Task { try await bench.broadcast(number, deadline: .seconds(20)) }
      }
      await server.received(1 + 4)
      #expect(await server.connectionCount() >= 2)
      for task in tasks { task.cancel() }
      for task in tasks { #expect(try await task.value.isAccepted == false) }
    }
  }

  // MARK: Tokens

  @Test func `replaces an expired token once, and repeats each request once`() async throws {
    let server = try await ScriptedAPNs.start(raisesLimitTo: nil) { [first = FirstSeen()] seen, _ in
      first.isFirst(seen.authorization)
        ? ScriptedAPNs.refusal(403, "ExpiredProviderToken") : .accept
    }
    try await withBench(server) { bench in
      let results = try await withThrowingTaskGroup(of: BroadcastResult.self) { group in
        for number in 0..<20 { group.addTask { try await bench.broadcast(number) } }
        return try await group.reduce(into: []) { $0.append($1) }
      }
      #expect(results.areAllAccepted)
      #expect(bench.credentials.signedCount == 2)
      #expect(Set(await server.requests().map(\.authorization)).count == 2)
      #expect(await server.requests().count <= 40)
    }
  }

  @Test func `gives up when a new token is called expired too`() async throws {
    let server = try await ScriptedAPNs.start { _, _ in
      ScriptedAPNs.refusal(
        403, "ExpiredProviderToken", ["date": "Sun, 06 Nov 1994 08:49:37 GMT"])
    }
    try await withBench(server) { bench in
      let first = try await bench.broadcast()
      #expect(first.refusal?.reason == .expiredProviderToken)
      #expect(await server.requests().count == 2)
      let second = try await bench.broadcast()
      let failure = try #require(second.notSent)
      #expect("\(failure)".contains("ahead of APNs'"))
      #expect(await server.requests().count == 2)
      #expect(bench.credentials.signedCount == 2)
    }
  }

  @Test func `stops when APNs refuses the key, and says so`() async throws {
    let server = try await ScriptedAPNs.start { _, _ in
      ScriptedAPNs.refusal(403, "InvalidProviderToken")
    }
    try await withBench(server) { bench in
      #expect(try await bench.broadcast().refusal?.reason == .invalidProviderToken)
      for _ in 0..<20 {
        guard case .credentialsRefused? = try await bench.broadcast().notSent else {
          Issue.record("was sent")
          return
        }
      }
      #expect(await server.requests().count == 1)
      #expect(await bench.client.health.problem?.contains("InvalidProviderToken") == true)
    }
  }

  @Test func `keeps its token when APNs counts too many, on another connection`() async throws {
    let server = try await ScriptedAPNs.start { seen, _ in
      seen.connection == 0
        ? ScriptedAPNs.refusal(429, "TooManyProviderTokenUpdates") : .accept
    }
    try await withBench(server) { bench in
      try await bench.expectAccepted()
      let requests = await server.requests()
      #expect(requests.map(\.connection) == [0, 1])
      #expect(Set(requests.map(\.authorization)).count == 1)
      #expect(bench.credentials.signedCount == 1)
    }
  }

  // MARK: Refusals

  @Test(arguments: [
    (400, "MissingChannelId"), (400, "MissingPushType"), (400, "InvalidPushType"),
    (400, "BadExpirationDate"), (400, "BadPriority"), (400, "ChannelNotRegistered"),
    (400, "PayloadEmpty"), (413, "PayloadTooLarge"), (429, "TooManyRequests"),
    (500, "InternalServerError"), (503, "Service Unavailable"), (400, "FeatureNotEnabled"),
  ])
  func `hands a refusal over without repeating it`(status: Int, word: String) async throws {
    let server = try await ScriptedAPNs.start { _, _ in
      ScriptedAPNs.refusal(status, word, ["retry-after": "2"])
    }
    try await withBench(server) { bench in
      let refusal = try await bench.broadcast().refusal
      #expect(refusal?.status == status)
      #expect(refusal?.reason == APNsReason(word))
      #expect(refusal?.retryAfter == .seconds(2))
      #expect(await server.requests().count == 1)
    }
  }

  @Test(arguments: [(503, "Shutdown"), (400, "IdleTimeout"), (403, "UnrelatedKeyIdInToken")])
  func `goes on over another connection when one is over`(status: Int, word: String) async throws {
    let server = try await ScriptedAPNs.start { seen, _ in
      seen.connection == 0 ? ScriptedAPNs.refusal(status, word) : .accept
    }
    try await withBench(server) { bench in
      try await bench.expectAccepted()
      #expect(await server.requests().map(\.connection) == [0, 1])
    }
  }

  // MARK: Channels

  @Test func `makes, reads, lists and deletes channels`() async throws {
    let id = ClientBench.channel
    let server = try await ScriptedAPNs.start { seen, _ in
      switch (seen.request.method, seen.request.path.hasSuffix("all-channels")) {
      case ("POST", _): .answer(201, "", ["apns-channel-id": id])
      case ("DELETE", _): .answer(204, "")
      case (_, true): .answer(200, #"{"channels":["\#(id)"]}"#)
      default: .answer(200, #"{"message-storage-policy":1,"push-type":"LiveActivity"}"#)
      }
    }
    try await withBench(server) { bench in
      let channel = try await bench.client.createChannel(storage: .mostRecent).get()
      #expect(channel.text == id)
      #expect(try await bench.client.readChannel(channel).get() == .mostRecent)
      #expect(try await bench.client.listChannels().get() == [channel])
      try await bench.client.deleteChannel(channel).get()
    }
  }

  @Test func `does not take a wrong status for a success`() async throws {
    let server = try await ScriptedAPNs.start { _, _ in
      .answer(200, "", ["apns-channel-id": ClientBench.channel])
    }
    try await withBench(server) { bench in
      guard case .malformed(let reply) = await bench.client.createChannel(storage: .none) else {
        Issue.record("accepted")
        return
      }
      #expect(reply.status == 200)
    }
  }
}
