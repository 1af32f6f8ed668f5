import APNsSimulator
import JSON
import Testing

@Suite struct `Channel management` {
  private let body = #"{"message-storage-policy":1,"push-type":"LiveActivity"}"#

  @Test func `creates with 201, an ID in a header and no body`() throws {
    var world = try World()
    let requestID = "6f1c0a52-6f0c-4cf3-9f2e-0123456789ab"
    let request = try world.management("POST", body: body).with("apns-request-id", requestID)
    let answer = world.manage(request)
    #expect(answer.status == 201)
    #expect(answer.body.isEmpty)
    #expect(answer.value("apns-request-id") == requestID)
    let channelID = try #require(answer.value("apns-channel-id"))
    #expect(channelID.hasSuffix("=="))
    let second = world.manage(request)
    #expect(second.value("apns-channel-id") != channelID)
  }

  @Test func `makes a request ID when there is none`() throws {
    var world = try World()
    let answer = world.manage(try world.management("GET", "all-channels"))
    let made = try #require(answer.value("apns-request-id"))
    #expect(made.utf8.count == 36)
    #expect(made == made.lowercased())
  }

  @Test func `reads policy and push type back`() throws {
    var world = try World()
    for policy in [0, 1] {
      let channelID = try world.createChannel(policy: policy)
      let answer = world.manage(try world.management("GET", channelID: channelID))
      #expect(answer.status == 200)
      #expect(
        answer.text == #"{"message-storage-policy":\#(policy),"push-type":"LiveActivity"}"#)
    }
  }

  @Test func `deletes with 204, once`() throws {
    var world = try World()
    let channelID = try world.createChannel()
    let request = try world.management("DELETE", channelID: channelID)
    let answer = world.manage(request)
    #expect(answer.status == 204)
    #expect(answer.body.isEmpty)
    #expect(world.manage(request).reasonText == "ChannelNotRegistered")
  }

  @Test func `lists the living channels only`() throws {
    var world = try World()
    let first = try world.createChannel()
    let second = try world.createChannel(policy: 0)
    _ = world.manage(try world.management("DELETE", channelID: first))
    let third = try world.createChannel()
    let answer = world.manage(try world.management("GET", "all-channels"))
    #expect(answer.status == 200)
    let list = try JSONValue.parse(answer.body)["channels"]?.array?.map(\.string)
    #expect(list == [second, third])
  }

  @Test func `holds ten thousand or as many as it is told`() throws {
    var world = try World { $0.channels.limitPerApp = 2 }
    _ = try world.createChannel()
    let second = try world.createChannel()
    let request = try world.management("POST", body: body)
    let refused = world.manage(request)
    #expect(refused.status == 400)
    #expect(refused.reasonText == "CannotCreateChannelConfig")
    _ = world.manage(try world.management("DELETE", channelID: second))
    #expect(world.manage(request).status == 201)
    #expect(SimulatorConfiguration().channels.limitPerApp == 10_000)
  }

  @Test(arguments: [
    (#"{"message-storage-policy":1}"#, "BadRequestParams"),
    (#"{"push-type":"LiveActivity"}"#, "BadRequestParams"),
    (#"{"message-storage-policy":1,"push-type":"LiveActivity","name":"x"}"#, "BadRequestParams"),
    (#"{"message-storage-policy":"1","push-type":"LiveActivity"}"#, "BadRequestParams"),
    (#"{"message-storage-policy":2,"push-type":"LiveActivity"}"#, "BadRequestParams"),
    (#"{"message-storage-policy":1,"push-type":"liveactivity"}"#, "InvalidPushType"),
    (#"{"message-storage-policy":1,"#, "BadRequestPayload"),
    (#"[]"#, "BadRequestPayload"), ("", "PayloadEmpty"),
  ])
  func `is strict about the body of a create`(_ body: String, _ reason: String) throws {
    var world = try World()
    let answer = world.manage(try world.management("POST", body: body))
    #expect(answer.status == 400)
    #expect(answer.reasonText == reason)
    #expect(answer.value("content-type") == "application/json")
  }

  @Test func `refuses compressed bodies`() throws {
    var world = try World()
    let request = try world.management("POST", body: body).with("content-encoding", "gzip")
    #expect(world.manage(request).reasonText == "BadRequestPayload")
  }

  @Test func `knows its paths, and nothing like an ID in one`() throws {
    var world = try World()
    let channelID = try world.createChannel()
    let base = "/1/apps/\(World.bundleID)"
    let wrong = [
      "GET \(base)/channels/\(channelID)", "GET \(base)/channel", "GET /2/apps/x/channels",
      "GET \(base)/channels/", "GET /1/apps//channels", "POST \(base)/all-channels",
      "DELETE \(base)/all-channels", "GET \(base)/channels?x=1", "GET /",
      "POST /4/broadcasts/apps/\(World.bundleID)",
    ]
    for text in wrong {
      let parts = text.split(separator: " ").map(String.init)
      let request = try world.management(parts[0]).with(path: parts[1])
      let answer = world.manage(request)
      #expect(answer.status == 404, "\(text)")
      #expect(answer.reasonText == "BadPath")
    }
    let put = world.manage(try world.management("PUT"))
    #expect(put.status == 405)
    #expect(put.reasonText == "MethodNotAllowed")
  }

  @Test func `checks IDs, headers, topics and the capability`() throws {
    var world = try World()
    func reason(_ request: SimulatedRequest) -> String? { world.manage(request).reasonText }
    #expect(try reason(world.management("GET")) == "MissingChannelId")
    #expect(try reason(world.management("GET", channelID: "not base64!")) == "BadChannelId")
    let long = String(repeating: "AAAA", count: 100)
    #expect(try reason(world.management("DELETE", channelID: long)) == "BadChannelId")
    #expect(try reason(world.management("GET", channelID: "AAAA")) == "ChannelNotRegistered")
    let list = try world.management("GET", "all-channels")
    #expect(reason(list.with("apns-request-id", "X")) == "BadMessageId")
    #expect(
      reason(list.with("apns-request-id", "6F1C0A52-6F0C-4CF3-9F2E-0123456789AB"))
        == "BadMessageId")
    var twice = list
    twice.fields += [.init("apns-priority", "5"), .init("apns-priority", "5")]
    #expect(reason(twice) == "DuplicateHeaders")
    var twoTokens = list
    twoTokens.fields.append(twoTokens.fields[0])
    #expect(reason(twoTokens) == "DuplicateHeaders")
    #expect(reason(list.with(path: "/1/apps/com.example.b/all-channels")) == "TopicMismatch")
    let suffixed = "/1/apps/\(World.bundleID).push-type.liveactivity/all-channels"
    #expect(reason(list.with(path: suffixed)) == "TopicDisallowed")
  }

  @Test func `loses all channels with the broadcast capability`() throws {
    var world = try World()
    let channelID = try world.createChannel()
    world.apns.setBroadcastCapability(World.bundleID, false)
    let refused = world.manage(try world.management("POST", body: body))
    #expect(refused.status == 400)
    #expect(refused.reasonText == "FeatureNotEnabled")
    world.apns.setBroadcastCapability(World.bundleID, true)
    let read = world.manage(try world.management("GET", channelID: channelID))
    #expect(read.reasonText == "ChannelNotRegistered")
  }

  @Test func `repeats its IDs with its seed`() throws {
    var first = try World()
    var second = try World()
    var other = try World { $0.seed = 2 }
    let channelID = try first.createChannel()
    #expect(try second.createChannel() == channelID)
    #expect(try other.createChannel() != channelID)
  }
}
