import APNsSimulator
import Clocks
import Testing

@Suite struct `A crowd of phones` {
  private let initial = Array(#"{"notesCaptured":0}"#.utf8)

  @Test func `sees a broadcast after its way, all of them`() throws {
    var world = try World()
    let channelID = try world.createChannel()
    let phones = try world.apns.addCrowd(
      1000, bundleID: World.bundleID, channelID: channelID, contentState: initial, now: world.now)
    world.wait(1)
    try world.publish(1, on: channelID)
    #expect(try world.onlyCard(of: phones.lowerBound).contentState == #"{"notesCaptured":0}"#)
    world.wait(0.1)
    #expect(try world.onlyCard(of: phones.upperBound - 1).contentState == #"{"notesCaptured":1}"#)
    let summary = try world.apns.convergence(World.bundleID, channelID, now: world.now)
    #expect(summary.phones == 1000)
    #expect(summary.hasConverged)
    #expect(summary.byPhase == [.active: 1000])
  }

  @Test func `converges however often messages are late, doubled or out of order`() throws {
    var world = try World {
      $0.delivery.latencyHigh = .seconds(20)
      $0.delivery.duplicateShare = 0.3
      $0.delivery.delayedShare = 0.5
      $0.channels.storingBudget = nil
      $0.phones.frequentUpdateBudget = nil
    }
    let channelID = try world.createChannel()
    _ = try world.apns.addCrowd(
      200, bundleID: World.bundleID, channelID: channelID, contentState: initial, now: world.now)
    var wasApart = false
    for notes in 1...300 {
      world.wait(1)
      try world.publish(notes, on: channelID)
      if notes % 50 == 0 {
        let summary = try world.apns.convergence(World.bundleID, channelID, now: world.now)
        wasApart = wasApart || summary.byShownTimestamp.count > 1
      }
    }
    #expect(wasApart)
    world.wait(60)
    let summary = try world.apns.convergence(World.bundleID, channelID, now: world.now)
    #expect(summary.showingNewest == 200)
    #expect(summary.byShownTimestamp == [summary.newestTimestampSeconds ?? 0: 200])
  }

  @Test func `is folded without changing what anyone sees`() throws {
    // The same traffic with a ledger long enough to compute every card from the beginning.
    var world = try World {
      $0.delivery.latencyHigh = .seconds(10)
      $0.delivery.lossShare = 0.3
      $0.delivery.duplicateShare = 0.2
      $0.channels.storingBudget = nil
      $0.channels.retainedBroadcasts = 10_000
    }
    let channelID = try world.createChannel()
    let phones = try world.apns.addCrowd(
      20, bundleID: World.bundleID, channelID: channelID, contentState: initial, now: world.now)
    for notes in 1...400 {
      world.wait(0.7)
      try world.publish(notes, on: channelID)
    }
    for phone in phones {
      let card = try world.onlyCard(of: phone)
      let shown = try world.apns.history(of: phone, now: world.now).filter { $0.outcome == .shown }
      let channel = try #require(world.apns.channel(World.bundleID, channelID))
      let last = channel.ledger.recent.first { $0.number == shown.last?.push }
      #expect(last?.payload.contentState?.text == card.contentState)
      #expect(last?.payload.timestampSeconds == card.shownTimestampSeconds)
    }
  }

  /// What a phone shows is what its whole history, computed anew from its start, leads to.
  @Test(arguments: [0.05, 0.3, 1, 7])
  func `that gets everything, sooner or later, is folded into one without a difference`(
    _ gapSeconds: Double
  ) throws {
    var world = try World {
      $0.delivery = DeliveryModel()
      $0.channels.storingBudget = nil
      $0.channels.retainedBroadcasts = 10_000
      $0.phones.frequentUpdateBudget = BucketRate(capacity: 20, interval: .seconds(3))
    }
    let channelID = try world.createChannel()
    let phones = try world.apns.addCrowd(
      30, bundleID: World.bundleID, channelID: channelID, contentState: initial, now: world.now)
    for notes in 1...200 {
      world.wait(gapSeconds)
      let stamp = world.now.wholeSeconds - Int64(notes % 3)
      _ = world.send(try world.broadcast(channelID, world.update(stamp, notes: notes)))
      guard notes % 40 == 7 else { continue }
      _ = try world.apns.convergence(World.bundleID, channelID, now: world.now)
      for phone in phones { try expectCard(of: phone, on: channelID, &world) }
    }
    world.wait(2)
    for phone in phones { try expectCard(of: phone, on: channelID, &world) }
  }

  private func expectCard(of phone: Int, on channelID: String, _ world: inout World) throws {
    let card = try world.onlyCard(of: phone)
    let shown = try world.apns.history(of: phone, now: world.now).last { $0.outcome == .shown }
    let channel = try #require(world.apns.channel(World.bundleID, channelID))
    let push = channel.ledger.recent.first { $0.number == shown?.push }
    #expect(card.shownTimestampSeconds == push?.payload.timestampSeconds)
    #expect(card.contentState == push?.payload.contentState?.text ?? #"{"notesCaptured":0}"#)
  }

  @Test func `welcomes late joiners with the stored message where one is stored`() throws {
    for (policy, expiration, shows) in [(1, "1790009999", 1), (1, "0", 0), (0, "0", 0)] {
      var world = try World()
      let channelID = try world.createChannel(policy: policy)
      try world.publish(1, on: channelID, expiration: expiration)
      world.wait(60)
      let phones = try world.apns.addCrowd(
        10, bundleID: World.bundleID, channelID: channelID, contentState: initial, now: world.now)
      world.wait(1)
      let card = try world.onlyCard(of: phones.lowerBound + 3)
      #expect(card.contentState == #"{"notesCaptured":\#(shows)}"#)
    }
  }

  @Test func `gets no stored message that has expired, nor one older than eight hours`() throws {
    for (wait, shows) in [(299.0, 1), (300, 0)] {
      var world = try World()
      let channelID = try world.createChannel()
      try world.publish(1, on: channelID, expiration: "1790000300")
      world.wait(wait)
      let phones = try world.apns.addCrowd(
        1, bundleID: World.bundleID, channelID: channelID, contentState: initial, now: world.now)
      world.wait(1)
      let card = try world.onlyCard(of: phones.lowerBound)
      #expect(card.contentState == #"{"notesCaptured":\#(shows)}"#)
    }
    var world = try World()
    let channelID = try world.createChannel()
    try world.publish(1, on: channelID, expiration: "1799999999")
    world.wait(8 * 3600)
    let phones = try world.apns.addCrowd(
      1, bundleID: World.bundleID, channelID: channelID, contentState: initial, now: world.now)
    world.wait(1)
    #expect(try world.onlyCard(of: phones.lowerBound).shownTimestampSeconds == nil)
  }

  @Test func `drops priority 10 in silence when its budget is spent, and takes priority 5`() throws
  {
    var world = try World {
      $0.phones.frequentUpdateBudget = BucketRate(capacity: 3, interval: .seconds(60))
      $0.channels.storingBudget = nil
    }
    let channelID = try world.createChannel()
    let phones = try world.apns.addCrowd(
      5, bundleID: World.bundleID, channelID: channelID, contentState: initial, now: world.now)
    for notes in 1...5 {
      world.wait(1)
      try world.publish(notes, on: channelID)
    }
    world.wait(1)
    #expect(try world.onlyCard(of: phones.lowerBound).contentState == #"{"notesCaptured":3}"#)
    let body = world.update(world.now.wholeSeconds, notes: 6)
    _ = world.send(try world.broadcast(channelID, body, priority: "5"))
    world.wait(1)
    #expect(try world.onlyCard(of: phones.lowerBound).contentState == #"{"notesCaptured":6}"#)
    let outcomes = try world.apns.history(of: phones.lowerBound, now: world.now).map(\.outcome)
    #expect(outcomes.filter { $0 == .dropped(.budgetSpent) }.count == 2)
  }

  @Test func `needs a channel that exists`() throws {
    var world = try World()
    #expect(throws: PhoneError.unknownChannel("AAAA")) {
      try world.apns.addCrowd(
        1, bundleID: World.bundleID, channelID: "AAAA", contentState: initial, now: world.now)
    }
  }

  @Test func `of a million phones is told apart by number only`() throws {
    var world = try World { $0.delivery.latencyHigh = .milliseconds(400) }
    let channelID = try world.createChannel()
    let phones = try world.apns.addCrowd(
      1_000_000, bundleID: World.bundleID, channelID: channelID, contentState: initial,
      now: world.now)
    world.wait(1)
    try world.publish(1, on: channelID)
    world.wait(0.2)
    let seen = phones.lowerBound.advanced(by: 500_000)..<phones.lowerBound.advanced(by: 500_100)
    let shown = try seen.filter { phone in
      try world.onlyCard(of: phone).shownTimestampSeconds != nil
    }
    #expect(shown.count > 20 && shown.count < 80)
  }
}
