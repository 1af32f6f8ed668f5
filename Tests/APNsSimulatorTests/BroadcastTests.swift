import APNsSimulator
import Clocks
import Testing

@Suite struct `A broadcast` {
  @Test func `is accepted with 200, no body, and two IDs`() throws {
    var world = try World()
    let channelID = try world.createChannel()
    let requestID = "9a020a52-6f0c-4cf3-9f2e-0123456789ab"
    let request = try world.broadcast(channelID, world.update(1_790_000_000, notes: 1))
    let answer = world.send(request.with("apns-request-id", requestID))
    #expect(answer.status == 200)
    #expect(answer.body.isEmpty)
    #expect(answer.value("apns-request-id") == requestID)
    #expect(answer.value("apns-unique-id")?.utf8.count == 36)
    #expect(world.apns.complaints.count == 0)
  }

  @Test func `accepts apns-id as one of Apple's samples has it`() throws {
    var world = try World()
    let channelID = try world.createChannel()
    let requestID = "9a020a52-6f0c-4cf3-9f2e-0123456789ab"
    let request = try world.broadcast(channelID, world.update(1_790_000_000, notes: 1))
    #expect(world.send(request.with("apns-id", requestID)).value("apns-request-id") == requestID)
  }

  @Test(
    arguments: [
      ("apns-channel-id", nil, "MissingChannelId"), ("apns-channel-id", "?", "BadChannelId"),
      ("apns-channel-id", "AAAA", "ChannelNotRegistered"),
      ("apns-push-type", nil, "MissingPushType"), ("apns-push-type", "alert", "InvalidPushType"),
      ("apns-priority", nil, "BadPriority"), ("apns-priority", "7", "BadPriority"),
      ("apns-priority", "010", "BadPriority"), ("apns-expiration", nil, "BadExpirationDate"),
      ("apns-expiration", "1790000000.5", "BadExpirationDate"),
      ("apns-expiration", "-1", "BadExpirationDate"),
      ("apns-expiration", "soon", "BadExpirationDate"),
      ("apns-request-id", "1", "BadMessageId"), ("content-encoding", "gzip", "BadRequestPayload"),
      ("authorization", nil, "MissingProviderToken"),
    ] as [(String, String?, String)])
  func `needs every header right`(_ name: String, _ value: String?, _ reason: String) throws {
    var world = try World()
    let channelID = try world.createChannel()
    let request = try world.broadcast(channelID, world.update(1_790_000_000, notes: 1))
    let answer = world.send(request.with(name, value))
    #expect(answer.reasonText == reason)
    #expect(answer.status == (name == "authorization" ? 403 : 400))
    let channel = try #require(world.apns.channel(World.bundleID, channelID))
    #expect(channel.ledger.accepted == 0)
  }

