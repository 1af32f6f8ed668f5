import APNsSimulator
import Clocks
import JSON
import Testing

@Suite struct `A device push` {
  private let alert = #"{"aps":{"alert":{"title":"t","body":"b"}}}"#

  private func phone(_ world: inout World) throws -> Phone {
    try world.apns.addPhone(PhoneSettings(bundleID: World.bundleID))
  }

  @Test func `is accepted with 200, no body and its ID`() throws {
    var world = try World()
    let token = try phone(&world).deviceToken
    let messageID = "0a020a52-6f0c-4cf3-9f2e-0123456789ab"
    let request = try world.device(token, alert, type: "alert")
    let answer = world.send(request.with("apns-id", messageID))
    #expect(answer.status == 200)
    #expect(answer.body.isEmpty)
    #expect(answer.value("apns-id") == messageID)
    #expect(answer.value("apns-unique-id") != nil)
    #expect(world.send(request).value("apns-id")?.utf8.count == 36)
  }

  @Test func `has a unique ID in the development environment only`() throws {
    var world = try World { $0.environment = .production }
    let token = try phone(&world).deviceToken
    let answer = world.send(try world.device(token, alert, type: "alert"))
    #expect(answer.status == 200)
    #expect(answer.value("apns-unique-id") == nil)
  }

  @Test(
    arguments: [
      ("authorization", nil, "MissingProviderToken"), ("apns-topic", nil, "MissingTopic"),
      ("apns-topic", "com.example.nobody", "BadTopic"),
      ("apns-topic", "com.example.trains.voip", "BadTopic"),
      ("apns-push-type", nil, "MissingPushType"), ("apns-push-type", "Alert", "InvalidPushType"),
      ("apns-priority", "7", "BadPriority"), ("apns-expiration", "x", "BadExpirationDate"),
      ("apns-expiration", "1790000000.5", "BadExpirationDate"),
      ("apns-id", "ABC", "BadMessageId"),
      ("apns-collapse-id", String(repeating: "é", count: 33), "BadCollapseId"),
      ("content-encoding", "gzip", "BadRequestPayload"),
    ] as [(String, String?, String)])
  func `needs its headers right`(_ name: String, _ value: String?, _ reason: String) throws {
    var world = try World()
    let token = try phone(&world).deviceToken
    let request = try world.device(token, alert, type: "alert")
    #expect(world.send(request.with(name, value)).reasonText == reason)
  }

  @Test func `may carry 64 bytes of collapse ID`() throws {
    var world = try World()
    let token = try phone(&world).deviceToken
    let request = try world.device(token, alert, type: "alert")
    let longest = String(repeating: "x", count: 64)
    #expect(world.send(request.with("apns-collapse-id", longest)).status == 200)
  }

