import APNsSimulator
import Clocks
import Testing

@Suite struct `A phone` {
  private let initial = Array(#"{"notesCaptured":0}"#.utf8)

  private func start(
    _ world: World, more: String = "", alert: String = #"{"title":"t","body":"b"}"#,
    type: String = "FieldTripAttributes",
    attributes: String = #"{"name":"n","notebook":"b","tripID":"1"}"#
  ) -> String {
    #"{"aps":{"timestamp":\#(world.now.wholeSeconds),"event":"start","attributes-type":"\#(type)","#
      + #""attributes":\#(attributes),"content-state":{"notesCaptured":1},"alert":\#(alert)\#(more)}}"#
  }

  /// Sends a start and says what became of it on the phone.
  private func outcome(
    of body: String, _ world: inout World, _ change: (inout PhoneSettings) -> Void = { _ in }
  ) throws -> PushOutcome? {
    var settings = PhoneSettings(bundleID: World.bundleID)
    change(&settings)
    let phone = try world.apns.addPhone(settings)
    let token = try #require(phone.pushToStartToken)
    #expect(world.send(try world.device(token, body)).status == 200)
    world.wait(1)
    world.apns.advance(to: world.now)
    return try world.apns.phone(phone.phone).history.first { $0.push != nil }?.outcome
  }

  @Test func `starts an activity by push and hands over an update token`() throws {
    var world = try World()
    let phone = try world.apns.addPhone(PhoneSettings(bundleID: World.bundleID))
    let token = try #require(phone.pushToStartToken)
    #expect(token.utf8.count == 160)
    #expect(world.send(try world.device(token, start(world))).status == 200)
    world.wait(1)
    #expect(try world.onlyCard(of: phone.phone).contentState == #"{"notesCaptured":1}"#)
    #expect(try world.apns.phone(phone.phone).activities[0].updateToken == nil)
    world.wait(2)
    world.apns.advance(to: world.now)
    let update = try #require(try world.apns.phone(phone.phone).activities[0].updateToken)
    let body = world.update(world.now.wholeSeconds, notes: 5)
    #expect(world.send(try world.device(update, body)).status == 200)
    world.wait(1)
    #expect(try world.onlyCard(of: phone.phone).contentState == #"{"notesCaptured":5}"#)
    #expect(world.apns.complaints.count == 0)
  }

  @Test func `starts on a channel and then needs no token`() throws {
    var world = try World()
    let channelID = try world.createChannel()
    let body = start(world, more: #","input-push-channel":"\#(channelID)""#)
    #expect(try outcome(of: body, &world) == .started)
    try world.publish(7, on: channelID)
    world.wait(5)
    let summary = try world.apns.convergence(World.bundleID, channelID, now: world.now)
    #expect(summary.phones == 1)
    #expect(summary.hasConverged)
    #expect(try world.apns.phone(1).activities[0].updateToken == nil)
  }

  @Test func `drops starts that break a rule, in silence`() throws {
    var world = try World()
    let channelID = try world.createChannel()
    let channel = #","input-push-channel":"\#(channelID)""#
    let cases: [(String, DropReason, @Sendable (inout PhoneSettings) -> Void)] = [
      (start(world, alert: #"{"body":"b"}"#), .startWithoutAlert, { _ in }),
      (start(world, type: "Other"), .unknownAttributesType, { _ in }),
      (start(world, attributes: #"{"name":"n"}"#), .undecodable, { _ in }),
      (
        start(world, attributes: #"{"attributes":{"name":"n","notebook":"b","tripID":"1"}}"#),
        .undecodable, { _ in }
      ),
      (start(world, more: channel), .channelInputNeedsIOS18, { $0.system = SystemVersion(17, 4) }),
      (start(world, more: #","input-push-channel":"AAAA""#), .unknownChannel, { _ in }),
      (start(world), .liveActivitiesOff, { $0.allowsLiveActivities = false }),
      (world.update(1_790_000_000, notes: 1), .noSuchActivity, { _ in }),
      (#"{"aps":{"event":"start"}}"#, .malformed, { _ in }),
    ]
    for (body, reason, change) in cases {
      #expect(try outcome(of: body, &world, change) == .dropped(reason))
    }
  }

  @Test func `has no start token before iOS 17.2`() throws {
    var world = try World()
    var settings = PhoneSettings(bundleID: World.bundleID)
    settings.system = SystemVersion(17, 1)
    #expect(try world.apns.addPhone(settings).pushToStartToken == nil)
    settings.system = SystemVersion(17, 2)
    #expect(try world.apns.addPhone(settings).pushToStartToken != nil)
  }

  @Test func `has a budget of ten starts, then is silent`() throws {
    var world = try World {
      $0.devices.tokenBudget = nil
      $0.phones.activitiesPerApp = 100
    }
    let phone = try world.apns.addPhone(PhoneSettings(bundleID: World.bundleID))
    let token = try #require(phone.pushToStartToken)
    for _ in 1...12 {
      #expect(world.send(try world.device(token, start(world))).status == 200)
      world.wait(1)
    }
    world.apns.advance(to: world.now)
    let outcomes = try world.apns.phone(phone.phone).history.compactMap(\.outcome)
    #expect(outcomes.filter { $0 == .started }.count == 10)
    #expect(outcomes.suffix(2) == [.dropped(.startBudgetSpent), .dropped(.startBudgetSpent)])
  }

  @Test func `shows five activities of an app and no sixth`() throws {
    var world = try World()
    let phone = try world.apns.addPhone(PhoneSettings(bundleID: World.bundleID))
    for _ in 1...5 {
      _ = try world.apns.startActivity(
        on: phone.phone, contentState: initial, channelID: nil, now: world.now)
    }
    #expect(throws: PhoneError.self) {
      _ = try world.apns.startActivity(
        on: phone.phone, contentState: initial, channelID: nil, now: world.now)
    }
    let token = try #require(phone.pushToStartToken)
    _ = world.send(try world.device(token, start(world)))
    world.wait(1)
    world.apns.advance(to: world.now)
    let outcomes = try world.apns.phone(phone.phone).history.compactMap(\.outcome)
    #expect(outcomes == [.dropped(.noFreeSlot)])
  }

  @Test func `gets no update token after a force-quit, or before Allow is tapped`() throws {
    for change in [
      { @Sendable (settings: inout PhoneSettings) in settings.isAppForceQuit = true },
      { @Sendable (settings: inout PhoneSettings) in settings.tapsAllow = false },
    ] {
      var world = try World()
      #expect(try outcome(of: start(world), &world, change) == .started)
      world.wait(3600)
      world.apns.advance(to: world.now)
      #expect(try world.apns.phone(1).activities[0].updateToken == nil)
    }
  }

  @Test func `lets an update token die after its activity, and on rotation`() throws {
    var world = try World()
    let phone = try world.apns.addPhone(PhoneSettings(bundleID: World.bundleID))
    let activityID = try world.apns.startActivity(
      on: phone.phone, contentState: initial, channelID: nil, now: world.now)
    let old = try #require(try world.apns.phone(phone.phone).activities[0].updateToken)
    let token = try world.apns.rotateUpdateToken(activityID, on: phone.phone, now: world.now)
    let body = world.update(world.now.wholeSeconds, notes: 1)
    #expect(world.send(try world.device(old, body)).reasonText == "Unregistered")
    #expect(world.send(try world.device(token, body)).status == 200)
    world.wait(1)
    try world.apns.dismiss(activityID, on: phone.phone, now: world.now)
    world.wait(59)
    #expect(world.send(try world.device(token, body)).status == 200)
    world.wait(1)
    let answer = world.send(try world.device(token, body))
    #expect(answer.status == 410)
    #expect(answer.reasonText == "ExpiredToken")
  }

  @Test func `offline keeps the last push that may wait, and nothing else`() throws {
    var world = try World()
    let phone = try world.apns.addPhone(PhoneSettings(bundleID: World.bundleID))
    _ = try world.apns.startActivity(
      on: phone.phone, contentState: initial, channelID: nil, now: world.now)
    let token = try #require(try world.apns.phone(phone.phone).activities[0].updateToken)
    try world.apns.setOnline(false, phone: phone.phone, now: world.now)
    for (notes, expiration) in [(1, "1790009999"), (2, "1790009999"), (3, "0")] {
      let body = world.update(world.now.wholeSeconds, notes: notes)
      _ = world.send(
        try world.device(token, body, more: [.init("apns-expiration", expiration)]))
      world.wait(1)
    }
    try world.apns.setOnline(true, phone: phone.phone, now: world.now)
    world.wait(1)
    #expect(try world.onlyCard(of: phone.phone).contentState == #"{"notesCaptured":2}"#)
    let outcomes = try world.apns.phone(phone.phone).history.compactMap(\.outcome)
    #expect(outcomes == [.dropped(.replacedWhileOffline), .dropped(.offline), .shown])
  }

  @Test func `coming online gets a channel's stored message, if there is one`() throws {
    for (policy, expiration, shows) in [(1, "1790009999", 2), (0, "0", 0)] {
      var world = try World()
      let channelID = try world.createChannel(policy: policy)
      let phone = try world.apns.addPhone(PhoneSettings(bundleID: World.bundleID))
      _ = try world.apns.startActivity(
        on: phone.phone, contentState: initial, channelID: channelID, now: world.now)
      try world.apns.setOnline(false, phone: phone.phone, now: world.now)
      try world.publish(1, on: channelID, expiration: expiration)
      world.wait(1)
      try world.publish(2, on: channelID, expiration: expiration)
      world.wait(60)
      try world.apns.setOnline(true, phone: phone.phone, now: world.now)
      world.wait(1)
      #expect(
        try world.onlyCard(of: phone.phone).contentState == #"{"notesCaptured":\#(shows)}"#)
    }
  }

  @Test func `needs iOS 18 and an existing channel to subscribe`() throws {
    var world = try World()
    let channelID = try world.createChannel()
    var settings = PhoneSettings(bundleID: World.bundleID)
    settings.system = SystemVersion(17, 6)
    let old = try world.apns.addPhone(settings)
    let new = try world.apns.addPhone(PhoneSettings(bundleID: World.bundleID))
    #expect(throws: PhoneError.self) {
      _ = try world.apns.startActivity(
        on: old.phone, contentState: initial, channelID: channelID, now: world.now)
    }
    #expect(throws: PhoneError.unknownChannel("AAAA")) {
      _ = try world.apns.startActivity(
        on: new.phone, contentState: initial, channelID: "AAAA", now: world.now)
    }
  }

  @Test func `ignores what comes after its owner dismissed the card`() throws {
    var world = try World()
    let channelID = try world.createChannel()
    let phone = try world.apns.addPhone(PhoneSettings(bundleID: World.bundleID))
    let activityID = try world.apns.startActivity(
      on: phone.phone, contentState: initial, channelID: channelID, now: world.now)
    try world.apns.dismiss(activityID, on: phone.phone, now: world.now)
    try world.publish(1, on: channelID)
    world.wait(1)
    #expect(try world.onlyCard(of: phone.phone).phase == .dismissed)
    #expect(
      try world.apns.phone(phone.phone).history.compactMap(\.outcome)
        == [.dropped(.activityDismissed)])
  }

  @Test func `that lost its app answers 410 for all its tokens`() throws {
    var world = try World()
    let phone = try world.apns.addPhone(PhoneSettings(bundleID: World.bundleID))
    try world.apns.change(phone.phone, now: world.now) { $0.isAppInstalled = false }
    let answer = world.send(
      try world.device(phone.deviceToken, #"{"aps":{"alert":"x"}}"#, type: "alert"))
    #expect(answer.reasonText == "Unregistered")
    let start = try #require(phone.pushToStartToken)
    #expect(world.send(try world.device(start, "{}")).status == 410)
  }
}