  @Test func `is checked in a fixed order`() throws {
    var world = try World()
    let channelID = try world.createChannel()
    var request = try world.broadcast("AAAA", "").with("authorization", nil)
    request = request.with("apns-channel-id", nil).with("apns-push-type", nil)
    request = request.with("apns-expiration", "x").with("apns-priority", "x")
    var reasons: [String?] = []
    func next(_ name: String, _ value: String) {
      reasons.append(world.send(request).reasonText)
      request = request.with(name, value)
    }
    next("authorization", try world.bearer)
    next("apns-channel-id", "AAAA")
    next("apns-push-type", "alert")
    next("apns-push-type", "LiveActivity")
    next("apns-expiration", "0")
    next("apns-priority", "5")
    next("apns-channel-id", channelID)
    reasons.append(world.send(request).reasonText)
    request = request.with(body: String(repeating: " ", count: 5121))
    reasons.append(world.send(request).reasonText)
    #expect(
      reasons == [
        "MissingProviderToken", "MissingChannelId", "MissingPushType", "InvalidPushType",
        "BadExpirationDate", "BadPriority", "ChannelNotRegistered", "PayloadEmpty",
        "PayloadTooLarge",
      ])
  }

  @Test func `may be 5120 bytes long and not one more`() throws {
    var world = try World()
    let channelID = try world.createChannel()
    let short = world.update(1_790_000_000, notes: 1)
    let exact = short + String(repeating: " ", count: 5120 - short.utf8.count)
    #expect(world.send(try world.broadcast(channelID, exact)).status == 200)
    let answer = world.send(try world.broadcast(channelID, exact + " "))
    #expect(answer.status == 413)
    #expect(answer.reasonText == "PayloadTooLarge")
  }

  @Test func `may expire only where messages are stored`() throws {
    var world = try World()
    let storing = try world.createChannel(policy: 1)
    let passing = try world.createChannel(policy: 0)
    let body = world.update(1_790_000_000, notes: 1)
    #expect(world.send(try world.broadcast(storing, body, expiration: "1790000300")).status == 200)
    #expect(world.send(try world.broadcast(passing, body)).status == 200)
    let refused = world.send(try world.broadcast(passing, body, expiration: "1790000300"))
    #expect(refused.reasonText == "BadExpirationDate")
  }

  @Test func `goes to the bundle ID without suffix, by POST`() throws {
    var world = try World()
    let channelID = try world.createChannel()
    let request = try world.broadcast(channelID, world.update(1_790_000_000, notes: 1))
    let path = request.path
    #expect(
      world.send(request.with(path: path + ".push-type.liveactivity")).reasonText
        == "TopicDisallowed")
    #expect(world.send(request.with(path: path + "x")).reasonText == "TopicMismatch")
    #expect(world.send(request.with(path: path + "/channels")).reasonText == "BadPath")
    #expect(world.send(request.with(path: "/3/broadcasts/apps/x")).reasonText == "BadPath")
    #expect(world.send(request.with(method: "PUT")).status == 405)
  }

  @Test func `is throttled over its channel's budget, and again when the budget is back`() throws {
    var world = try World {
      $0.channels.storingBudget = BucketRate(capacity: 2, interval: .seconds(10))
      $0.channels.notStoringBudget = BucketRate(capacity: 4, interval: .seconds(10))
    }
    for (policy, burst) in [(1, 2), (0, 4)] {
      let channelID = try world.createChannel(policy: policy)
      for notes in 1...burst { try world.publish(notes, on: channelID) }
      let request = try world.broadcast(
        channelID, world.update(world.now.wholeSeconds, notes: 9))
      let refused = world.send(request)
      #expect(refused.status == 429)
      #expect(refused.reasonText == "TooManyRequests")
      world.wait(9.9)
      #expect(world.send(request).status == 429)
      world.wait(0.1)
      #expect(world.send(request).status == 200)
      let ledger = try #require(world.apns.channel(World.bundleID, channelID)).ledger
      #expect(ledger.throttled == 2)
      #expect(ledger.accepted == burst + 1)
    }
  }

  @Test func `is never throttled where the throttle is off`() throws {
    var world = try World { $0.channels.storingBudget = nil }
    let channelID = try world.createChannel()
    for notes in 1...1000 { try world.publish(notes, on: channelID) }
    let ledger = try #require(world.apns.channel(World.bundleID, channelID)).ledger
    #expect(ledger.accepted == 1000)
    #expect(ledger.recent.count <= 320)
  }

  @Test func `leaves a truthful ledger`() throws {
    var world = try World()
    let channelID = try world.createChannel()
    func ledger() throws -> BroadcastLedger {
      try #require(world.apns.channel(World.bundleID, channelID)).ledger
    }
    _ = world.send(try world.broadcast(channelID, world.update(100, notes: 1)))
    _ = world.send(try world.broadcast(channelID, world.update(101, notes: 2), priority: "5"))
    #expect(try ledger().timestampsStrictlyRise)
    #expect(try ledger().endedAt == nil)
    _ = world.send(try world.broadcast(channelID, world.end(102, notes: 3)))
    #expect(try ledger().endedAt == world.now)
    #expect(try ledger().acceptedAfterEnd == 0)
    _ = world.send(try world.broadcast(channelID, world.update(102, notes: 4)))
    #expect(try ledger().acceptedAfterEnd == 1)
    #expect(try !ledger().timestampsStrictlyRise)
    #expect(try ledger().acceptedByPriority == [10: 3, 5: 1])
    #expect(try ledger().newestTimestampSeconds == 102)
    #expect(try ledger().newestState?.payload.contentState?.text == #"{"notesCaptured":3}"#)
  }

  @Test(arguments: [
    (#"{"aps":{"timestamp":1,"events":"update","content-state":{"notesCaptured":1}}}"#, "event"),
    (#"{"aps":{"timestamp":1,"event":"start","content-state":{"notesCaptured":1}}}"#, "start"),
    (#"{"aps":{"event":"update","content-state":{"notesCaptured":1}}}"#, "timestamp is missing"),
    (
      #"{"aps":{"timestamp":1790000000123,"event":"update","content-state":{"notesCaptured":1}}}"#,
      "milliseconds"
    ),
    (
      #"{"aps":{"timestamp":1.5,"event":"update","content-state":{"notesCaptured":1}}}"#,
      "whole number"
    ),
    (#"{"aps":{"timestamp":1,"event":"update"}}"#, "content-state is missing"),
    (#"{"aps":{"timestamp":1,"event":"update","content-state":{"notes":1}}}"#, "decodes"),
    (
      #"{"aps":{"timestamp":1,"event":"update","content-state":{"notesCaptured":1.5}}}"#, "decodes"
    ),
    (
      #"{"aps":{"timestamp":1,"event":"update","content-state":{"notesCaptured":1},"badge":1}}"#,
      "aps.badge"
    ),
    (
      #"{"aps":{"timestamp":1,"event":"update","content-state":{"notesCaptured":1}},"x":1}"#,
      "beside aps"
    ),
    (
      #"{"aps":{"timestamp":1,"event":"update","content-state":{"notesCaptured":1},"dismissal-date":9}}"#,
      "end only"
    ),
    (
      #"{"aps":{"timestamp":1,"event":"update","content-state":{"notesCaptured":1},"alert":{"sound":"default"}}}"#,
      "without title"
    ),
    (
      #"{"aps":{"timestamp":1,"event":"update","content-state":{"notesCaptured":1},"stale-date":1790000000}}"#,
      "stale-date"
    ),
    (#"{"alert":"x"}"#, "no aps"),
  ])
  func `is accepted but complained about when a phone could not use it`(
    _ body: String, _ complaint: String
  ) throws {
    var world = try World()
    let channelID = try world.createChannel()
    #expect(world.send(try world.broadcast(channelID, body)).status == 200)
    let texts = world.apns.complaints.recent.map(\.text)
    #expect(texts.contains { $0.contains(complaint) }, "\(texts)")
  }

  @Test func `that is no JSON is refused`() throws {
    var world = try World()
    let channelID = try world.createChannel()
    let answer = world.send(try world.broadcast(channelID, #"{"aps":"#))
    #expect(answer.status == 400)
    #expect(answer.reasonText == "BadRequestPayload")
  }

  @Test func `to a deleted or foreign channel finds it not registered`() throws {
    var world = try World {
      $0.apps.append(.init(bundleID: "com.example.other", teamID: World.teamID))
    }
    let channelID = try world.createChannel()
    let request = try world.broadcast(channelID, world.update(1_790_000_000, notes: 1))
    let foreign = world.send(request.with(path: "/4/broadcasts/apps/com.example.other"))
    #expect(foreign.reasonText == "ChannelNotRegistered")
    _ = world.manage(try world.management("DELETE", channelID: channelID))
    #expect(world.send(request).reasonText == "ChannelNotRegistered")
  }
}