  @Test func `in the background may not have priority 10, which is also the default`() throws {
    var world = try World()
    let token = try phone(&world).deviceToken
    let request = try world.device(
      token, #"{"aps":{"content-available":1}}"#, type: "background")
    #expect(world.send(request).reasonText == "BadPriority")
    #expect(world.send(request.with("apns-priority", "10")).reasonText == "BadPriority")
    #expect(world.send(request.with("apns-priority", "5")).status == 200)
  }

  @Test func `finds its path, method and token`() throws {
    var world = try World()
    let token = try phone(&world).deviceToken
    let request = try world.device(token, alert, type: "alert")
    #expect(world.send(request.with(path: "/3/devices/\(token)")).status == 404)
    #expect(world.send(request.with(path: "/3/device/\(token)/x")).reasonText == "BadPath")
    #expect(world.send(request.with(path: "/3/device/")).reasonText == "MissingDeviceToken")
    #expect(world.send(request.with(method: "GET")).status == 405)
    for bad in ["zz", "abc", String(repeating: "ab", count: 32), String(token.dropLast())] {
      let answer = world.send(request.with(path: "/3/device/\(bad)"))
      #expect(answer.status == 400)
      #expect(answer.reasonText == "BadDeviceToken")
    }
  }

  @Test func `refuses repeated headers`() throws {
    var world = try World()
    let token = try phone(&world).deviceToken
    var request = try world.device(token, alert, type: "alert")
    request.fields.append(.init("apns-topic", World.bundleID))
    #expect(world.send(request).reasonText == "DuplicateHeaders")
  }

  @Test func `may be 4096 bytes long, and 5120 for calls`() throws {
    var world = try World()
    let token = try phone(&world).deviceToken
    func body(_ bytes: Int) -> String {
      alert + String(repeating: " ", count: bytes - alert.utf8.count)
    }
    let request = try world.device(token, alert, type: "alert")
    #expect(world.send(request.with(body: body(4096))).status == 200)
    let answer = world.send(request.with(body: body(4097)))
    #expect(answer.status == 413)
    #expect(answer.reasonText == "PayloadTooLarge")
    #expect(world.send(request.with(body: "")).reasonText == "PayloadEmpty")
  }

  @Test(arguments: ["", "{", "[]", "\"x\"", #"{"aps":{}} x"#, #"{"aps":{"badge":01}}"#])
  func `carries a JSON object`(_ body: String) throws {
    for refuses in [true, false] {
      var world = try World { $0.devices.refusesMalformedPayload = refuses }
      let token = try phone(&world).deviceToken
      let answer = world.send(try world.device(token, body, type: "alert"))
      let expected = body.isEmpty ? "PayloadEmpty" : refuses ? "BadRequestPayload" : nil
      #expect(answer.reasonText == expected)
      if expected == nil { #expect(world.apns.complaints.count > 0) }
    }
  }

  /// The order in which one request with every fault is told of them.
  @Test func `is told of its faults one after the other`() throws {
    var world = try World()
    let token = try phone(&world).deviceToken
    var request = try world.device("zz", "", type: "nothing", topic: "com.example.nobody")
      .with("authorization", nil).with(path: "/3/devices/zz").with(method: "PUT")
    request.fields += [
      .init("apns-id", "1"), .init("apns-collapse-id", String(repeating: "x", count: 65)),
      .init("apns-expiration", "soon"), .init("apns-priority", "2"),
      .init("x-twice", "1"), .init("x-twice", "2"),
    ]
    let bearer = try world.bearer
    let mending: [(String, Int, (inout SimulatedRequest) -> Void)] = [
      ("MissingProviderToken", 403, { $0 = $0.with("authorization", bearer) }),
      ("BadPath", 404, { $0.path = "/3/device/" }),
      ("MissingDeviceToken", 400, { $0.path = "/3/device/zz" }),
      ("MethodNotAllowed", 405, { $0.method = "POST" }),
      ("DuplicateHeaders", 400, { $0 = $0.with("x-twice", nil) }),
      ("BadMessageId", 400, { $0 = $0.with("apns-id", nil) }),
      ("BadCollapseId", 400, { $0 = $0.with("apns-collapse-id", nil) }),
      ("BadExpirationDate", 400, { $0 = $0.with("apns-expiration", "0") }),
      ("BadPriority", 400, { $0 = $0.with("apns-priority", "5") }),
      ("InvalidPushType", 400, { $0 = $0.with("apns-push-type", "alert") }),
      ("BadDeviceToken", 400, { $0.path = "/3/device/\(token)" }),
      ("BadTopic", 400, { $0 = $0.with("apns-topic", World.bundleID) }),
      ("PayloadEmpty", 400, { $0 = $0.with(body: String(repeating: " ", count: 4097)) }),
      ("PayloadTooLarge", 413, { $0 = $0.with(body: "{") }),
      ("BadRequestPayload", 400, { $0 = $0.with(body: #"{"aps":{"badge":1}}"#) }),
    ]
    for (reason, status, mend) in mending {
      let answer = world.send(request)
      #expect(answer.reasonText == reason)
      #expect(answer.status == status)
      #expect(answer.value("content-type") == "application/json")
      #expect(answer.value("apns-id")?.utf8.count == 36)
      mend(&request)
    }
    #expect(world.send(request).status == 200)
  }

  @Test func `meets tokens in every state`() throws {
    var world = try World()
    let token = try phone(&world).deviceToken
    let request = try world.device(token, alert, type: "alert")
    let since = UnixTime(milliseconds: 1_789_999_999_123)
    let states: [(DeviceToken.State, Int, String?)] = [
      (.active, 200, nil), (.zombie, 200, nil), (.wrongEnvironment, 400, "BadDeviceToken"),
      (.unregistered(since: since), 410, "Unregistered"),
      (.expired(since: since), 410, "ExpiredToken"),
    ]
    for (state, status, reason) in states {
      world.apns.setState(state, ofToken: token)
      let answer = world.send(request)
      #expect(answer.status == status)
      #expect(answer.reasonText == reason)
      let timestamp = (try? JSONValue.parse(answer.body))?["timestamp"]?.int64
      #expect(timestamp == (status == 410 ? 1_789_999_999_123 : nil))
    }
  }

  @Test func `belongs to the token's app and kind`() throws {
    var world = try World {
      $0.apps.append(.init(bundleID: "com.example.other", teamID: World.teamID))
      $0.apps.append(.init(bundleID: "com.stranger.app", teamID: "OTHERTEAM1"))
    }
    let phone = try phone(&world)
    let request = try world.device(phone.deviceToken, alert, type: "alert")
    #expect(
      world.send(request.with("apns-topic", "com.example.other")).reasonText
        == "DeviceTokenNotForTopic")
    #expect(
      world.send(request.with("apns-topic", "com.stranger.app")).reasonText == "TopicDisallowed")
    let activity = try world.device(phone.deviceToken, alert)
    #expect(world.send(activity).reasonText == "DeviceTokenNotForTopic")
  }

  @Test func `too many to one token are throttled`() throws {
    var world = try World {
      $0.devices.tokenBudget = BucketRate(capacity: 2, interval: .seconds(1))
    }
    let token = try phone(&world).deviceToken
    let request = try world.device(token, alert, type: "alert")
    #expect(world.send(request).status == 200)
    #expect(world.send(request).status == 200)
    #expect(world.send(request).reasonText == "TooManyRequests")
    world.wait(1)
    #expect(world.send(request).status == 200)
  }

  @Test func `replaces a notification with its collapse ID`() throws {
    var world = try World()
    let phone = try phone(&world)
    for collapse in ["a", "b", "a"] {
      _ = world.send(
        try world.device(
          phone.deviceToken, alert, type: "alert", more: [.init("apns-collapse-id", collapse)]))
      world.wait(1)
    }
    world.apns.advance(to: world.now)
    #expect(try world.apns.phone(phone.phone).notifications.map(\.collapseID) == ["b", "a"])
  }

  @Test func `is answered in another order when so configured`() throws {
    var world = try World {
      $0.devices.order = [.path, .method, .headers, .token, .authentication, .topic, .payload]
    }
    let request = try world.device("abcd", alert, type: "alert").with("authorization", nil)
    #expect(world.send(request).reasonText == "BadDeviceToken")
  }
}
